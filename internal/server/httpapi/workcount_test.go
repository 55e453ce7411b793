package httpapi

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// TestWorkCountAtOnce has many prompts count at the same time, before any of them works:
// no more than the limit are let in.
func TestWorkCountAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c workCount
		var in, counting atomic.Int64
		counted := make(chan struct{})
		count := func() (int, error) {
			if counting.Add(1) > 10 {
				return 3, nil
			}
			<-counted
			return 0, nil
		}
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if c.add(3, count) == nil {
					in.Add(1)
				}
			})
		}
		synctest.Wait()
		close(counted)
		group.Wait()
		if in.Load() != 3 {
			t.Errorf("%d prompts were let in, the limit is 3", in.Load())
		}
	})
}

// TestWorkCount holds that prompts need not count what works, and that nobody is refused,
// or let in for long, because of an old count.
func TestWorkCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c workCount
		working, counted := 0, 0
		add := func(wantCounted int, wantErr bool) {
			t.Helper()
			err := c.add(3, func() (int, error) { counted++; return working, nil })
			if counted != wantCounted || (err != nil) != wantErr {
				t.Errorf("counted %d times, want %d: %v", counted, wantCounted, err)
			}
			if err != nil && terret.AsError(err).Code != terret.CodeRateLimited {
				t.Error(err)
			}
		}
		add(1, false) // nothing is known yet
		add(1, false)
		add(1, false)
		working = 1   // two are done
		add(2, false) // it was not refused for the old count
		working = 3   // of which another process works on one
		add(2, false)
		add(3, true)
		add(4, true)
		working = 0
		add(5, false)
		working = 3 // all of other processes
		time.Sleep(time.Second)
		add(6, true)
	})
}
