package engine

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestBackground holds that all work is done, however much comes at once; that few
// goroutines wait for more, and do it; and that none is left at the end.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{background: background{next: make(chan func())}}
		e.life, e.end = context.WithCancelCause(t.Context())
		spare := func(want int64) {
			t.Helper()
			synctest.Wait()
			if n := e.background.spare.Load(); n != want {
				t.Errorf("%d goroutines wait, want %d", n, want)
			}
		}
		work := func(fn func()) {
			t.Helper()
			if !e.goBackground(fn) {
				t.Error("work was refused")
			}
		}
		const many = 3 * spareWorkers
		hold, done := make(chan struct{}), make(chan int, 2*many+1)
		for i := range many {
			work(func() { <-hold; done <- i })
		}
		spare(0)
		close(hold)
		spare(spareWorkers)
		next := make(chan struct{})
		work(func() { <-next; done <- many })
		spare(spareWorkers - 1)
		close(next)
		spare(spareWorkers)
		for i := range many {
			work(func() { done <- many + 1 + i }) // some wait, some do not
		}
		spare(spareWorkers)
		e.end(nil)
		e.work.Wait()
		if e.goBackground(func() {}) {
			t.Error("work begins after the end")
		}
		close(done)
		seen := map[int]bool{}
		for i := range done {
			seen[i] = true
		}
		if len(seen) != 2*many+1 {
			t.Errorf("%d of %d were done", len(seen), 2*many+1)
		}
	})
}
