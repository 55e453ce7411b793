package engine

import (
	"context"

	"github.com/terret-dev/terret"
)

// Prewarm starts an agent in the background for a session like s, which need not exist
// yet. It returns at once. A session that has begun needs none.
func (e *Engine) Prewarm(ctx context.Context, s terret.Session) error {
	s, err := e.complete(s)
	if err != nil || s.NativeID != "" {
		return err
	}
	d, err := e.driver(s.Agent)
	if err != nil {
		return err
	}
	w, ok := d.(terret.Prewarmer)
	if !ok {
		return terret.Errorf(terret.CodeUnsupported, "%s cannot be prewarmed", s.Agent)
	}
	if e.pool.Off() {
		return terret.Errorf(terret.CodeUnsupported, "prewarming is off; set pool.size to turn it on")
	}
	if e.isClosed() {
		return refused()
	}
	in, err := e.settingsFor(ctx, s, terret.TurnOptions{})
	if err != nil {
		return err
	}
	if !e.pool.Touch(w, e.openRequest(s, in.Settings, e.log)) {
		return terret.Errorf(terret.CodeUnsupported, "%s cannot be prewarmed with these options", s.Agent)
	}
	return nil
}
