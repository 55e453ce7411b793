package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
)

// What an agent is asked outside turns. The agent is opened if it is not; a session
// that another process owns is a conflict that says so, unless the log knows the
// answer.

// Models lists the models that the session's agent can use.
func (e *Engine) Models(ctx context.Context, session string) ([]terret.Model, error) {
	var out []terret.Model
	err := e.withAgent(ctx, session, func(a terret.Agent) (err error) {
		m, ok := a.(terret.ModelLister)
		if !ok {
			return terret.Errorf(terret.CodeUnsupported, "this agent does not list its models")
		}
		out, err = m.Models(ctx)
		return err
	})
	return slices.Concat([]terret.Model{}, out), elsewhere(err)
}

// Commands lists what can be run with [Engine.RunCommand].
func (e *Engine) Commands(ctx context.Context, session string) ([]terret.Command, error) {
	var out []terret.Command
	listed := false
	err := e.withAgent(ctx, session, func(a terret.Agent) (err error) {
		if err := terret.CapabilitiesOf(a).Need(terret.CanCommands); err != nil {
			return err
		}
		var l terret.CommandLister
		if l, listed = a.(terret.CommandLister); listed {
			out, err = l.Commands(ctx)
		}
		return err
	})
	if err == nil && listed || err != nil && !isForeign(err) {
		return slices.Concat([]terret.Command{}, out), err
	}
	said, found, err := lastOf(ctx, e, session, commandsOf, terret.KindSessionStart, terret.KindSessionCommands)
	if err == nil && !found {
		err = terret.Errorf(terret.CodeUnsupported, "the agent of session %s has not said what commands it has", session)
	}
	return said, err
}

func commandsOf(d terret.Data) ([]terret.Command, bool) {
	switch d := d.(type) {
	case terret.SessionStart:
		return d.Commands, d.Commands != nil
	case terret.SessionCommands:
		return d.Commands, true
	}
	return nil, false
}

// Context says what fills the agent's context, or at least how full it was when it
// last said so.
func (e *Engine) Context(ctx context.Context, session string) (terret.ContextUsage, error) {
	var out terret.ContextUsage
	can := false
	err := e.withAgent(ctx, session, func(a terret.Agent) (err error) {
		var r terret.ContextReader
		if r, can = a.(terret.ContextReader); can {
			out, err = r.Context(ctx)
		}
		if errors.Is(err, terret.ErrUnsupported) {
			can, err = false, nil
		}
		return err
	})
	if err == nil && can || err != nil && !isForeign(err) {
		return out, err
	}
	said, found, err := lastOf(ctx, e, session, contextOf, terret.KindUsageUpdate)
	if err == nil && !found {
		err = terret.Errorf(terret.CodeUnsupported, "the agent of session %s has not said how full its context is", session)
	}
	return said, err
}

func contextOf(d terret.Data) (terret.ContextUsage, bool) {
	u, ok := d.(terret.UsageUpdate)
	return terret.ContextUsage{Used: u.ContextUsed, Max: u.ContextMax}, ok && u.ContextUsed > 0
}

// lastOf is what the last event of the kinds says that says it.
func lastOf[T any](ctx context.Context, e *Engine, session string, of func(terret.Data) (T, bool), kinds ...terret.Kind) (out T, found bool, err error) {
	if l := e.mine(session); l != nil {
		if err := l.flush(); err != nil && !errors.Is(err, errGone) { // if it is, all is in the log
			return out, false, err
		}
	}
	for entry, err := range e.entries(ctx, session, kinds...) {
		if err != nil {
			return out, false, err
		}
		ev, err := entry.Decode()
		if err != nil {
			return out, false, err
		}
		if v, ok := of(ev.Data); ok {
			out, found = v, true
		}
	}
	return out, found, nil
}

// withAgent runs fn with the session's agent.
func (e *Engine) withAgent(ctx context.Context, session string, fn func(terret.Agent) error) error {
	return e.on(ctx, session, func(l *live) error {
		agent, err := e.wake(ctx, l)
		if err != nil {
			return err
		}
		return fn(agent)
	})
}

// wake returns the session's agent for something that is no turn, opening it if
// there is none.
func (e *Engine) wake(ctx context.Context, l *live) (terret.Agent, error) {
	h, err := e.openAgent(ctx, l)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == idle {
		l.startIdleTimer()
	}
	return h.agent, nil
}

