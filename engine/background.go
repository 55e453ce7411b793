package engine

import "sync/atomic"

// spareWorkers is how many goroutines wait for the next background work.
const spareWorkers = 8

// background keeps a few goroutines for the next work. Each turn starts two, and a new one
// grows its stack twice: that took 2 % of what a server spends on a short turn.
type background struct {
	next  chan func()
	spare atomic.Int64 // goroutines that wait for next
}

// goBackground runs fn in a goroutine that Close waits for. It refuses once the engine's
// life is over.
func (e *Engine) goBackground(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.life.Err() != nil {
		return false
	}
	select {
	case e.background.next <- fn: // somebody waits for it
	default:
		e.work.Go(func() {
			fn()
			e.moreWork()
		})
	}
	return true
}

// moreWork does background work until the engine's life is over, unless enough others wait
// for it.
func (e *Engine) moreWork() {
	b := &e.background
	for b.stay() {
		select {
		case fn := <-b.next:
			b.spare.Add(-1)
			fn()
		case <-e.life.Done():
			return
		}
	}
}

// stay counts a goroutine as waiting, unless enough do.
func (b *background) stay() bool {
	for {
		n := b.spare.Load()
		if n >= spareWorkers {
			return false
		}
		if b.spare.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
