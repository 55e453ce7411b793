package remote

import (
	"context"
	"sync"

	"github.com/terret-dev/terret"
)

// Watcher notices that other processes write. Its zero value is not usable; see
// [NewWatcher].
type Watcher struct {
	Poked chan struct{} // receives after Poke

	mu   sync.Mutex
	look bool               // there may be something to read, whoever wrote it
	stop context.CancelFunc // ends the wait for news; nil while nobody waits
}

// NewWatcher makes a watcher.
func NewWatcher() *Watcher { return &Watcher{Poked: make(chan struct{}, 1)} }

// Poke says that there is something to watch for.
func (w *Watcher) Poke() {
	select {
	case w.Poked <- struct{}{}:
	default: // it has yet to look
	}
}

// LookAgain makes the watcher look at what is already there.
func (w *Watcher) LookAgain() {
	w.mu.Lock()
	w.look = true
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.Poke()
}

// Wait waits until others have written something, or somebody asks to look anyway.
func (w *Watcher) Wait(ctx context.Context, s terret.Store, since int64) (version int64, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w.mu.Lock()
	if w.stop = stop; w.look {
		stop()
	}
	w.mu.Unlock()
	version, err = s.WaitForeign(ctx, since)
	w.mu.Lock()
	defer w.mu.Unlock()
	look := w.look
	w.look, w.stop = false, nil
	if look && err != nil { // LookAgain ended the wait
		return since, nil
	}
	return version, err
}
