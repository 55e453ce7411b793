package engine_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// greenhouse is a driver that knows what became of each agent that was started
// before it was needed.
type greenhouse struct {
	*mock.Driver

	mu       sync.Mutex
	plants   []*plant
	times    []time.Time // of starts
	starting int
	most     int                       // at once
	crowd    int                       // that waited at most when another was started
	after    func(ctx context.Context) // each start
}

// plant is a warm agent.
type plant struct {
	terret.Warm
	g                   *greenhouse
	cwd                 string
	withered            bool
	handed, closedTimes int
}

func (p *plant) Alive() bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return !p.withered && p.Warm.Alive()
}

func (p *plant) Close(ctx context.Context) error {
	p.g.mu.Lock()
	p.closedTimes++
	p.g.mu.Unlock()
	return p.Warm.Close(ctx)
}

func (g *greenhouse) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	crowd := len(g.waiting(""))
	g.mu.Lock()
	g.crowd = max(g.crowd, crowd)
	g.starting++
	g.most = max(g.most, g.starting)
	g.times = append(g.times, time.Now())
	g.mu.Unlock()
	w, err := g.Driver.Prewarm(ctx, r)
	if g.after != nil {
		g.after(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting--
	if err != nil {
		return nil, err
	}
	p := &plant{Warm: w, g: g, cwd: r.Session.Cwd}
	g.plants = append(g.plants, p)
	return p, nil
}

func (g *greenhouse) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	if p, ok := r.Warm.(*plant); ok {
		g.mu.Lock()
		p.handed++
		g.mu.Unlock()
		r.Warm = p.Warm
	}
	return g.Driver.Open(ctx, r)
}

// waiting lists the plants that are in the pool, of one folder or all.
func (g *greenhouse) waiting(cwd string) (out []*plant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.plants {
		if p.handed+p.closedTimes == 0 && (cwd == "" || p.cwd == cwd) {
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

// wantNone holds that each agent was handed over or closed, once, when all is over.
func (g *greenhouse) wantNone(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range g.plants {
		if p.handed+p.closedTimes != 1 {
			t.Errorf("agent %d of %d was handed over %d times and closed %d times", i, len(g.plants), p.handed, p.closedTimes)
		}
	}
	if g.most > 1 {
		t.Errorf("%d starts at once", g.most)
	}
}

func poolFixture(t *testing.T, p engine.Pool, warm mock.Prewarm, change ...func(*engine.Config)) (*fixture, *greenhouse) {
	t.Helper()
	g := &greenhouse{Driver: mock.New(mock.Script{Prewarm: &warm})}
	change = append(change, func(c *engine.Config) { c.Pool = p })
	f := openFixture(t, ":memory:", g, change...)
	f.limit = 24 * time.Hour // of a clock that is not real
	return f, g
}

// begin runs the first turn of a new session and reports whether it got a warm agent.
func (f *fixture) begin(cwd string) (id string, warm bool) {
	f.t.Helper()
	id = f.session(func(s *terret.Session) { s.Cwd = cwd })
	f.run(id, "go")
	return id, strings.HasPrefix(string(f.stored(id).NativeID), "mock-warm-")
}

func inBubble(t *testing.T, fn func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, fn)
}

func wantWarm(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s got a warm agent: %v", what, got)
	}
}

func TestPool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f, g := poolFixture(t, engine.Pool{Size: 2}, mock.Prewarm{Delay: mock.Duration(time.Second)})
		first, warm := f.begin(f.dir)
		wantWarm(t, "the first session", warm, false)
		time.Sleep(5 * time.Second)
		if n := len(g.waiting("")); n != 2 {
			t.Fatalf("%d wait", n)
		}
		for range 2 {
			_, warm = f.begin(f.dir)
			wantWarm(t, "the next session", warm, true)
		}
		_, warm = f.begin(f.dir) // nothing is ready: nobody waits for it
		wantWarm(t, "one session too many", warm, false)
		time.Sleep(5 * time.Second)
		if err := f.CloseSession(t.Context(), first, ""); err != nil {
			t.Fatal(err)
		}
		f.run(first, "again") // it has an agent's session of its own
		if n := len(g.waiting("")); n != 2 {
			t.Errorf("%d wait", n)
		}
		f.close()
		g.wantNone(t)
		checkLog(t, f.store, first)
	})
}

