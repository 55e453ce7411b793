package httpapi

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// oneNode is a fleet of which nothing is asked.
type oneNode struct {
	terret.Store
	terret.Fleet
}

func (oneNode) Join(context.Context, terret.Node) error      { return nil }
func (oneNode) Nodes(context.Context) ([]terret.Node, error) { return nil, nil }
func (oneNode) LastPos(context.Context) (int64, error)       { return 0, nil }

// TestDrainHold holds that each hold replaces the one before, that draining ends it, and that a
// node that was forgotten gives its turns time to end.
func TestDrainHold(t *testing.T) {
	t.Parallel()
	type call struct {
		after, wait int // seconds
		hold        bool
	}
	for name, c := range map[string]struct {
		calls []call
		at    time.Duration // when it leaves
		want  time.Duration // how long its turns have
	}{
		"forgotten": {[]call{{0, 60, true}}, time.Minute, time.Minute},
		"extended":  {[]call{{0, 60, true}, {30, 60, true}}, 90 * time.Second, time.Minute},
		"shortened": {[]call{{0, 600, true}, {30, 60, true}}, 90 * time.Second, time.Minute},
		"drained":   {[]call{{0, 60, true}, {30, 300, false}}, 30 * time.Second, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				node := oneNode{}
				s := &Server{store: node, fleet: node, log: slog.New(slog.DiscardHandler), leave: make(chan time.Duration, 1)}
				s.life, s.end = context.WithCancel(t.Context())
				began, ctx := time.Now(), access.With(t.Context(), access.Identity{Scope: access.Admin})
				for _, d := range c.calls {
					time.Sleep(time.Duration(d.after) * time.Second)
					if _, err := s.drainNode(ctx, &struct{ Body *drainRequest }{&drainRequest{d.wait, d.hold}}); err != nil {
						t.Fatal(err)
					}
				}
				if got, at := <-s.leave, time.Since(began); got != c.want || at != c.at {
					t.Errorf("it leaves after %v with %v, want %v with %v", at, got, c.at, c.want)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(s.leave) > 0 {
					t.Errorf("it leaves again, with %v", <-s.leave)
				}
				s.end()
				s.background.Wait()
			})
		})
	}
}
