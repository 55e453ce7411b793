package claude

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

var seed = flag.Uint64("seed", 0, "of the random schedules; 0 chooses one")

// TestChaos does everything at once and closes the agent at any moment. It must come
// to an end, with nothing left and no turn that ended twice.
func TestChaos(t *testing.T) {
	t.Parallel()
	first := *seed
	runs := 1
	if first == 0 {
		first, runs = rand.Uint64(), 20
		if testing.Short() {
			runs = 4
		}
	}
	for i := range runs {
		n := first + uint64(i)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			chaos(t, rand.New(rand.NewPCG(n, n))) //nolint:gosec // it must be repeatable
		})
	}
}

func chaos(t *testing.T, r *rand.Rand) {
	t.Helper()
	s := newSetup(t, "talk")
	s.host.decide = func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
		if q.Key == "r1" {
			<-ctx.Done()
			return terret.Decision{}, context.Cause(ctx)
		}
		return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorAllow}, nil
	}
	var a terret.Agent
	oneShot := r.IntN(4) == 0
	if oneShot {
		a = s.openOneShot()
	} else {
		a = s.open()
	}
	plan := make([]terret.Prompt, 1+r.IntN(4))
	settings := make([]terret.Settings, len(plan))
	for i := range plan {
		plan[i] = words(chaosPrompts[r.IntN(len(chaosPrompts))])
		switch r.IntN(4) {
		case 0:
			settings[i].MaxTurns = 1 + r.IntN(2)
		case 1:
			settings[i].PermissionMode = "plan"
		}
	}
	var work sync.WaitGroup
	c := chaosClock{t: t, h: s.host}
	prompt := func(p terret.Prompt, in terret.Settings) { // one at a time, as the engine does
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := ends(s.host.said())
		if a.Prompt(ctx, "t", p, in) != nil {
			s.host.note(func() { c.refused++ })
			return
		}
		c.wait(func() bool { return ends(s.host.events) > before })
	}
	work.Go(func() {
		for i, p := range plan {
			prompt(p, settings[i])
		}
	})
	least := leastHappens(plan)
	for range r.IntN(6) {
		verb, after := r.IntN(7), r.IntN(least+1)
		work.Go(func() {
			c.until(after)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			disturb(ctx, a, verb)
		})
	}
	c.until(r.IntN(least + 1))
	s.host.note(func() { c.closing = true })
	switch r.IntN(3) {
	case 0:
		s.close(a)
	case 1:
		_ = a.Close(canceled())
	case 2:
		if err := a.(terret.Killer).Kill(t.Context()); err != nil {
			t.Error(err)
		}
	}
	said := len(s.host.said())
	work.Wait()
	s.close(a)
	events := s.host.said()
	if len(events) > said {
		for _, ev := range events[said:] {
			switch ev.Data.(type) {
			case terret.PermissionDecision, terret.HookDecision, terret.PlanDecision:
			default:
				t.Errorf("%s after the end", ev.Kind())
			}
		}
	}
	if n, m := count[terret.ProcessSpawn](events), count[terret.ProcessExit](events); n != m {
		t.Errorf("%d processes began and %d ended:\n%s", n, m, dump(events))
	}
}

// chaosPrompts are what the fake is told, of which chaosHangs end no turn by themselves
// or let the next one begin none.
var (
	chaosPrompts = []string{"x", "ask ls", "hang", "die", "kill", "withdraw", "garbage", "leave", "deaf", "long", "clear", "sleep", "plan", "background"}
	chaosHangs   = []string{"ask ls", "hang", "deaf", "sleep"}
)

// leastHappens is how much happens at least: the first prompt begins, and each one up to
// one that hangs says something and comes to an end, or is refused, which counts twice.
func leastHappens(plan []terret.Prompt) int {
	hangs := slices.IndexFunc(plan, func(p terret.Prompt) bool { return slices.Contains(chaosHangs, terret.TextOf(p.Blocks)) })
	if hangs < 0 {
		hangs = len(plan)
	}
	return 1 + 2*hangs
}

// chaosClock counts what happens instead of time. Its fields are guarded by h.mu.
type chaosClock struct {
	t       *testing.T
	h       *host
	refused int // prompts
	closing bool
}

// until waits until so much has happened: events, and prompts that were refused.
func (c *chaosClock) until(n int) { c.wait(func() bool { return len(c.h.events)+2*c.refused >= n }) }

// wait waits until something is so, or the agent is being closed.
func (c *chaosClock) wait(ok func() bool) {
	timeout := time.After(guardtest.Patience)
	for {
		c.h.mu.Lock()
		done, changed := c.closing || ok(), c.h.changed
		c.h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			c.t.Errorf("nothing happens:\n%s", dump(c.h.said()))
			return
		}
	}
}

func disturb(ctx context.Context, a terret.Agent, verb int) {
	full, ok := a.(*agent)
	switch {
	case verb == 0 || !ok:
		_ = a.Interrupt(ctx, "t")
	case verb == 1:
		_ = full.Steer(ctx, "t", words("also this"))
	case verb == 2:
		_ = full.SetModel(ctx, "haiku")
	case verb == 3:
		_ = full.SetPermissionMode(ctx, "acceptEdits")
	case verb == 4:
		_, _ = full.Context(ctx)
	case verb == 5:
		_, _ = full.Models(ctx)
	default:
		_ = full.Rename(ctx, "title")
	}
}
