// Package mock is an agent that follows a script: it says, asks and crashes as told. It
// is public, so that programs built on Terret can be tested without an agent.
//
// A script is Go values or a JSON file:
//
//	{"turns": [[
//	  {"text": "I will list the files."},
//	  {"tool": {"name": "Bash", "input": {"command": "ls"}, "ask": true, "result": "a.go"}},
//	  {"text": "There is one."}
//	]]}
//
// Each prompt takes the next turn of the script; the last one repeats.
package mock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// Script is what the agent does.
type Script struct {
	// Turns are the steps for each prompt, in order. The last one repeats; without any,
	// the agent repeats the prompt.
	Turns [][]Step `json:"turns"`
	// Without lists capabilities that the agent does not have.
	Without []terret.Capability `json:"without,omitempty"`
	// Overseen says that the agent asks before everything it does.
	Overseen bool `json:"overseen,omitempty"`
	// OpenError, if set, is the error of Open.
	OpenError *terret.Error `json:"open_error,omitempty"`
	// Models, Commands and Context are what the agent lists, if set. A command takes
	// the next turn of the script, like a prompt.
	Models   []terret.Model       `json:"models,omitempty"`
	Commands []terret.Command     `json:"commands,omitempty"`
	Context  *terret.ContextUsage `json:"context,omitempty"`
	// Compacts says that the agent can compress its context.
	Compacts bool `json:"compacts,omitempty"`
	// Rewinds says that the agent can rewind its conversation: turns of the script can
	// then be taken again. RewindError is the error of that.
	Rewinds     bool          `json:"rewinds,omitempty"`
	RewindError *terret.Error `json:"rewind_error,omitempty"`
	// Prewarm, if set, says that the agent can be prewarmed.
	Prewarm *Prewarm `json:"prewarm,omitempty"`
}

// Step is one thing that the agent does. Exactly one field is set.
type Step struct {
	Text       string              `json:"text,omitempty"`     // streamed, then complete
	Think      string              `json:"think,omitempty"`    // streamed
	Tool       *Tool               `json:"tool,omitempty"`     // used; asks if it says so
	Question   *terret.Question    `json:"question,omitempty"` // asked
	Plan       string              `json:"plan,omitempty"`     // presented
	Gate       terret.Gate         `json:"gate,omitempty"`     // a hook gate
	Usage      *terret.UsageUpdate `json:"usage,omitempty"`    // of the turn so far
	Event      *RawEvent           `json:"event,omitempty"`    // emitted as it is
	Delay      Duration            `json:"delay,omitempty"`
	Fail       *terret.Error       `json:"fail,omitempty"`       // ends the turn
	Crash      bool                `json:"crash,omitempty"`      // ends the agent in mid-turn
	Hang       bool                `json:"hang,omitempty"`       // until interrupted
	Deaf       bool                `json:"deaf,omitempty"`       // until killed; ignores interrupts
	Background []Step              `json:"background,omitempty"` // done after the turn, without a prompt
	// Do runs Go code, with the session's folder.
	Do func(ctx context.Context, dir string) error `json:"-"`
}

// Tool is a tool call.
type Tool struct {
	Name   string           `json:"name"`
	Class  terret.ToolClass `json:"class,omitempty"`
	Input  terret.JSON      `json:"input"`
	Ask    bool             `json:"ask,omitempty"`
	Result string           `json:"result,omitempty"`
	Error  string           `json:"error,omitempty"`
	// Suggest lists rules that would allow it.
	Suggest []string `json:"suggest,omitempty"`
}

// RawEvent is an event in the vocabulary's own form.
type RawEvent struct {
	Kind terret.Kind `json:"kind"`
	Data terret.JSON `json:"data"`
}

// Duration is a time.Duration that is written as "150ms" in JSON.
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a delay must be a string such as \"150ms\"")
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Load reads a script from a file. Unknown fields are an error.
func Load(path string) (Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return Script{}, err
	}
	defer f.Close()
	var s Script
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("script %s: %w", path, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Script{}, fmt.Errorf("script %s: there is data after the JSON value", path)
	}
	for i, steps := range s.Turns {
		if err := check(steps); err != nil {
			return Script{}, fmt.Errorf("script %s: turn %d, %w", path, i+1, err)
		}
	}
	return s, nil
}

// check makes sure that each step is one thing.
func check(steps []Step) error {
	for i, s := range steps {
		set := 0
		for v, j := reflect.ValueOf(s), 0; j < v.NumField(); j++ {
			if !v.Field(j).IsZero() {
				set++
			}
		}
		if set != 1 {
			return fmt.Errorf("step %d: it must do one thing, not %d", i+1, set)
		}
		if err := check(s.Background); err != nil {
			return fmt.Errorf("step %d: in the background, %w", i+1, err)
		}
	}
	return nil
}

