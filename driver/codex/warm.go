package codex

import (
	"context"

	"github.com/terret-dev/terret"
)

// warm is a process that was greeted and waits for a thread.
type warm struct {
	p   *process
	key string
}

// WarmKey implements terret.Prewarmer.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	if checkSession(r.Session, r.Settings) != nil {
		return ""
	}
	l := d.launchOf(r, mode(r), r.Settings)
	return l.key() + string(encode(l.gates))
}

// mode is the permission mode of the turn that the agent is opened for.
func mode(r terret.OpenRequest) string {
	if m := r.Settings.PermissionMode; m != "" {
		return m
	}
	return r.Session.PermissionMode
}

// Prewarm implements terret.Prewarmer.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	key := d.WarmKey(r)
	if key == "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "Codex cannot be prewarmed with these options")
	}
	p, err := d.start(ctx, d.launchOf(r, mode(r), r.Settings), r.Owner, r.Log)
	if err != nil {
		return nil, err
	}
	return &warm{p: p, key: key}, nil
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

// discard closes it, if it is there.
func (w *warm) discard(ctx context.Context) {
	if w != nil {
		_ = w.Close(ctx)
	}
}

// adopt makes a warm process the agent's, if it fits. a.switching must be held.
func (a *agent) adopt(ctx context.Context, w *warm) bool {
	if w == nil {
		return false
	}
	if !w.Alive() || w.key != a.d.WarmKey(a.req) {
		w.discard(ctx)
		return false
	}
	return a.take(ctx, w.p) == nil
}
