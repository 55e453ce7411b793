package pool_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/pool"
)

func seconds(of ...int) (out []time.Duration) {
	for _, s := range of {
		out = append(out, time.Duration(s)*time.Second)
	}
	return out
}

func TestPool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 2}, &greenhouse{delay: time.Second})
		f.wantBegin(t, "the first session", "a", false)
		time.Sleep(5 * time.Second)
		f.wantWaiting(t, "a", 2)
		for range 2 {
			f.wantBegin(t, "the next session", "a", true)
		}
		f.wantBegin(t, "one session too many", "a", false) // nobody waits for a start
		f.wantBegin(t, "another kind", "b", false)
		time.Sleep(10 * time.Second)
		f.wantWaiting(t, "a", 2)
		resumed := request("a")
		resumed.Session.NativeID = "n"
		if f.Claim(f.greenhouse, resumed) != nil {
			t.Error("a session that is resumed got an agent")
		}
		f.end(t)
		f.wantBegin(t, "a session after the end", "a", false)
		if f.Touch(f.greenhouse, request("a")) {
			t.Error("it was prewarmed after the end")
		}
	})
}

// While a session begins, nothing is started; claims do not prolong that.
func TestQuietAfterAClaim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{delay: time.Second})
		began := time.Now()
		if !f.Touch(f.greenhouse, request("a")) {
			t.Error("not prewarmed")
		}
		time.Sleep(10 * time.Second)
		f.wantBegin(t, "the first session", "a", true) // at 10
		time.Sleep(time.Second)
		f.Touch(f.greenhouse, request("b"))              // at 11: waits as well
		f.wantBegin(t, "the second session", "a", false) // at 11
		time.Sleep(500 * time.Millisecond)
		f.wantBegin(t, "the third session", "a", false) // at 11.5
		time.Sleep(10 * time.Second)
		f.wantBegin(t, "another session", "b", true) // at 21.5
		time.Sleep(10 * time.Second)
		want := append(seconds(0, 12, 13), 23500*time.Millisecond)
		if diff := cmp.Diff(want, f.startsAfter(began)); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		f.end(t)
	})
}

func TestOff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{}, &greenhouse{})
		f.wantBegin(t, "a session", "a", false)
		if f.Touch(f.greenhouse, request("a")) || !f.Off() {
			t.Error("it is not off")
		}
		time.Sleep(time.Hour)
		if f.started() > 0 {
			t.Error("agents were started all the same")
		}
		f.end(t)
	})
}

// cold is a driver that cannot start agents before they are needed.
type cold struct{ terret.Driver }

func TestUnsupported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{key: func(terret.OpenRequest) string { return "" }})
		if f.Touch(f.greenhouse, request("a")) {
			t.Error("a session of no kind was prewarmed")
		}
		f.wantBegin(t, "a session of no kind", "a", false)
		if f.Claim(cold{}, request("a")) != nil {
			t.Error("a driver without a pool got an agent")
		}
		time.Sleep(time.Hour)
		if f.started() > 0 {
			t.Error("agents were started all the same")
		}
		f.end(t)
	})
}

// What is the session's own is no part of what an agent is started with.
func TestTemplate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1, Trusted: func(dir string) bool { return dir == "a" }}, &greenhouse{})
		other := f.Claim(f.greenhouse, request("b"))
		r := request("a")
		r.Session.Title, r.Session.Turn, r.Session.Model = "mine", "trn_1", "m"
		r.Settings.Effort = "high"
		r.Cursor, r.Warm, r.Owner, r.Env = []byte("c"), other, "w", []string{"A=1"}
		var own strings.Builder
		r.Log = slog.New(slog.NewTextHandler(&own, nil))
		f.Touch(f.greenhouse, r)
		time.Sleep(time.Minute)
		f.end(t)
		i := slices.IndexFunc(f.requests, func(r terret.OpenRequest) bool { return r.Session.Cwd == "a" })
		if i < 0 {
			t.Fatal("nothing was started")
		}
		got := f.requests[i]
		got.Log.Info("hello")
		if own.Len() > 0 || !strings.Contains(f.operator.String(), "hello") {
			t.Error("it logs in the name of the session")
		}
		got.Log = nil
		want := terret.OpenRequest{
			Session:  terret.Session{Agent: "mock", Cwd: "a", Model: "m"},
			Settings: terret.Settings{Effort: "high"}, Trusted: true, Owner: "w", Env: []string{"A=1"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	})
}

// Everybody who closes the pool waits until the agents are gone.
func TestCloseWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 2}, &greenhouse{close: time.Second})
		f.Touch(f.greenhouse, request("a"))
		synctest.Wait()
		f.wantWaiting(t, "a", 2)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				f.Close(context.Background())
				f.wantWaiting(t, "a", 0)
			})
		}
		group.Wait()
		f.end(t)
	})
}

