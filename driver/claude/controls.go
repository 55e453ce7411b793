package claude

import (
	"context"
	"slices"

	"github.com/terret-dev/terret"
)

// Models implements terret.ModelLister.
func (a *agent) Models(ctx context.Context) ([]terret.Model, error) {
	about, err := a.about(ctx)
	return about.models(), err
}

// Commands implements terret.CommandLister.
func (a *agent) Commands(ctx context.Context) ([]terret.Command, error) {
	about, err := a.about(ctx)
	return about.commands(), err
}

// about is what the agent said about itself.
func (a *agent) about(ctx context.Context) (initializeAnswer, error) {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.running(ctx)
	if err != nil {
		return initializeAnswer{}, err
	}
	return p.about, nil
}

// running returns the process, and starts one if there is none. a.Switching must be
// held.
func (a *agent) running(ctx context.Context) (*process, error) {
	if p, err := a.Occupied(); err == nil {
		return p, nil
	}
	return a.ready(ctx, a.lastSettings())
}

// SetModel implements terret.ModelSetter.
func (a *agent) SetModel(ctx context.Context, model string) error {
	if err := terret.CheckWord("model", model); err != nil {
		return err
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if p, err := a.Occupied(); err == nil {
		if err := a.tellModel(ctx, p, model); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.session.model, a.turn.Model = model, ""
	a.mu.Unlock()
	return nil
}

func (a *agent) tellModel(ctx context.Context, p *process, model string) error {
	request := map[string]string{"subtype": "set_model"}
	if model != "" {
		request["model"] = model
	}
	if err := p.call(ctx, request, nil); err != nil {
		return err
	}
	a.mu.Lock()
	a.model = model
	a.mu.Unlock()
	return nil
}

// SetPermissionMode implements terret.ModeSetter.
func (a *agent) SetPermissionMode(ctx context.Context, mode string) error {
	if err := checkMode(mode, a.Req.Session); err != nil {
		return err
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if p, err := a.Occupied(); err == nil {
		if err := a.tellMode(ctx, p, mode); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.session.mode, a.turn.PermissionMode = mode, ""
	a.mu.Unlock()
	return nil
}

func (a *agent) tellMode(ctx context.Context, p *process, mode string) error {
	a.mu.Lock()
	old := a.mode
	a.mode = mode // before the agent reports it
	a.mu.Unlock()
	err := p.call(ctx, map[string]string{"subtype": "set_permission_mode", "mode": mode}, nil)
	if err != nil {
		a.mu.Lock()
		a.mode = old
		a.mu.Unlock()
	}
	return err
}

// Command implements terret.Commander.
func (a *agent) Command(ctx context.Context, turn, name, args string, in terret.Settings) error {
	if name == "" || slices.ContainsFunc([]rune(name), func(r rune) bool { return r <= ' ' }) {
		return terret.Invalid("name", "%q is not a command name", name)
	}
	text := "/" + name
	if args != "" {
		text += " " + args
	}
	return a.Prompt(ctx, turn, terret.Prompt{
		Blocks: []terret.Block{{Type: terret.BlockText, Text: text}}, MessageID: terret.NewID(terret.PrefixMessage),
	}, in)
}

// Compact implements terret.Compacter.
func (a *agent) Compact(ctx context.Context, turn, instructions string, in terret.Settings) error {
	return a.Command(ctx, turn, "compact", instructions, in)
}

// Rename implements terret.Renamer. Without a process only Terret knows the title.
func (a *agent) Rename(ctx context.Context, title string) error {
	p, err := a.Occupied()
	if err != nil || title == "" {
		return nil
	}
	return p.call(ctx, map[string]string{"subtype": "rename_session", "title": title}, nil)
}

// Context implements terret.ContextReader.
func (a *agent) Context(ctx context.Context) (terret.ContextUsage, error) {
	a.Switching.Lock()
	p, err := a.running(ctx)
	a.Switching.Unlock()
	if err != nil {
		return terret.ContextUsage{}, err
	}
	var answer struct {
		Categories []struct {
			Name   string `json:"name"`
			Tokens int64  `json:"tokens"`
		} `json:"categories"`
		Total int64 `json:"totalTokens"`
		Max   int64 `json:"maxTokens"`
	}
	if err := p.call(ctx, map[string]string{"subtype": "get_context_usage"}, &answer); err != nil {
		return terret.ContextUsage{}, err
	}
	out := terret.ContextUsage{Used: answer.Total, Max: answer.Max}
	for _, c := range answer.Categories {
		out.Parts = append(out.Parts, terret.ContextPart(c))
	}
	return out, nil
}
