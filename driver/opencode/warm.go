package opencode

import (
	"context"

	"github.com/terret-dev/terret"
)

// warm keeps a server running that has loaded a folder.
type warm struct{ lease *lease }

// WarmKey implements terret.Prewarmer.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	if checkSession(r.Session) != nil || checkSettings(r.Settings) != nil {
		return ""
	}
	l, err := d.launchOf(r, r.Settings)
	if err != nil {
		return ""
	}
	return l.key() + " " + r.Session.Cwd
}

// Prewarm implements terret.Prewarmer.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	l, err := d.launchOf(r, r.Settings)
	if err != nil {
		return nil, err
	}
	got, err := d.pool.acquire(ctx, l, r.Owner, d.tempo.start, r.Log)
	if err != nil {
		return nil, err
	}
	if _, err := got.client(r.Session.Cwd).about(ctx); err != nil {
		got.release()
		return nil, err
	}
	return &warm{got}, nil
}

// Alive implements terret.Warm.
func (w *warm) Alive() bool { return w.lease.alive() }

// Memory implements terret.Warm.
func (w *warm) Memory() int64 { return w.lease.proc.Memory() }

// Close implements terret.Warm.
func (w *warm) Close(context.Context) error {
	w.lease.release()
	return nil
}
