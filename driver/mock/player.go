package mock

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// player plays the steps of one turn.
type player struct {
	a          *agent
	turn       string // empty in the background
	nick       string // instead of it
	last       string
	messages   int
	tools      int
	usage      terret.UsageUpdate
	denials    []terret.Denial
	background []Step
	crashed    bool
}

func (p *player) play(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.step(ctx, s); err != nil || p.crashed {
			return err
		}
	}
	return nil
}

func (p *player) step(ctx context.Context, s Step) error {
	switch {
	case s.Text != "":
		return p.say(s.Text)
	case s.Think != "":
		return p.a.emit(terret.ReasoningDelta{MessageID: p.messageID(), Text: s.Think})
	case s.Tool != nil:
		return p.tool(ctx, *s.Tool)
	case s.Question != nil:
		return p.question(ctx, *s.Question)
	case s.Gate != "":
		return p.gate(ctx, s.Gate)
	case s.Plan != "":
		return p.plan(ctx, s.Plan)
	case s.Usage != nil:
		p.usage = *s.Usage
		return p.a.emit(*s.Usage)
	case s.Event != nil:
		return p.event(*s.Event)
	case s.Delay > 0:
		return sleep(ctx, time.Duration(s.Delay))
	case s.Fail != nil:
		return s.Fail
	case s.Crash:
		p.crashed = true
		return nil
	case s.Hang:
		<-ctx.Done()
		return context.Cause(ctx)
	case s.Deaf:
		<-p.a.life.Done()
		return context.Cause(ctx)
	case s.Background != nil:
		p.background = s.Background
		return nil
	case s.Do != nil:
		return s.Do(ctx, p.a.req.Session.Cwd)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *player) messageID() string { return fmt.Sprintf("%s-%d", p.name(), p.messages) }

// name makes the ids of this player unique.
func (p *player) name() string {
	if p.turn == "" && p.nick == "" {
		p.nick = terret.NewID("background_")
	}
	return p.turn + p.nick
}

// say streams words, then says them in full.
func (p *player) say(text string) error {
	id := p.messageID()
	half := len(text) / 2
	for half > 0 && !utf8.RuneStart(text[half]) {
		half--
	}
	err := p.a.emit(
		terret.MessageDelta{MessageID: id, Text: text[:half]},
		terret.MessageDelta{MessageID: id, Text: text[half:]},
		terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(text)}},
	)
	p.last = text
	p.messages++
	return err
}

func (p *player) tool(ctx context.Context, t Tool) error {
	p.tools++
	id := fmt.Sprintf("%s-tool-%d", p.name(), p.tools)
	if t.Class == "" {
		t.Class = terret.ClassExecute
	}
	if err := p.a.emit(terret.ToolPre{ToolID: id, Name: t.Name, Class: t.Class, Input: t.Input}); err != nil {
		return err
	}
	if t.Ask {
		d, err := p.ask(ctx, terret.GatePermission, id, terret.PermissionRequest{
			ToolID: id, Tool: t.Name, Class: t.Class, Input: t.Input, Title: t.Name, Suggestions: t.Suggest,
		})
		if err != nil {
			return err
		}
		if d.Behavior != terret.BehaviorAllow {
			p.denials = append(p.denials, terret.Denial{ToolID: id, Tool: t.Name, Input: t.Input, Reason: d.Reason})
			return p.a.emit(terret.ToolFailure{ToolID: id, Name: t.Name, Error: "denied: " + d.Reason, Denied: true})
		}
		if len(d.UpdatedInput) > 0 {
			t.Result += string(d.UpdatedInput)
		}
	}
	if t.Error != "" {
		return p.a.emit(terret.ToolFailure{ToolID: id, Name: t.Name, Error: t.Error})
	}
	return p.a.emit(terret.ToolPost{ToolID: id, Name: t.Name, Content: []terret.Block{terret.Text(t.Result)}})
}

func (p *player) question(ctx context.Context, q terret.Question) error {
	p.tools++
	id := fmt.Sprintf("%s-question-%d", p.name(), p.tools)
	d, err := p.ask(ctx, terret.GateQuestion, id, terret.QuestionRequest{Questions: []terret.Question{q}})
	if err != nil {
		return err
	}
	if d.Behavior != terret.BehaviorAnswer {
		return p.say("No answer: " + d.Reason)
	}
	return p.say(fmt.Sprintf("You answered: %v", []string(d.Answers[q.ID])))
}

func (p *player) plan(ctx context.Context, plan string) error {
	p.tools++
	d, err := p.ask(ctx, terret.GatePlan, fmt.Sprintf("%s-plan-%d", p.name(), p.tools), terret.PlanRequest{Plan: plan})
	if err != nil {
		return err
	}
	return p.say("The plan: " + string(d.Behavior))
}

// gate passes a gate as a hook does, and repeats the reason if it was blocked.
func (p *player) gate(ctx context.Context, g terret.Gate) error {
	p.tools++
	var data terret.Data = terret.HookEvent{Hook: string(g)}
	if g == terret.GateStop {
		data = terret.StopRequest{LastMessage: "done"}
	}
	d, err := p.ask(ctx, g, fmt.Sprintf("%s-gate-%d", p.name(), p.tools), data)
	if err != nil || d.Behavior != terret.BehaviorBlock {
		return err
	}
	return p.say("Blocked: " + d.Reason)
}

func (p *player) ask(ctx context.Context, gate terret.Gate, key string, data terret.Data) (terret.Decision, error) {
	d, err := p.a.req.Host.Ask(ctx, terret.Ask{Key: key, Gate: gate, Event: terret.Event{Data: data}})
	if err != nil {
		return d, err
	}
	if err := p.a.req.Host.Delivered(ctx, d.RequestID); err != nil {
		return d, err
	}
	if ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	if d.Source == terret.ByInterrupt { // the interrupt itself is on its way
		return d, terret.ErrInterrupted
	}
	return d, nil
}

// event emits an event as it is.
func (p *player) event(e RawEvent) error {
	data, err := terret.DecodeData(e.Kind, e.Data)
	if err != nil {
		return terret.Invalid("event", "%w", err)
	}
	return p.a.emit(data)
}
