package httpapi

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

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
