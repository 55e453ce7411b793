package engine

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// When says what to do with a prompt while a turn runs.
type When string

// The choices. The empty value means WhenReject.
const (
	WhenReject When = "reject"
	WhenQueue  When = "queue"
	WhenSteer  When = "steer"
)

// PromptRequest is a prompt to a session.
type PromptRequest struct {
	Session string
	Prompt  terret.Prompt
	When    When
	By      string
	// Turn, if set, is the id for the turn. If there already is a turn with that id, it
	// is not started again.
	Turn string
	// Origin, if set, says where the prompt came from; otherwise it is user or queue.
	Origin terret.Origin

	command *command // to run instead
}

// report returns the turn as callers see it.
func (l *live) report(t *turn) terret.Turn {
	return terret.Turn{
		ID: t.id, Session: l.id, State: terret.TurnRunning, Origin: t.origin, MessageID: t.prompt.MessageID, Prompt: t.prompt.Blocks, StartedAt: terret.TimeOf(t.started),
	}
}

// beginning is a prompt that becomes a turn.
type beginning struct {
	PromptRequest
	in    desk.InForce
	unfit error  // why the turn cannot run, if so: it ends at once
	taken string // from the inbox, if it was there
}

// command is what a turn runs instead of a prompt.
type command struct {
	Name    string `json:"name,omitempty"`
	Args    string `json:"args,omitempty"`    // for a compaction: its instructions
	Compact bool   `json:"compact,omitempty"` // it is a compaction
}

// queuedPrompt is a prompt in the queue. A version without commands reads a queued command as
// a prompt: the text that a person would have typed.
type queuedPrompt struct {
	terret.Prompt
	Command *command      `json:"command,omitempty"`
	Origin  terret.Origin `json:"origin,omitempty"`
	// Held prompts wait until somebody sends them on: a person has stopped the turn before
	// them.
	Held bool `json:"held,omitempty"`
}

// text is what a person would have typed.
func (c command) text() string {
	name := c.Name
	if c.Compact {
		name = "compact"
	}
	return strings.TrimSpace("/" + name + " " + c.Args)
}

// need returns an error if the agent cannot run it.
func (c command) need(a terret.Agent) error {
	if c.Compact {
		return terret.CapabilitiesOf(a).Need(terret.CanCompact)
	}
	return terret.CapabilitiesOf(a).Need(terret.CanCommands)
}

// turn is a turn in progress.
type turn struct {
	id       string
	origin   terret.Origin
	started  time.Time
	began    *journal.Write // its start; nil if the agent began it by itself
	prompt   terret.Prompt
	in       desk.InForce    // in force for this turn
	command  *command        // to run instead of the prompt
	ctx      context.Context // of what prepares it
	cancel   context.CancelCauseFunc
	prepared chan struct{} // closed when preparation is over; nil if there was none
	done     chan struct{} // closed when its end is committed, or never will be
	finish   sync.Once     // closes done

	host       *host         // of the agent that has it; nil before it is prompted
	cursor     []byte        // that goes into the log with its end
	stop       *terret.Error // why it is to end, once somebody said so
	heard      time.Time     // when its agent last said or asked something
	silence    *time.Timer   // looks whether that is too long ago; nil if there is no limit
	beforeOnce sync.Once     // of the folder's state before it
	before     string        // that state
	text       string        // of the last message
	partial    partial
	steps      int
	usage      terret.UsageUpdate // as of the last update; of this turn only
}

// over releases everybody who waits for the end of the turn.
func (t *turn) over() {
	t.finish.Do(func() {
		if t.silence != nil {
			t.silence.Stop()
		}
		close(t.done)
	})
}

// partial is the text of a message that is still streaming.
type partial struct {
	message string
	text    []byte
}

func (p *partial) add(d terret.MessageDelta) {
	if p.message != d.MessageID {
		*p = partial{message: d.MessageID}
	}
	p.text = append(p.text, d.Text...)
}

// follow follows what the agent says during its turn.
func (t *turn) follow(data terret.Data) {
	switch d := data.(type) {
	case terret.MessageDelta:
		t.partial.add(d)
	case terret.MessageComplete:
		if d.Role != terret.RoleAssistant {
			return
		}
		t.partial = partial{}
		t.steps++
		keep(&t.text, terret.TextOf(d.Blocks))
	}
}

// plainPrompt is the prompt as the agent gets it: without options, which are already
// resolved.
func (t *turn) plainPrompt() terret.Prompt {
	p := t.prompt
	p.Options = terret.TurnOptions{}
	return p
}

// handTo gives the turn to the agent.
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
	return terret.Errorf(terret.CodeUnsupported, "this agent has no %s", c.text())
}