// Driver makes agents that follow a script.
type Driver struct {
	script   func(terret.Session) Script
	name     string
	overseen bool // as the script says, if there is one for all
}

var (
	_ terret.Driver    = (*Driver)(nil)
	_ terret.Prober    = (*Driver)(nil)
	_ terret.Prewarmer = (*Driver)(nil)
	_ terret.Agent     = (*agent)(nil)
	_ terret.Steerer   = (*agent)(nil)
)

// New makes a driver named "mock" whose agents all follow the script.
func New(s Script) *Driver {
	d := NewFunc("mock", func(terret.Session) Script { return s })
	d.overseen = s.Overseen
	return d
}

// NewFunc makes a driver with any name that gets the script for each session.
func NewFunc(name string, script func(terret.Session) Script) *Driver {
	return &Driver{name: name, script: script}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return d.name }

// Describe implements terret.Describer. The agent has a second name, and modes.
func (d *Driver) Describe() terret.Description {
	return terret.Description{
		Title: "Mock", Aliases: []string{d.name + "-code"},
		Modes: map[string]terret.Policy{
			"default": terret.PolicyAsk, "plan": terret.PolicyPlan, "dontAsk": terret.PolicyDenyUnlessAllowed,
			"acceptEdits": terret.PolicyAcceptEdits, "bypassPermissions": terret.PolicyAutoApprove,
		},
		Asking: "default",
	}
}

// Probe implements terret.Prober.
func (d *Driver) Probe(context.Context) (terret.Probe, error) {
	return terret.Probe{Agent: d.name, Found: true, Version: "1", Tested: terret.TestedYes, Auth: "ok", Capabilities: capabilities(Script{Overseen: d.overseen})}, nil
}

// Open implements terret.Driver. The cursor counts the prompts so far, so that a
// reopened agent continues with the script.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	s := d.script(r.Session)
	warm := takeOver(ctx, r.Warm)
	if s.OpenError != nil {
		return nil, s.OpenError
	}
	a := &agent{name: d.name, script: s, req: r}
	if err := a.past.load(r.Cursor); err != nil {
		return nil, terret.Errorf(terret.CodeResumeFailed, "mock: the cursor cannot be read: %w", err)
	}
	source := "new"
	native := string(r.Session.NativeID)
	switch {
	case native != "":
		source = "resume"
	case warm != "":
		native = warm
	default:
		native = "mock-" + r.Session.ID
	}
	a.life, a.end = context.WithCancel(context.Background())
	err := r.Host.Emit(ctx, []terret.Event{{Source: "init", Data: terret.SessionStart{
		Source: source, Agent: d.name, AgentVersion: "1", NativeID: native, Model: r.Session.Model, Cwd: r.Session.Cwd, Tools: []string{"Bash", "Edit", "Read"},
		Commands: s.Commands,
	}}}, nil)
	if err != nil {
		a.end()
		return nil, err
	}
	return a, nil
}

func capabilities(s Script) terret.Capabilities {
	c := terret.Capabilities{Oversight: terret.OversightAsked, Abilities: map[terret.Capability]terret.Ability{}}
	for _, name := range []terret.Capability{
		terret.CanPermissions, terret.CanQuestions, terret.CanStream, terret.CanSteer, terret.CanMultiTurn,
		terret.CanPlan, terret.CanInterrupt, terret.CanCost, terret.CanReasoning, terret.CanEditInput, terret.CanReconnect,
	} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	for _, name := range []terret.Capability{terret.CanUndo, terret.CanRedo, terret.CanQueue, terret.CanBudget} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByHarness}
	}
	for name, scripted := range map[terret.Capability]bool{
		terret.CanCommands: s.Commands != nil, terret.CanCompact: s.Compacts, terret.CanPrewarm: s.Prewarm != nil,
		terret.CanUndo: s.Rewinds, terret.CanRedo: s.Rewinds,
	} {
		if scripted {
			c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
		}
	}
	if s.Overseen {
		c.Oversight = terret.OversightAll
	}
	for _, name := range s.Without {
		c.Abilities[name] = terret.Ability{Reason: "the script says so"}
	}
	return c
}

// agent follows a script.
type agent struct {
	name   string
	script Script
	req    terret.OpenRequest
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	floor  sync.Mutex // held by whoever speaks: a turn, or background work

	mu      sync.Mutex
	past    past
	turn    string
	stop    context.CancelCauseFunc // of the turn, or of background work
	steered []string
	crashed bool
}

// Prompt implements terret.Agent.
func (a *agent) Prompt(ctx context.Context, turn string, p terret.Prompt, _ terret.Settings) error {
	return a.start(ctx, turn, p.MessageID, a.scripted(terret.TextOf(p.Blocks)))
}

