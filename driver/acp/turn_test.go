package acp

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// TestWatch holds that a turn is stopped when the agent says nothing, but not while a
// tool runs or somebody is asked.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &agent{d: New(Profile{Argv: []string{"x"}, Idle: time.Minute}, Config{})}
		turn := newTurn(a.d.p, nil, terret.Settings{}, "/")
		var told, gaveUp atomic.Int64
		began := time.Now()
		note := func(at *atomic.Int64) func() { return func() { at.Store(int64(time.Since(began))) } }
		w := a.watch(turn, note(&told), note(&gaveUp))
		defer w.stop()
		change := func(f func()) {
			a.telling.Lock()
			defer a.telling.Unlock()
			f()
			turn.heard = time.Now()
		}
		time.Sleep(50 * time.Second)
		change(func() { turn.tools = []*tool{{told: true}} })
		time.Sleep(time.Hour)
		change(func() { turn.tools[0].done, turn.open = true, 1 })
		time.Sleep(time.Hour)
		change(func() { turn.open = 0 })
		last := time.Since(began)
		time.Sleep(59 * time.Second)
		if after := told.Load(); after != 0 {
			t.Fatalf("told to stop after %v", time.Duration(after))
		}
		time.Sleep(time.Hour)
		after, end := time.Duration(told.Load()), time.Duration(gaveUp.Load())
		if after < last+time.Minute || after > last+2*time.Minute || end != after+stopGrace {
			t.Errorf("told to stop after %v, given up after %v, last heard of after %v", after, end, last)
		}
	})
}
