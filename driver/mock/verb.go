package mock

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

var (
	_ terret.ModelLister   = (*agent)(nil)
	_ terret.CommandLister = (*agent)(nil)
	_ terret.Commander     = (*agent)(nil)
	_ terret.Compacter     = (*agent)(nil)
	_ terret.ContextReader = (*agent)(nil)
	_ terret.Rewinder      = (*agent)(nil)
)

func unscripted(what string) error {
	return terret.Errorf(terret.CodeUnsupported, "mock: the script has no %s", what)
}

// Models implements terret.ModelLister.
func (a *agent) Models(context.Context) ([]terret.Model, error) {
	if a.script.Models == nil {
		return nil, unscripted("models")
	}
	return a.script.Models, nil
}

// Commands implements terret.CommandLister.
func (a *agent) Commands(context.Context) ([]terret.Command, error) {
	if a.script.Commands == nil {
		return nil, unscripted("commands")
	}
	return a.script.Commands, nil
}

// Context implements terret.ContextReader.
func (a *agent) Context(context.Context) (terret.ContextUsage, error) {
	if a.script.Context == nil {
		return terret.ContextUsage{}, unscripted("context")
	}
	return *a.script.Context, nil
}

// Command implements terret.Commander.
func (a *agent) Command(ctx context.Context, turn, name, args string, _ terret.Settings) error {
	if !slices.ContainsFunc(a.script.Commands, func(c terret.Command) bool { return c.Name == name }) {
		return terret.Errorf(terret.CodeNotFound, "mock: there is no command %q", name)
	}
	return a.start(ctx, turn, "", a.scripted(strings.TrimSpace("/"+name+" "+args)))
}

// Compact implements terret.Compacter.
func (a *agent) Compact(ctx context.Context, turn, instructions string, _ terret.Settings) error {
	pre, err := json.Marshal(terret.CompactPre{Trigger: "manual", Instructions: instructions})
	if err != nil {
		return err
	}
	return a.start(ctx, turn, "", func() []Step {
		return []Step{
			{Event: &RawEvent{Kind: terret.KindCompactPre, Data: pre}},
			{Event: &RawEvent{Kind: terret.KindCompactPost, Data: terret.JSON(`{"summary":"We talked."}`)}},
		}
	})
}

// past is what the agent remembers of a conversation: the message ids of the prompts.
type past struct {
	Said   []string   `json:"said"`
	Undone [][]string `json:"undone,omitempty"` // what each Rewind removed, the last one last
}

func (p *past) add(message string) {
	p.Said = append(slices.Clip(p.Said), message)
	p.Undone = nil
}

// load reads a cursor. For an agent that cannot rewind it is a number.
func (p *past) load(cursor []byte) error {
	if len(cursor) == 0 {
		return nil
	}
	if cursor[0] == '{' {
		return json.Unmarshal(cursor, p)
	}
	var n uint16
	err := json.Unmarshal(cursor, &n)
	p.Said = make([]string, n)
	return err
}

// cursor is what the driver needs to resume after a restart. a.mu must be held.
func (a *agent) cursor() []byte {
	var out []byte
	if a.script.Rewinds {
		out, _ = json.Marshal(a.past) // strings
	} else {
		out, _ = json.Marshal(len(a.past.Said)) // a number
	}
	return out
}

// Rewind implements terret.Rewinder.
func (a *agent) Rewind(ctx context.Context, messageID string) error {
	return a.travel(ctx, func(p *past) error {
		at := slices.Index(p.Said, messageID)
		if at < 0 || messageID == "" {
			return terret.Errorf(terret.CodeNotFound, "mock: there is no prompt %q", messageID)
		}
		p.Undone = append(p.Undone, p.Said[at:])
		p.Said = p.Said[:at:at]
		return nil
	})
}

// Forward implements terret.Rewinder.
func (a *agent) Forward(ctx context.Context) error {
	return a.travel(ctx, func(p *past) error {
		last := len(p.Undone) - 1
		if last < 0 {
			return terret.Errorf(terret.CodeConflict, "mock: nothing to redo")
		}
		p.Said = append(p.Said, p.Undone[last]...)
		p.Undone = p.Undone[:last]
		return nil
	})
}

func (a *agent) travel(ctx context.Context, move func(*past) error) error {
	a.mu.Lock()
	var err error
	switch {
	case !a.script.Rewinds:
		err = unscripted("way back")
	case a.script.RewindError != nil:
		err = a.script.RewindError
	case a.turn != "":
		err = terret.Errorf(terret.CodeInternal, "mock: rewound while busy")
	case a.life.Err() != nil || a.crashed:
		err = terret.Errorf(terret.CodeProcessFailed, "mock: the agent is gone")
	default:
		err = move(&a.past)
	}
	cursor := a.cursor()
	a.mu.Unlock()
	if err != nil {
		return err
	}
	return a.req.Host.Emit(ctx, nil, cursor)
}