// Agents that nobody used for a while are closed, and not started again.
func TestIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 2, IdleAfter: 10 * time.Minute}, &greenhouse{})
		f.begin("a")
		time.Sleep(9 * time.Minute)
		f.wantWaiting(t, "a", 2)
		f.wantBegin(t, "a session in time", "a", true)
		time.Sleep(9 * time.Minute)
		f.wantWaiting(t, "a", 2)
		time.Sleep(2 * time.Minute)
		f.wantWaiting(t, "a", 0)
		time.Sleep(time.Hour)
		if n := f.started(); n != 3 {
			t.Errorf("%d starts, want 3", n)
		}
		f.end(t)
	})
}

// Of too many kinds, those used last stay.
func TestKeys(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1, Keys: 2}, &greenhouse{})
		for _, dir := range []string{"a", "b", "a", "c"} {
			f.begin(dir)
			time.Sleep(3 * time.Second)
		}
		f.wantWaiting(t, "a", 1)
		f.wantWaiting(t, "b", 0)
		f.wantWaiting(t, "c", 1)
		f.end(t)
	})
}

func TestMemory(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 2, MaxMemory: 250}, &greenhouse{memory: 100})
		want := func(what string, a, b int) {
			t.Helper()
			time.Sleep(10 * time.Minute)
			if x, y := len(f.waiting("a")), len(f.waiting("b")); x != a || y != b {
				t.Errorf("%s: %d and %d wait, want %d and %d", what, x, y, a, b)
			}
		}
		f.begin("a")
		want("the first kind", 2, 0)
		f.begin("b")
		want("the second kind", 0, 2) // it was used last
		n := f.started()
		want("after a while", 0, 2)
		if f.started() != n {
			t.Error("agents come and go")
		}
		f.begin("a")
		want("the first kind again", 2, 0)
		f.end(t)
		if f.crowd > 1 { // two of them leave no room for a third
			t.Errorf("%d waited when another was started", f.crowd)
		}
	})
}

// An agent that is too large alone is not tried again and again.
func TestTooLarge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 2, MaxMemory: 50}, &greenhouse{memory: 100})
		f.begin("a")
		time.Sleep(time.Hour)
		f.begin("a")
		time.Sleep(time.Hour)
		if f.started() != 1 {
			t.Errorf("%d starts", f.started())
		}
		f.wantWaiting(t, "a", 0)
		f.end(t)
		f = newFixture(pool.Config{Size: 2, MaxMemory: -1}, &greenhouse{memory: 1 << 50})
		f.begin("a")
		time.Sleep(time.Minute)
		f.wantWaiting(t, "a", 2)
		f.end(t)
	})
}

// Close does not wait for a start to end.
func TestCloseWhileStarting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixture(pool.Config{Size: 1}, &greenhouse{delay: 50 * time.Second})
		f.Touch(f.greenhouse, request("a"))
		synctest.Wait()
		began := time.Now()
		f.end(t)
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
		if f.operator.Len() > 0 {
			t.Errorf("the operator was told: %s", f.operator)
		}
		f.end(t)
	})
}

// What was started for a folder that was trusted is of no use when it no longer is.
func TestTrust(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		trusted := true
		trust := func(string) bool { mu.Lock(); defer mu.Unlock(); return trusted }
		f := newFixture(pool.Config{Size: 1, Trusted: trust},
			&greenhouse{key: func(r terret.OpenRequest) string { return fmt.Sprint(r.Session.Cwd, r.Trusted) }})
		ask := func() terret.OpenRequest {
			r := request("a")
			r.Trusted = trust("a")
			return r
		}
		f.Touch(f.greenhouse, ask())
		synctest.Wait()
		mu.Lock()
		trusted = false
		mu.Unlock()
		if f.Claim(f.greenhouse, ask()) != nil {
			t.Error("a session in a folder that is not trusted got a trusted agent")
		}
		time.Sleep(3 * time.Second)
		for _, p := range f.waiting("") {
			f.wither(p)
		}
		time.Sleep(2 * time.Minute)
		if n := f.started(); n != 3 { // one while it was trusted, two since
			t.Errorf("%d starts", n)
		}
		f.wantWaiting(t, "a", 1)
		f.end(t)
	})
}

// Any schedule, and Close in the middle of it: every agent is handed over or closed,
// once, and nothing is left.
func TestAnySchedule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(pool.Config{Size: 1 + int(seed%3), Keys: 2, MaxMemory: 45, IdleAfter: 20 * time.Second},
				&greenhouse{memory: 10, delay: 300 * time.Millisecond})
			var group sync.WaitGroup
			for w := range uint64(4) {
				rnd := rand.New(rand.NewPCG(seed, w))
				group.Go(func() {
					for range 20 {
						dir := []string{"a", "b", "c"}[rnd.IntN(3)]
						switch rnd.IntN(4) {
						case 0:
							f.Touch(f.greenhouse, request(dir))
						case 1:
							if all := f.waiting(""); len(all) > 0 {
								f.wither(all[rnd.IntN(len(all))])
							}
						default:
							f.begin(dir)
						}
						time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
					}
				})
			}
			if seed%2 == 0 {
				for range 2 {
					group.Go(func() {
						time.Sleep(time.Duration(seed) * 500 * time.Millisecond)
						f.Close(context.Background())
					})
				}
			}
			group.Wait()
			f.end(t)
		})
	}
}
