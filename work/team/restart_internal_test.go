package team

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restart  Restart
		failures int
		pause    time.Duration
		again    bool
	}{
		{Restart{}, 1, time.Second, true},
		{Restart{}, 3, 4 * time.Second, true},
		{Restart{}, 4, 0, false},
		{Restart{Limit: 1}, 2, 0, false},
		{Restart{Limit: 100}, 90, 30 * time.Second, true},
		{Restart{Limit: 5, BackoffMS: 10}, 2, 20 * time.Millisecond, true},
		{Restart{BackoffMS: 60_000}, 1, 30 * time.Second, true},
		{Restart{Policy: RestartNever}, 1, 0, false},
	} {
		if pause, again := c.restart.again(c.failures); pause != c.pause || again != c.again {
			t.Errorf("%+v after %d: %s %v", c.restart, c.failures, pause, again)
		}
	}
}
