package codex

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// WarmKey implements terret.Prewarmer.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	if checkSession(r.Session, r.Settings) != nil {
		return ""
	}
	l := d.launchOf(r, mode(r), r.Settings)
	return l.key() + string(seat.Encode(l.gates))
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
	return &seat.Warm[*process]{Prepared: p, Key: key}, nil
}
