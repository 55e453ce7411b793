package pool_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// greenhouse is a driver that knows what became of each agent that it started.
type greenhouse struct {
	terret.Driver // which nobody opens here

	delay  time.Duration // of a start
	memory int64         // of an agent
	key    func(terret.OpenRequest) string
	after  func(ctx context.Context) // each start
	sick   bool                      // agents die as soon as they have started
	close  time.Duration             // that closing takes
	alive  func()                    // called when an agent is asked whether it is

	mu       sync.Mutex
	err      error // of a start
	plants   []*plant
	requests []terret.OpenRequest
	times    []time.Time // of starts
	starting int
	most     int // at once
	crowd    int // that waited at most when another was started
}

// plant is a warm agent.
type plant struct {
	g                   *greenhouse
	dir                 string
	withered            bool
	handed, closedTimes int
}

func (p *plant) Alive() bool {
	if p.g.alive != nil {
		p.g.alive()
	}
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return !p.withered
}

func (p *plant) Memory() int64 { return p.g.memory }

func (p *plant) Close(context.Context) error {
	time.Sleep(p.g.close)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.closedTimes++
	if p.withered {
		return errors.New("it was dead already")
	}
	return nil
}

func (g *greenhouse) WarmKey(r terret.OpenRequest) string {
	if g.key != nil {
		return g.key(r)
	}
	return r.Session.Cwd
}

func (g *greenhouse) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	crowd := len(g.waiting(""))
	g.mu.Lock()
	g.crowd = max(g.crowd, crowd)
	g.starting++
	g.most = max(g.most, g.starting)
	g.times = append(g.times, time.Now())
	g.requests = append(g.requests, r)
	err := g.err
	g.mu.Unlock()
	if g.delay > 0 {
		select {
		case <-time.After(g.delay):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if g.after != nil {
		g.after(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting--
	if err != nil {
		return nil, err
	}
	p := &plant{g: g, dir: r.Session.Cwd, withered: g.sick}
	g.plants = append(g.plants, p)
	return p, nil
}

// waiting lists the plants that are in the pool, of one folder or all.
func (g *greenhouse) waiting(dir string) (out []*plant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.plants {
		if p.handed+p.closedTimes == 0 && (dir == "" || p.dir == dir) {
			out = append(out, p)
		}
	}
	return out
}

// started is how many there have been.
func (g *greenhouse) started() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.plants)
}

func (g *greenhouse) wither(p *plant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.withered = true
}

// fail makes starts fail from now on, or no longer.
func (g *greenhouse) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

// startsAfter lists when starts began.
func (g *greenhouse) startsAfter(began time.Time) (out []time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.times {
		out = append(out, at.Sub(began))
	}
	return out
}

// fixture is a pool with one driver.
type fixture struct {
	*pool.Pool
	*greenhouse
	operator *strings.Builder
}

func newFixture(cfg pool.Config, g *greenhouse) *fixture {
	operator := &strings.Builder{}
	cfg.CloseGrace = time.Second
	cfg.Log = slog.New(slog.NewTextHandler(operator, nil))
	return &fixture{Pool: pool.New(cfg), greenhouse: g, operator: operator}
}

func request(dir string) terret.OpenRequest {
	return terret.OpenRequest{Session: terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: dir}}
}

// begin claims an agent for a new session and reports whether there was one.
func (f *fixture) begin(dir string) bool {
	w := f.Claim(f.greenhouse, request(dir))
	if w == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.(*plant).handed++
	return true
}

func (f *fixture) wantBegin(t *testing.T, what, dir string, want bool) {
	t.Helper()
	if got := f.begin(dir); got != want {
		t.Errorf("%s got a warm agent: %v", what, got)
	}
}

func (f *fixture) wantWaiting(t *testing.T, dir string, want int) {
	t.Helper()
	if n := len(f.waiting(dir)); n != want {
		t.Errorf("%d wait in %q, want %d", n, dir, want)
	}
}

// end closes the pool, after which each agent was handed over or closed, once.
func (f *fixture) end(t *testing.T) {
	t.Helper()
	f.Close(context.Background())
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.plants {
		if p.handed+p.closedTimes != 1 {
			t.Errorf("agent %d of %d was handed over %d times and closed %d times", i, len(f.plants), p.handed, p.closedTimes)
		}
	}
	if f.most > 1 {
		t.Errorf("%d starts at once", f.most)
	}
}

func inBubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, fn)
}