func TestPrewarm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f, g := poolFixture(t, engine.Pool{Size: 1}, mock.Prewarm{})
		ctx := t.Context()
		wantKind(t, f.Prewarm(ctx, terret.Session{Agent: "nobody", Cwd: f.dir}), terret.CodeAgentNotFound)
		wantKind(t, f.Prewarm(ctx, terret.Session{Agent: "mock", Cwd: f.dir + "/missing"}), terret.CodeInvalidRequest)
		if err := f.Prewarm(ctx, terret.Session{Agent: "mock", Cwd: f.dir, NativeID: "n"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if g.started() > 0 {
			t.Error("a session that has begun got an agent")
		}
		if err := f.Prewarm(ctx, terret.Session{Agent: "mock", Cwd: f.dir}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, warm := f.begin(f.dir)
		wantWarm(t, "the first session", warm, true)
		f.close()
		g.wantNone(t)
		if err := f.Prewarm(ctx, terret.Session{Agent: "mock", Cwd: f.dir}); !engine.IsClosed(err) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestPrewarmUnsupported(t *testing.T) {
	t.Parallel()
	on := func(c *engine.Config) { c.Pool.Size = 1 }
	f := openFixture(t, ":memory:", newPuppet(), on)
	wantKind(t, f.Prewarm(t.Context(), terret.Session{Agent: "mock", Cwd: f.dir}), terret.CodeUnsupported)
	g := newFixture(t, mock.Script{}, on) // of no kind
	wantKind(t, g.Prewarm(t.Context(), terret.Session{Agent: "mock", Cwd: g.dir}), terret.CodeUnsupported)
	g.begin(g.dir)
}

// A warm agent that has died is not handed over, and another is started in time.
// A start that fails is tried again, later each time, and never fails a turn.
// Warm agents that nobody used for a while are closed, and not started again.
// Of too many kinds, those used last stay.
// An agent that is too large alone is not tried again and again.
// Close does not wait for a start to end.
// An agent that has started when nobody wants it any more is closed.
// What was started for a folder that was trusted is of no use when it no longer is.
// Any schedule, and Close in the middle of it: every agent is handed over or closed,
// once, and nothing is left.
func TestPoolAnySchedule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		g := &greenhouse{Driver: mock.NewFunc("mock", func(s terret.Session) mock.Script {
			w := &mock.Prewarm{Memory: 10}
			if strings.HasSuffix(s.Model, "2") {
				w.Error = terret.Errorf(terret.CodeProcessFailed, "no luck")
			}
			return mock.Script{Prewarm: w}
		})}
		f := openFixture(t, ":memory:", g, func(c *engine.Config) { c.Pool = engine.Pool{Size: 1 + int(seed%3), Keys: 2, MaxMemory: 45} })
		var group sync.WaitGroup
		for w := range uint64(4) {
			rnd := rand.New(rand.NewPCG(seed, w))
			models := []string{"m0", "m1", "m2"}
			pick := func() string { return models[rnd.IntN(3)] }
			group.Go(func() {
				for range 8 {
					s := terret.Session{Agent: "mock", Cwd: f.dir, Model: pick()}
					switch rnd.IntN(4) {
					case 0:
						_ = f.Prewarm(context.Background(), s)
					case 1:
						if all := g.waiting(""); len(all) > 0 {
							g.wither(all[rnd.IntN(len(all))])
						}
					default:
						if made, err := f.Create(context.Background(), s); err == nil {
							_, _ = f.Prompt(context.Background(), engine.PromptRequest{Session: made.ID, Prompt: text("go")})
						}
					}
				}
			})
		}
		if seed%2 == 0 {
			for range 2 {
				group.Go(f.close)
			}
		}
		done := make(chan struct{})
		go func() { group.Wait(); close(done) }()
		receive(t, done)
		f.close()
		g.wantNone(t)
		page, err := f.store.ListSessions(t.Context(), terret.SessionFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Items {
			checkLog(t, f.store, s.ID)
		}
	}
}
