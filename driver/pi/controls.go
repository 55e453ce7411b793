package pi

import (
	"context"
	"strings"

	"github.com/terret-dev/terret"
)

// running returns the process, whatever it was started with, since a turn may run in it.
// It starts one if there is none. a.Switching must be held.
func (a *agent) running(ctx context.Context) (*process, error) {
	if p, err := a.Occupied(); err == nil && p.Alive() {
		return p, nil
	}
	a.mu.Lock()
	in := a.last
	a.mu.Unlock()
	return a.ready(ctx, in)
}

// ask asks Pi something outside a turn.
func (a *agent) ask(ctx context.Context, command object, out any) error {
	a.Switching.Lock()
	p, err := a.running(ctx)
	a.Switching.Unlock()
	if err != nil {
		return err
	}
	return p.call(ctx, command, out)
}

// Models implements terret.ModelLister.
func (a *agent) Models(ctx context.Context) ([]terret.Model, error) {
	var all struct {
		Models []struct {
			ID        string   `json:"id"`
			Name      string   `json:"name"`
			Provider  string   `json:"provider"`
			Reasoning bool     `json:"reasoning"`
			Context   int64    `json:"contextWindow"`
			MaxTokens int64    `json:"maxTokens"`
			Input     []string `json:"input"`
		} `json:"models"`
	}
	if err := a.ask(ctx, object{"type": "get_available_models"}, &all); err != nil {
		return nil, err
	}
	out := make([]terret.Model, 0, len(all.Models))
	for _, m := range all.Models {
		model := terret.Model{ID: m.Provider + "/" + m.ID, Name: m.Name, Context: m.Context, MaxOutput: m.MaxTokens}
		if m.Reasoning {
			model.Efforts = []string{"off", "minimal", "low", "medium", "high"}
		}
		out = append(out, model)
	}
	return out, nil
}

// SetModel implements terret.ModelSetter. The next prompt starts a process with it.
func (a *agent) SetModel(_ context.Context, model string) error {
	if err := terret.CheckWord("model", model); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = model
	return nil
}

// Commands implements terret.CommandLister.
func (a *agent) Commands(ctx context.Context) ([]terret.Command, error) {
	var all struct {
		Commands []terret.Command `json:"commands"`
	}
	if err := a.ask(ctx, object{"type": "get_commands"}, &all); err != nil {
		return nil, err
	}
	out := []terret.Command{}
	for _, c := range all.Commands {
		if c.Name != extensionName {
			out = append(out, c)
		}
	}
	return out, nil
}

// Command implements terret.Commander.
func (a *agent) Command(ctx context.Context, _, name, args string, in terret.Settings) error {
	all, err := a.Commands(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Name == name {
			line := strings.TrimSpace("/" + name + " " + args)
			return a.run(ctx, in, "", func(p *process) { p.prompt(object{"type": "prompt", "message": line}) })
		}
	}
	return terret.Errorf(terret.CodeNotFound, "Pi has no command /%s", name)
}

// Compact implements terret.Compacter.
func (a *agent) Compact(ctx context.Context, _, instructions string, in terret.Settings) error {
	return a.run(ctx, in, "", func(p *process) {
		command := object{"type": "compact"}
		if instructions != "" {
			command["customInstructions"] = instructions
		}
		p.say("compact", func(t *translator) { t.turn.summing = true })
		err := p.call(p.Life, command, nil)
		p.say("compact", func(t *translator) {
			switch why := t.failure(); {
			case p.Life.Err() != nil: // which ends the turn
			case why == nil && err != nil && t.turn.blocked == "":
				t.endTurn(terret.AsError(err))
			default:
				t.endTurn(why)
			}
		})
	})
}

// Rename implements terret.Renamer. Without a process the title is ours alone.
func (a *agent) Rename(ctx context.Context, title string) error {
	p, err := a.Occupied()
	if err != nil || strings.TrimSpace(title) == "" {
		return nil
	}
	return p.call(ctx, object{"type": "set_session_name", "name": title}, nil)
}

// Context implements terret.ContextReader.
func (a *agent) Context(ctx context.Context) (terret.ContextUsage, error) {
	p, err := a.Occupied()
	if err != nil {
		return terret.ContextUsage{}, err
	}
	var now stats
	err = p.call(ctx, object{"type": "get_session_stats"}, &now)
	return terret.ContextUsage{Used: now.Context.Tokens, Max: now.Context.Window}, err
}

// Fork implements terret.Forker. The copy is made when it is opened. A copy up to a prompt
// ends with the turn of that prompt.
func (a *agent) Fork(_ context.Context, messageID string) (string, error) {
	a.mu.Lock()
	current := a.native
	a.mu.Unlock()
	if current == "" {
		return "", terret.Errorf(terret.CodeNotFound, "the conversation has not begun; prompt the session first")
	}
	n, err := parseNative(current)
	if err != nil {
		return "", err
	}
	return n.id + "@" + messageID, nil
}

// Rewind implements terret.Rewinder. Pi's session is a tree: nothing in it is lost.
func (a *agent) Rewind(ctx context.Context, messageID string) error {
	return a.goTo(ctx, object{"message": messageID}, func(left string) []string { return append([]string{left}, a.Undone()...) })
}

// Forward implements terret.Rewinder.
func (a *agent) Forward(ctx context.Context) error {
	to, undone, err := a.Redo()
	if err != nil {
		return err
	}
	return a.goTo(ctx, object{"entry": to}, func(string) []string { return undone })
}

// goTo moves in the session's tree, and remembers the way forward. It is told the entry
// that was left.
func (a *agent) goTo(ctx context.Context, where object, forward func(left string) []string) error {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.running(ctx)
	if err != nil {
		return err
	}
	left, err := p.move(ctx, where)
	if err != nil {
		return err
	}
	return a.Undo(ctx, forward(left))
}

// move moves in the session's tree, and returns the entry that was left.
func (p *process) move(ctx context.Context, where object) (left string, err error) {
	result, err := p.do(ctx, "go", where)
	switch {
	case err != nil:
		return "", err
	case result.Missing:
		return "", terret.Errorf(terret.CodeNotFound, "Pi does not know message %v", where["message"])
	}
	return result.Leaf, nil
}
