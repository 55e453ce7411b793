package claude

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

var seed = flag.Uint64("seed", 0, "of the random schedules; 0 chooses one")

// contextUntil ends when something is so.
func contextUntil(t *testing.T, ok func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !ok() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	return ctx, cancel
}

// TestChaos does everything at once and closes the agent at any moment. It must come
// to an end, with nothing left and no turn that ended twice.
func TestChaos(t *testing.T) {
	t.Parallel()
	first := *seed
	runs := 1
	if first == 0 {
		first, runs = rand.Uint64(), 12
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
	prompts := []string{"x", "ask ls", "hang", "die", "kill", "withdraw", "garbage", "leave", "deaf", "long", "clear", "sleep", "plan", "background"}
	var work sync.WaitGroup
	prompt := func(p terret.Prompt, in terret.Settings) { // one at a time, as the engine does
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := ends(s.host.said())
		if a.Prompt(ctx, "t", p, in) != nil {
			return
		}
		for range 200 {
			if ends(s.host.said()) > before {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	plan := make([]terret.Prompt, 1+r.IntN(4))
	settings := make([]terret.Settings, len(plan))
	for i := range plan {
		plan[i] = words(prompts[r.IntN(len(prompts))])
		switch r.IntN(4) {
		case 0:
			settings[i].MaxTurns = 1 + r.IntN(2)
		case 1:
			settings[i].PermissionMode = "plan"
		}
	}
	work.Go(func() {
		for i, p := range plan {
			prompt(p, settings[i])
		}
	})
	for range r.IntN(6) {
		verb, wait := r.IntN(7), time.Duration(r.IntN(60))*time.Millisecond
		work.Go(func() {
			time.Sleep(wait)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			disturb(ctx, a, verb)
		})
	}
	time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
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
