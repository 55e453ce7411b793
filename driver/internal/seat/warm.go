package seat

import (
	"context"

	"github.com/terret-dev/terret"
)

// Prepared is what was started before anybody wanted it: a process, or a share of one.
type Prepared interface {
	Alive() bool
	Memory() int64
	Discard(context.Context)
}

// Warm implements [terret.Warm].
type Warm[P Prepared] struct {
	Prepared P
	// Key is that of the request that it was started for. See terret.Prewarmer.
	Key string
}

// Alive implements terret.Warm.
func (w *Warm[P]) Alive() bool { return w.Prepared.Alive() }

// Memory implements terret.Warm.
func (w *Warm[P]) Memory() int64 { return w.Prepared.Memory() }

// Close implements terret.Warm.
func (w *Warm[P]) Close(ctx context.Context) error {
	w.Prepared.Discard(ctx)
	return nil
}

// Adopt returns what was prepared for a request, if it was prepared by this driver for
// that key and lives. Otherwise it is closed. An empty key fits nothing.
func Adopt[P Prepared](ctx context.Context, w terret.Warm, key string) (p P, ok bool) {
	if w == nil {
		return p, false
	}
	own, ok := w.(*Warm[P])
	if ok && key != "" && own.Key == key && own.Alive() {
		return own.Prepared, true
	}
	_ = w.Close(ctx)
	return p, false
}
