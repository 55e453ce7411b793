package mock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/terret-dev/terret"
)

// Prewarm says how the agent is prewarmed.
type Prewarm struct {
	Delay  Duration      `json:"delay,omitempty"`
	Error  *terret.Error `json:"error,omitempty"` // the error of the start
	Memory int64         `json:"memory,omitempty"`
}

// WarmKey implements terret.Prewarmer: the folder and the model are fixed at the start.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	if d.script(r.Session).Prewarm == nil {
		return ""
	}
	return r.Session.Cwd + "\x00" + r.Session.Model
}

// Prewarm implements terret.Prewarmer.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	p := d.script(r.Session).Prewarm
	switch {
	case p == nil:
		return nil, unscripted("warm start")
	case p.Delay > 0:
		if err := sleep(ctx, time.Duration(p.Delay)); err != nil {
			return nil, err
		}
	}
	if p.Error != nil {
		return nil, p.Error
	}
	return &warm{id: terret.NewID("mock-warm-"), memory: p.Memory}, nil
}

// warm is a prewarmed agent.
type warm struct {
	id     string // for the agent's own session
	memory int64
	closed atomic.Bool
}

func (w *warm) Alive() bool   { return !w.closed.Load() }
func (w *warm) Memory() int64 { return w.memory }

func (w *warm) Close(context.Context) error {
	w.closed.Store(true)
	return nil
}

// takeOver returns the id of a warm agent of ours, and closes any other.
func takeOver(ctx context.Context, w terret.Warm) string {
	if ours, ok := w.(*warm); ok && ours.closed.CompareAndSwap(false, true) {
		return ours.id
	}
	if w != nil {
		_ = w.Close(ctx) // it is of no use
	}
	return ""
}
