package claude

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/program"
)

// warm is a process that was greeted and waits for its first prompt. Nobody reads it:
// without a prompt the agent says hardly anything.
type warm struct {
	p           *process
	model, mode string
	key         string
}

// WarmKey implements terret.Prewarmer.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	s := r.Session
	if s.OneShot || s.NativeID != "" || r.Settings.MaxCostUSD > 0 || checkSession(s) != nil || checkSettings(r.Settings, s) != nil {
		return ""
	}
	key := d.launchOf(r, d.sessionEnv(r), r.Settings).key() + " " + s.Model + " " + s.PermissionMode
	if r.Settings.KeepRaw {
		key += " raw"
	}
	return key
}

// Prewarm implements terret.Prewarmer.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	key := d.WarmKey(r)
	if key == "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "Claude Code cannot be prewarmed with these options")
	}
	w := &warm{model: r.Session.Model, mode: r.Session.PermissionMode, key: key}
	args, o := native{}.args()
	o.keepRaw = r.Settings.KeepRaw
	p, err := d.start(ctx, d.launchOf(r, d.sessionEnv(r), r.Settings), append(args, modelArgs(w.model, w.mode, 0)...), o, r.Owner, r.Log)
	if err != nil {
		return nil, err
	}
	w.p = p
	p.prime()
	return w, nil
}

// primedSince is the first version that can be primed. Earlier ones would call the
// model's API.
const primedSince = "2.1.325"

// prime makes the process load what its first turn needs, by asking what fills its
// context: it composes the prompt and the tools without calling anybody. That takes a
// fifth off the first turn. Whoever reads the process next drops the answer.
func (p *process) prime() {
	if program.Compare(p.about.Version, primedSince) >= 0 {
		p.send(requestLine(terret.NewID(terret.PrefixControl), map[string]string{"subtype": "get_context_usage", "detail": "summary"}))
	}
}

// Alive implements terret.Warm.
func (w *warm) Alive() bool {
	select {
	case <-w.p.proc.Done():
		return false
	default:
		return true
	}
}

// Memory implements terret.Warm.
func (w *warm) Memory() int64 { return w.p.proc.Memory() }

// Close implements terret.Warm.
func (w *warm) Close(ctx context.Context) error {
	w.p.stop(ctx)
	return nil
}

// discard closes it, if there is one.
func (w *warm) discard(ctx context.Context) {
	if w != nil {
		_ = w.Close(ctx)
	}
}

// adopt makes a warm process the agent's, if it fits.
func (a *agent) adopt(ctx context.Context, w *warm) bool {
	if w == nil {
		return false
	}
	if !w.Alive() || w.key != a.d.WarmKey(a.req) {
		w.discard(ctx)
		return false
	}
	return a.take(ctx, w.p, w.model, w.mode) == nil
}
