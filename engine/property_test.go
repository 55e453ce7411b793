package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run the property test with this seed only")
	seedCount = flag.Int("seeds", 8, "how many seeds the property test runs with")
)

// Whatever is done to sessions, in whatever order and from however many processes,
// each request gets exactly one decision and each turn exactly one end. A failure
// names its seed; -seed runs it again, though the schedule differs.
func TestAnyScheduleIsInOrder(t *testing.T) {
	t.Parallel()
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = nil
		base := uint64(time.Now().UnixNano())
		for i := range *seedCount {
			seeds = append(seeds, base+uint64(i))
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { newChaos(t, seed).run() })
	}
}

type chaos struct {
	t       *testing.T
	rnd     *rand.Rand
	dir     string
	path    string
	files   bool
	script  func(terret.Session) mock.Script
	engines []*engine.Engine
	stores  []Store
	faults  []*faults
	ids     []string
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), path: sqlite.Memory}
	scripts := [][][]mock.Step{}
	for range 3 {
		turns := make([][]mock.Step, 1+c.rnd.IntN(4))
		for i := range turns {
			turns[i] = c.steps(1 + c.rnd.IntN(5))
		}
		scripts = append(scripts, turns)
	}
	c.script = func(s terret.Session) mock.Script { return mock.Script{Turns: scripts[int(s.ID[len(s.ID)-1])%3]} }
	n := 1
	if c.files = c.rnd.IntN(3) == 0; c.files {
		n, c.path = 2, filepath.Join(t.TempDir(), "terret.db")
	}
	for range n {
		c.open()
	}
	for range 3 {
		policy := terret.PolicyAsk
		if c.rnd.IntN(3) == 0 {
			policy = terret.PolicyAutoApprove
		}
		s, err := c.engines[0].Create(t.Context(), terret.Session{Agent: "mock", Cwd: c.dir, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		c.ids = append(c.ids, s.ID)
	}
	return c
}

func (c *chaos) open() {
	store, err := openStore(c.t.Context(), c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	f := &faults{Store: store}
	c.engines = append(c.engines, c.engine(f))
	c.stores, c.faults = append(c.stores, store), append(c.faults, f)
}

func (c *chaos) engine(store terret.Store) *engine.Engine {
	e, err := engine.New(c.t.Context(), engine.Config{
		Store: store, Drivers: []terret.Driver{mock.NewFunc("mock", c.script)}, InterruptGrace: 20 * time.Millisecond,
		IdleAfter: 30 * time.Millisecond, Timeouts: map[terret.Gate]time.Duration{terret.GatePermission: 200 * time.Millisecond, terret.GateQuestion: 200 * time.Millisecond},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

func (c *chaos) steps(n int) []mock.Step {
	var out []mock.Step
	for range n {
		out = append(out, []mock.Step{
			{Text: "some words"},
			ask("make"), ask("ls"), used(1, 1, 1000),
			{Delay: mock.Duration(time.Millisecond)},
			{Question: &terret.Question{ID: "q", Text: "?"}},
			{Plan: "p"},
			{Think: "hm"},
			{Fail: terret.Errorf(terret.CodeModelError, "no")},
			{Crash: true},
			{Hang: true},
			{Deaf: true},
			{Background: []mock.Step{{Text: "bg"}, ask("make")}},
			{Background: []mock.Step{{Text: "bg"}, {Hang: true}}},
		}[c.rnd.IntN(14)])
	}
	return out
}

func (c *chaos) run() {
	var group sync.WaitGroup
	for range 6 {
		actor := rand.New(rand.NewPCG(c.rnd.Uint64(), 2))
		group.Go(func() { c.act(actor) })
	}
	if c.rnd.IntN(2) == 0 { // a session is taken away in mid-work
		id, at := c.ids[0], 5+c.rnd.IntN(30)
		f, n, broken := c.faults[0], 0, []error{terret.ErrFenced, errDisk}[c.rnd.IntN(2)]
		f.failBatches(func(b terret.Batch) error {
			if b.Session != id {
				return nil
			}
			if n++; n == at {
				return broken
			}
			return nil
		})
	}
	if c.rnd.IntN(2) == 0 {
		c.shut() // in the middle of it
	}
	group.Wait()
	c.shut()
	c.check()
}

func (c *chaos) shut() {
	var group sync.WaitGroup
	for _, e := range c.engines {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := e.Close(ctx); err != nil {
				c.t.Error(err)
			}
		})
	}
	group.Wait()
}

// act does things at random. That they fail is no news; that they hang would be.
func (c *chaos) act(r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 12 {
		e, id := c.engines[r.IntN(len(c.engines))], c.ids[r.IntN(len(c.ids))]
		var err error
		switch r.IntN(10) {
		case 0, 1, 2:
			when := []engine.When{engine.WhenReject, engine.WhenQueue, engine.WhenSteer}[r.IntN(3)]
			_, err = e.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("x"), When: when})
		case 3:
			err = e.Interrupt(ctx, id, "")
		case 4:
			err = e.Kill(ctx, id, "")
		case 5:
			err = e.CloseSession(ctx, id, "")
		case 6:
			title := "t"
			err = e.Update(ctx, id, terret.SessionUpdated{Title: &title}, "")
		default:
			err = c.decide(ctx, r, e)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			c.t.Error(err)
		}
		select {
		case <-time.After(time.Duration(r.IntN(3000)) * time.Microsecond): // to spread them out
		case <-ctx.Done():
		}
	}
}

func (c *chaos) decide(ctx context.Context, r *rand.Rand, e *engine.Engine) error {
	page, err := c.stores[0].ListRequests(ctx, terret.RequestFilter{State: terret.RequestOpen})
	if err != nil {
		return err
	}
	for _, q := range page.Items {
		d := terret.Decision{RequestID: q.RequestID, Interrupt: r.IntN(8) == 0}
		switch q.Gate {
		case terret.GateQuestion:
			d.Behavior, d.Answers = terret.BehaviorAnswer, map[string]terret.Choice{"q": {"a"}}
		case terret.GatePlan:
			d.Behavior = terret.BehaviorApprove
		default:
			d.Behavior = []terret.Behavior{terret.BehaviorAllow, terret.BehaviorDeny}[r.IntN(2)]
		}
		if err := e.Decide(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// check lets a last engine put in order what was taken away, drops what is queued,
// and looks at everything.
func (c *chaos) check() {
	for _, f := range c.faults {
		f.failBatches(nil)
	}
	ctx := context.Background()
	e := c.engine(c.stores[0])
	title := "checked"
	for _, id := range c.ids {
		queue, err := e.Queue(ctx, id)
		if err != nil {
			c.t.Error(err)
		}
		for _, turn := range queue {
			_ = e.DropQueued(ctx, id, turn.ID, "") // it may have begun
		}
		if err := e.Update(ctx, id, terret.SessionUpdated{Title: &title}, ""); err != nil {
			c.t.Error(err)
		}
	}
	closing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := e.Close(closing); err != nil {
		c.t.Error(err)
	}
	for _, id := range c.ids {
		checkLog(c.t, c.stores[0], id)
	}
	for _, s := range c.stores {
		if err := s.Close(); err != nil {
			c.t.Error(err)
		}
	}
}
