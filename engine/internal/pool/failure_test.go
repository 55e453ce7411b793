package pool_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/pool"
)

// A warm agent that has died is not handed over, and another is started in time.
func TestDeadAgent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{})
		f.Touch(f.greenhouse, request("a"))
		synctest.Wait()
		f.wither(f.waiting("a")[0])
		f.wantBegin(t, "a session after its death", "a", false)
		time.Sleep(6 * time.Second)
		f.wither(f.waiting("a")[0]) // which nobody asks for
		time.Sleep(time.Minute)
		f.wantWaiting(t, "a", 1)
		f.wantBegin(t, "a session after a while", "a", true)
		f.end(t)
		if n := strings.Count(f.operator.String(), "did not close cleanly"); n != 2 {
			t.Errorf("the operator was told %d times", n)
		}
	})
}

// Of several that wait, the first that lives is handed over.
func TestFirstThatLives(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 3}, &greenhouse{})
		f.Touch(f.greenhouse, request("a"))
		synctest.Wait()
		all := f.waiting("a")
		f.wither(all[0])
		f.wantBegin(t, "a session", "a", true)
		f.end(t)
		if all[1].handed != 1 {
			t.Error("another one was handed over")
		}
	})
}

// A start that fails is tried again, later each time.
func TestStartFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{err: terret.Errorf(terret.CodeNotAuthenticated, "sign in")})
		began := time.Now()
		f.Touch(f.greenhouse, request("a"))
		for range 5 {
			f.Touch(f.greenhouse, request("a")) // does not make it worse
		}
		time.Sleep(time.Hour)
		want := seconds(0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835, 2435, 3035)
		if diff := cmp.Diff(want, f.startsAfter(began)); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		f.end(t)
		if n := strings.Count(f.operator.String(), "sign in"); n != len(want) {
			t.Errorf("the operator was told %d times", n)
		}
	})
}

// Agents that die while they wait are replaced, later each time.
func TestAgentsDie(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{sick: true})
		began := time.Now()
		f.Touch(f.greenhouse, request("a"))
		time.Sleep(time.Minute)
		if diff := cmp.Diff(seconds(0, 5, 15, 35), f.startsAfter(began)); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		f.end(t)
	})
}

// An agent that turns out to be dead while the pool is closed is closed by who claimed it.
func TestDeadAgentWhileClosing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := &greenhouse{}
		f := newFixture(pool.Config{Size: 1}, g)
		f.Touch(g, request("a"))
		time.Sleep(time.Second) // it has been looked at
		f.wither(f.waiting("a")[0])
		var group sync.WaitGroup
		var once sync.Once
		g.alive = func() {
			once.Do(func() { group.Go(func() { f.Close(context.Background()) }) })
			time.Sleep(time.Second)
		}
		f.wantBegin(t, "a session", "a", false)
		group.Wait()
		f.end(t)
	})
}

// An agent that was handed over makes up for failures before.
func TestStartRecovers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{err: errors.New("no luck")})
		began := time.Now()
		f.Touch(f.greenhouse, request("a"))
		time.Sleep(34 * time.Second)
		f.fail(nil) // for the one at 35
		time.Sleep(26 * time.Second)
		f.wantBegin(t, "a session", "a", true) // at 60
		f.fail(errors.New("no luck"))
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff(seconds(0, 5, 15, 35, 62, 67), f.startsAfter(began)); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		f.end(t)
	})
}

// A start that hangs is given up.
func TestStartHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{delay: time.Hour})
		began := time.Now()
		f.Touch(f.greenhouse, request("a"))
		time.Sleep(70 * time.Second)
		if diff := cmp.Diff(seconds(0, 65), f.startsAfter(began)); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		f.end(t)
	})
}

// An agent that has started when nobody wants it any more is closed.
func TestStartedTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{after: func(ctx context.Context) { <-ctx.Done() }})
		f.Touch(f.greenhouse, request("a"))
		synctest.Wait()
		f.end(t)
		if f.started() != 1 {
			t.Errorf("%d starts", f.started())
		}
	})
}
