package opencode

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

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

// Prewarm implements terret.Prewarmer. The server has loaded the folder when it returns.
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
	return &seat.Warm[*lease]{Prepared: got, Key: d.WarmKey(r)}, nil
}
