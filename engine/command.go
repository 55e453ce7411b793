package engine

import (
	"context"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
)

// CommandRequest is a command to a session, typed as /name.
type CommandRequest struct {
	Session string
	Name    string // without the slash
	Args    string
	When    When // while a turn runs: reject or queue
	By      string
	Turn    string // as in PromptRequest
}

// RunCommand runs a command of the agent as a turn. Otherwise it works like Prompt.
func (e *Engine) RunCommand(ctx context.Context, r CommandRequest) (terret.Turn, error) {
	name := strings.TrimPrefix(r.Name, "/")
	if odd := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }; name == "" || strings.ContainsFunc(name, odd) {
		return terret.Turn{}, terret.Invalid("name", "%q is not a command name", r.Name)
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

// Compact makes the agent compress its context, as a turn. Otherwise it works like
// Prompt.
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

// canRun opens the agent of an idle session, to find out before the turn begins whether
// the agent can run the command.
func (e *Engine) canRun(ctx context.Context, l *live, c *command) error {
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
	agent, err := e.agentOf(ctx, l)
	if err != nil {
		return err
	}
	return c.need(agent)
}