// start starts a turn; choose picks its steps.
func (a *agent) start(ctx context.Context, turn, message string, choose func() []Step) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case a.life.Err() != nil || a.crashed:
		return terret.Errorf(terret.CodeProcessFailed, "mock: the agent is gone")
	case a.turn != "":
		return terret.Errorf(terret.CodeInternal, "mock: prompted while busy")
	}
	steps := choose()
	a.past.add(message)
	cursor := a.cursor()
	a.turn = turn
	life, stop := context.WithCancelCause(a.life)
	a.stop = stop
	a.work.Go(func() { a.run(life, turn, cursor, steps) })
	return nil
}

// scripted picks the next turn of the script.
func (a *agent) scripted(said string) func() []Step {
	return func() []Step {
		if len(a.script.Turns) == 0 {
			return []Step{{Text: "You said: " + said}}
		}
		return a.script.Turns[min(len(a.past.Said), len(a.script.Turns)-1)]
	}
}

// Interrupt implements terret.Agent. The agent does not know the id of a turn that it
// started itself: any id but that of the last prompt means such a turn.
func (a *agent) Interrupt(_ context.Context, turn string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil && (a.turn == turn || a.turn == "") {
		a.stop(terret.ErrInterrupted)
	}
	return nil
}

// Steer implements terret.Steerer: the agent repeats the words at the end of the turn.
func (a *agent) Steer(_ context.Context, turn string, p terret.Prompt) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn != turn {
		return terret.Errorf(terret.CodeConflict, "mock: that turn is over")
	}
	a.steered = append(a.steered, terret.TextOf(p.Blocks))
	return nil
}

// Close implements terret.Agent.
func (a *agent) Close(context.Context) error {
	a.end()
	a.work.Wait()
	return nil
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities { return capabilities(a.script) }

func (a *agent) emit(data ...terret.Data) error {
	events := make([]terret.Event, len(data))
	for i, d := range data {
		events[i] = terret.Event{Data: d}
	}
	return a.req.Host.Emit(a.life, events, nil)
}

// run plays one turn and reports how it ended.
func (a *agent) run(ctx context.Context, turn string, cursor []byte, steps []Step) {
	a.floor.Lock()
	defer a.floor.Unlock()
	if a.req.Host.Emit(a.life, nil, cursor) != nil {
		return
	}
	p := player{a: a, turn: turn}
	err := p.play(ctx, steps)
	for said := a.rest(); len(said) > 0; said = a.rest() {
		if err == nil && !p.crashed {
			err = p.say("You added: " + strings.Join(said, "; "))
		}
	}
	if a.finish(p, err) && len(p.background) > 0 {
		a.work.Go(func() { a.background(p.background) })
	}
}

// rest returns what was added to the turn since the last call. If that is nothing, the
// turn is over.
func (a *agent) rest() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.steered
	a.steered = nil
	if len(said) == 0 {
		a.turn, a.stop = "", nil
	}
	return said
}

// finish reports how the turn ended, and whether the agent can continue.
func (a *agent) finish(p player, err error) bool {
	if p.crashed {
		a.mu.Lock()
		a.crashed = true
		a.mu.Unlock()
		code := 1
		_ = a.emit(terret.TurnError{Error: terret.Error{Code: terret.CodeProcessFailed, Message: "the agent exited with code 1", ExitCode: &code}},
			terret.ProcessExit{Code: &code}, terret.SessionEnd{Reason: "agent_exit"})
		return false
	}
	var end terret.Data = terret.TurnComplete{
		Text: p.last, StopReason: "end_turn", Usage: p.usage.Usage, CostUSD: p.usage.CostUSD, NumSteps: p.messages, Denials: p.denials,
	}
	if err != nil {
		end = terret.TurnError{Error: *terret.AsError(err), Text: p.last, Usage: p.usage.Usage, CostUSD: p.usage.CostUSD, Denials: p.denials}
	}
	return a.req.Host.Emit(a.life, []terret.Event{{Turn: p.turn, Source: "result", Data: end}}, nil) == nil
}

// background works without a prompt.
func (a *agent) background(steps []Step) {
	a.floor.Lock()
	defer a.floor.Unlock()
	ctx, stop := context.WithCancelCause(a.life)
	defer stop(nil)
	a.mu.Lock()
	if a.turn == "" {
		a.stop = stop
	}
	a.mu.Unlock()
	p := player{a: a}
	err := p.play(ctx, steps)
	a.mu.Lock()
	prompted := a.turn != "" // meanwhile: then this is now part of that turn
	if !prompted {
		a.stop = nil
	}
	a.mu.Unlock()
	if !prompted || p.crashed {
		a.finish(p, err)
	}
}
