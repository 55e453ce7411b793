package native

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// taskTool starts a subagent.
const taskTool = "Task"

// subagent is what a turn is for a subagent. It has a conversation of its own, which ends
// with it.
type subagent struct {
	id     string
	kind   string // the name of its helper
	helper helper
	tool   string   // the call that started it
	parent *turnRun // of whoever started it
	state  *tools.State
	// messages is the conversation; only the goroutine of the turn uses it.
	messages []message
	context  int64 // tokens of it at the last answer; guarded by a.mu
}

// taskInput is the input of Task.
type taskInput struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Kind        string `json:"subagent_type"`
	Model       string `json:"model"`
}

// task runs a subagent to its end.
func (u *use) task(ctx context.Context) outcome {
	sub, in, wrong := u.subagent(u.call.Input)
	if wrong != nil {
		return u.refuse(ctx, wrong.Error())
	}
	d, allowed, err := u.permit(ctx, &tools.Use{Title: "Task: " + firstLine(in.Description)}, true)
	switch {
	case err != nil:
		return u.interrupted(ctx, err, tools.Result{}, 0)
	case !allowed:
		return u.denied(ctx, d)
	}
	if len(d.UpdatedInput) > 0 {
		if sub, in, wrong = u.subagent(d.UpdatedInput); wrong != nil {
			return u.failed(ctx, tools.Result{Text: wrong.Error()}, 0)
		}
	}
	began := time.Now()
	err = sub.emit(ctx, terret.SubagentStart{ID: sub.sub.id, Type: sub.sub.kind, Description: in.Description, Prompt: in.Prompt})
	if err == nil {
		err = sub.loop(ctx)
	}
	told := sub.emit(context.WithoutCancel(ctx), terret.SubagentStop{ID: sub.sub.id, Type: sub.sub.kind, Result: sub.text, Usage: &sub.usage})
	o := u.ended(ctx, sub, errors.Join(err, told), time.Since(began))
	o.denials = sub.denials
	return o
}

// ended is the outcome of a subagent that ended so. Only what concerns the whole turn
// ends that too.
func (u *use) ended(ctx context.Context, sub *turnRun, err error, took time.Duration) outcome {
	switch {
	case err == nil:
		return u.done(ctx, tools.Result{Text: sub.text}, took)
	case ctx.Err() != nil:
		return u.interrupted(ctx, context.Cause(ctx), tools.Result{Text: sub.text}, took)
	case terret.AsError(err).Code == terret.CodeMaxBudget || terret.AsError(err).Code == terret.CodeInterrupted:
		return u.interrupted(ctx, err, tools.Result{Text: sub.text}, took)
	}
	text := "The subagent failed: " + terret.AsError(err).Message
	if sub.text != "" {
		text += "\nThe last it said: " + sub.text
	}
	return u.failed(ctx, tools.Result{Text: text}, took)
}

// subagent prepares the turn of a subagent. The error is for the model.
func (u *use) subagent(input terret.JSON) (*turnRun, taskInput, error) {
	in := taskInput{Kind: general}
	if why := readInput(taskTool, input, &in); why != "" {
		return nil, in, errors.New(why)
	}
	h, ok := u.helpers[in.Kind]
	switch {
	case strings.TrimSpace(in.Prompt) == "":
		return nil, in, errors.New("the prompt is empty")
	case !ok:
		return nil, in, errors.New("there is no subagent_type " + in.Kind + "; there are " + strings.Join(sorted(u.helpers), ", "))
	}
	t := &turnRun{
		a: u.a, id: u.id, limit: u.root().limit, settings: u.settings, own: u.model(),
		sub: &subagent{id: terret.NewID("sub_"), kind: in.Kind, helper: h, tool: u.call.ToolID, parent: u.turnRun, state: u.a.state.Fork()},
	}
	name := h.Model
	if in.Model != "" {
		name = in.Model
	}
	if strings.Contains(name, "/") || in.Model != "" {
		m, err := u.a.driver.choose(name, u.settings)
		if err != nil {
			return nil, in, err
		}
		t.own = m
	}
	t.tools = slices.DeleteFunc(slices.Clone(u.tools), func(x tool) bool {
		return x.own != nil && x.name != skillTool && x.name != todoTool || h.Tools != nil && !slices.ContainsFunc(h.Tools, func(n string) bool { return n == x.name || ofServer(x.name, n) })
	})
	t.add(message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(in.Prompt)}})
	return t, in, nil
}

// state is what tool calls of this conversation left behind.
func (t *turnRun) state() *tools.State {
	if t.sub != nil {
		return t.sub.state
	}
	return t.a.state
}

// root is the turn itself, also for a subagent.
func (t *turnRun) root() *turnRun {
	for t.sub != nil {
		t = t.sub.parent
	}
	return t
}

// add appends to the conversation.
func (t *turnRun) add(m message) {
	if t.sub == nil {
		t.a.add(m)
	} else if len(m.blocks) > 0 {
		t.sub.messages = append(t.sub.messages, m)
	}
}

// subOver asks whether a subagent may stop. If not, it is told why.
func (t *turnRun) subOver(ctx context.Context) (bool, error) {
	why, blocked, err := t.blocked(ctx, terret.GateSubagentStop, hook(subHook, map[string]string{
		"agent_id": t.sub.id, "agent_type": t.sub.kind, "last_assistant_message": t.text,
	}))
	if blocked {
		t.add(notYet(why, t.id))
	}
	return !blocked, err
}
