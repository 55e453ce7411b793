package codex

import (
	"context"

	"github.com/terret-dev/terret"
)

// Models implements terret.ModelLister.
func (a *agent) Models(ctx context.Context) ([]terret.Model, error) {
	a.Switching.Lock()
	p, err := a.running(ctx)
	a.Switching.Unlock()
	if err != nil {
		return nil, err
	}
	var out []terret.Model
	params := object{}
	for range maxPages {
		var page struct {
			Data []struct {
				Model   string `json:"model"`
				Name    string `json:"displayName"`
				Hidden  bool   `json:"hidden"`
				Efforts []struct {
					Word string `json:"reasoningEffort"`
				} `json:"supportedReasoningEfforts"`
			} `json:"data"`
			Next string `json:"nextCursor"`
		}
		if err := p.conn.Call(ctx, "model/list", params, &page); err != nil {
			return nil, refusal(err)
		}
		for _, m := range page.Data {
			if m.Hidden {
				continue
			}
			model := terret.Model{ID: m.Model, Name: m.Name}
			for _, e := range m.Efforts {
				model.Efforts = append(model.Efforts, e.Word)
			}
			out = append(out, model)
		}
		if page.Next == "" || len(page.Data) == 0 {
			break
		}
		params["cursor"] = page.Next
	}
	return out, nil
}

// SetModel implements terret.ModelSetter. Codex is told with the next prompt.
func (a *agent) SetModel(_ context.Context, model string) error {
	if err := terret.CheckWord("model", model); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = model
	return nil
}

// SetPermissionMode implements terret.ModeSetter. The thread is loaded again with the next
// prompt.
func (a *agent) SetPermissionMode(_ context.Context, mode string) error {
	if err := checkMode(mode); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = mode
	return nil
}

// Compact implements terret.Compacter. Codex takes no instructions.
func (a *agent) Compact(ctx context.Context, _, instructions string, in terret.Settings) error {
	if instructions != "" {
		return terret.Errorf(terret.CodeUnsupported, "Codex compacts without instructions; leave them out")
	}
	return a.run(ctx, in, func(p *process, params object) error {
		return p.conn.Call(ctx, "thread/compact/start", object{"threadId": params["threadId"]}, nil)
	})
}

// Rename implements terret.Renamer. Without a process the title is ours alone.
func (a *agent) Rename(ctx context.Context, title string) error {
	p, err := a.Occupied()
	if err != nil || title == "" {
		return nil
	}
	a.mu.Lock()
	thread := a.native
	a.mu.Unlock()
	return refusal(p.conn.Call(ctx, "thread/name/set", object{"threadId": thread, "name": title}, nil))
}

// Context implements terret.ContextReader. Codex tells with each reply of the model.
func (a *agent) Context(context.Context) (terret.ContextUsage, error) {
	p, err := a.Occupied()
	if err != nil {
		return terret.ContextUsage{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return terret.ContextUsage{Used: p.t.usage.Last.Total, Max: p.t.usage.Window}, nil
}