// elsewhere says what to do about a session that another process owns.
func elsewhere(err error) error {
	if isForeign(err) {
		return terret.Errorf(terret.CodeConflict, "%w; ask there, or close it there first", err)
	}
	return err
}

// CommandRequest is a command to a session, such as can be typed as /name.
type CommandRequest struct {
	Session string
	Name    string // without the slash
	Args    string
	When    When // while a turn runs: reject or queue
	By      string
	Turn    string // as in PromptRequest
}

// RunCommand runs a command of the agent as a turn. It is as Prompt otherwise.
func (e *Engine) RunCommand(ctx context.Context, r CommandRequest) (terret.Turn, error) {
	name := strings.TrimPrefix(r.Name, "/")
	if odd := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }; name == "" || strings.ContainsFunc(name, odd) {
		return terret.Turn{}, terret.Invalid("name", "%q is not the name of a command", r.Name)
	}
	return e.runCommand(ctx, r, command{Name: name, Args: r.Args})
}

// CompactRequest asks the agent to compress its context.
type CompactRequest struct {
	Session      string
	Instructions string // what to keep; may be empty
	When         When   // while a turn runs: reject or queue
	By           string
	Turn         string // as in PromptRequest
}

// Compact lets the agent compress its context, as a turn. It is as Prompt otherwise.
func (e *Engine) Compact(ctx context.Context, r CompactRequest) (terret.Turn, error) {
	return e.runCommand(ctx, CommandRequest{Session: r.Session, When: r.When, By: r.By, Turn: r.Turn}, command{Args: r.Instructions, Compact: true})
}

func (e *Engine) runCommand(ctx context.Context, r CommandRequest, c command) (terret.Turn, error) {
	if r.When == WhenSteer {
		return terret.Turn{}, terret.Invalid("when", "a command cannot steer a turn; queue it, or wait")
	}
	return e.Prompt(ctx, PromptRequest{
		Session: r.Session, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text(c.text())}},
		When: r.When, By: r.By, Turn: r.Turn, command: &c,
	})
}

// command is what a turn does instead of handing over its prompt.
type command struct {
	Name    string `json:"name,omitempty"`
	Args    string `json:"args,omitempty"`    // of a compaction: its instructions
	Compact bool   `json:"compact,omitempty"` // it is one
}

// queued is a prompt as it waits in the queue. A version that knows no commands
// takes one for a prompt, which is what a person would have typed.
type queued struct {
	terret.Prompt
	Command *command `json:"command,omitempty"`
}

// text is what a person would have typed.
func (c command) text() string {
	name := c.Name
	if c.Compact {
		name = "compact"
	}
	return strings.TrimSpace("/" + name + " " + c.Args)
}

// need says why the agent cannot do it, if that is so.
func (c command) need(a terret.Agent) error {
	if c.Compact {
		return terret.CapabilitiesOf(a).Need(terret.CanCompact)
	}
	return terret.CapabilitiesOf(a).Need(terret.CanCommands)
}

// plainPrompt is the prompt as an agent gets it: what its options mean is settled.
func (t *turn) plainPrompt() terret.Prompt {
	p := t.prompt
	p.Options = terret.TurnOptions{}
	return p
}

// handTo hands the turn to the agent.
func (t *turn) handTo(a terret.Agent) error {
	c := t.command
	if c == nil {
		return a.Prompt(t.ctx, t.id, t.plainPrompt(), t.in.Settings)
	}
	if err := c.need(a); err != nil {
		return err
	}
	if c.Compact {
		if x, ok := a.(terret.Compacter); ok {
			return x.Compact(t.ctx, t.id, c.Args, t.in.Settings)
		}
	} else if x, ok := a.(terret.Commander); ok {
		return x.Command(t.ctx, t.id, c.Name, c.Args, t.in.Settings)
	}
	return terret.Errorf(terret.CodeUnsupported, "this agent cannot do %s itself", c.text())
}

// knows opens the agent of a session that is free, to find out before the turn
// begins whether the agent can do it.
func (e *Engine) knows(ctx context.Context, l *live, c *command) error {
	if c == nil {
		return nil
	}
	l.mu.Lock()
	h, busy := l.host, l.phase != idle
	l.mu.Unlock()
	switch {
	case h != nil:
		return c.need(h.agent)
	case busy:
		return nil // the turn will find out
	}
	agent, err := e.wake(ctx, l)
	if err != nil {
		return err
	}
	return c.need(agent)
}
