package native

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/plugin"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// openPlugins finds the programs in the user's folder and in that of a trusted project,
// and starts them.
func (a *agent) openPlugins(ctx context.Context) error {
	var found []plugin.Found
	if own := a.driver.cfg.UserDir; own != "" {
		found = plugin.Find(filepath.Join(own, "plugins"))
	}
	if a.req.Trusted {
		found = append(found, plugin.Find(filepath.Join(a.req.Session.Cwd, ".terret", "plugins"))...)
	}
	if len(found) == 0 {
		return nil
	}
	a.plugins = plugin.New(found, plugin.Options{
		Dir: a.req.Session.Cwd, Session: a.req.Session.ID, Environ: a.environ, Owner: a.req.Owner, Log: a.req.Log, Wrap: a.wrap(a.req.Settings),
	})
	return a.refreshPlugins(ctx)
}

// refreshPlugins starts those that have ended, and says once what is wrong with one.
func (a *agent) refreshPlugins(ctx context.Context) error {
	if a.plugins == nil {
		return nil
	}
	for _, text := range a.plugins.Refresh(ctx) {
		a.mu.Lock()
		known := slices.Contains(a.warned, text)
		if !known {
			a.warned = append(a.warned, text)
		}
		a.mu.Unlock()
		if known {
			continue
		}
		if err := a.host.Emit(ctx, []terret.Event{{Data: terret.DiagWarning{Text: text}}}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) closePlugins() error {
	if a.plugins == nil {
		return nil
	}
	return a.plugins.Close()
}

// hooked asks the plugins that have the hook. Without any it costs nothing.
func (t *turnRun) hooked(ctx context.Context, hook string, data map[string]any) (plugin.Verdict, error) {
	if t.a.plugins == nil || !t.a.plugins.Wants(hook) {
		return plugin.Verdict{}, nil
	}
	return t.a.plugins.Hook(ctx, hook, data)
}

// forbidden asks the plugins whether the tool may be used. If not, it reports that.
func (u *use) forbidden(ctx context.Context, pre terret.ToolPre) (why string, is bool, err error) {
	v, err := u.hooked(ctx, plugin.PreTool, map[string]any{"tool": pre.Name, "input": pre.Input, "title": pre.Title})
	if err != nil || !v.Blocked {
		return "", false, err
	}
	if v.Why == "" {
		v.Why = "a plugin forbids it"
	}
	return v.Why, true, u.emit(ctx, pre, terret.PermissionDenied{ToolID: pre.ToolID, Tool: pre.Name, Reason: v.Why})
}

// remark adds what plugins have to say about a tool's result.
func (u *use) remark(ctx context.Context, r *tools.Result) {
	v, err := u.hooked(ctx, plugin.PostTool, map[string]any{"tool": u.call.Name, "input": u.call.Input, "text": r.Text, "error": r.IsError})
	if err != nil {
		return // the turn is over
	}
	if v.Blocked {
		v.Add = v.Why
	}
	if v.Add != "" {
		r.Text += "\n" + v.Add
	}
}

// promptHooked asks the plugins about a prompt. What they add, the model is told too.
func (t *turnRun) promptHooked(ctx context.Context, p terret.Prompt) (blocked bool, add []terret.Block, err error) {
	v, err := t.hooked(ctx, plugin.Prompt, map[string]any{"prompt": terret.TextOf(p.Blocks)})
	switch {
	case err != nil:
		return false, nil, err
	case v.Blocked:
		t.text, t.stopReason = because("The prompt was blocked", v.Why), "blocked"
		return true, nil, t.emit(ctx, hook(promptHook, map[string]string{"blocked_by_plugin": v.Why}))
	case v.Add != "":
		return false, []terret.Block{terret.Text(v.Add)}, nil
	}
	return false, nil, nil
}

// stopHooked asks the plugins whether the turn may end. If not, the model is told why.
func (t *turnRun) stopHooked(ctx context.Context) (may bool, err error) {
	v, err := t.hooked(ctx, plugin.Stop, map[string]any{"text": t.text, "again": t.again})
	if err != nil || !v.Blocked {
		return err == nil, err
	}
	t.again = true
	m := notYet(v.Why, t.id)
	t.a.add(m)
	return false, t.emit(ctx, terret.UserPrompt{Blocks: m.blocks})
}
