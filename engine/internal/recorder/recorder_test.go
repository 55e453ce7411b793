package recorder_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/recorder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes is a sink that writes down its calls.
type notes struct {
	slow time.Duration

	mu    sync.Mutex
	calls []string
}

func (n *notes) add(call string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call)
}

func (n *notes) Record(s terret.Session, entries []terret.Entry) {
	time.Sleep(n.slow)
	call := s.ID + " " + s.Title + ":"
	for _, e := range entries {
		call += fmt.Sprint(" ", e.Seq)
	}
	n.add(call)
}

func (n *notes) Remove(s terret.Session) { n.add("remove " + s.ID) }

func (n *notes) want(t *testing.T, calls ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if diff := cmp.Diff(calls, n.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func session(id, title string) terret.Session { return terret.Session{ID: id, Title: title} }

func entries(seqs ...int64) []terret.Entry {
	var out []terret.Entry
	for _, seq := range seqs {
		out = append(out, terret.Entry{Seq: seq})
	}
	return out
}

// What is committed in quick succession is recorded at once, for each session in order.
func TestGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		r := recorder.New(n)
		r.Add(session("a", "new"), entries(1, 2))
		r.Add(session("b", "other"), entries(1))
		time.Sleep(time.Second / 2)
		r.Add(session("a", "newer"), entries(3))
		synctest.Wait()
		n.want(t)
		time.Sleep(2 * time.Second)
		n.want(t, "a newer: 1 2 3", "b other: 1")
		r.Add(session("a", "newest"), entries(4))
		time.Sleep(2 * time.Second)
		n.want(t, "a newer: 1 2 3", "b other: 1", "a newest: 4")
		r.Close()
	})
}

// People look into the files to see what was started how, and whether it still runs.
func TestRareAtOnce(t *testing.T) {
	t.Parallel()
	for name, rare := range map[string]func(*recorder.Recorder) string{
		"created": func(r *recorder.Recorder) string { r.Add(session("b", "x"), nil); return "b x:" },
		"removed": func(r *recorder.Recorder) string { r.Remove(session("b", "x")); return "remove b" },
		"spawn":   kind(terret.KindProcessSpawn),
		"exit":    kind(terret.KindProcessExit),
		"end":     kind(terret.KindSessionEnd),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &notes{}
				r := recorder.New(n)
				defer r.Close()
				r.Add(session("a", "x"), entries(1))
				synctest.Wait()
				n.want(t)
				call := rare(r)
				synctest.Wait()
				n.want(t, "a x: 1", call)
			})
		})
	}
}

// kind adds an entry of that kind to a session, and returns what the sink is told.
func kind(k terret.Kind) func(*recorder.Recorder) string {
	return func(r *recorder.Recorder) string {
		r.Add(session("b", "x"), []terret.Entry{{Seq: 7, Kind: k}})
		return "b x: 7"
	}
}

// A lot is recorded without waiting for more: it takes memory.
func TestEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		r := recorder.New(n)
		defer r.Close()
		for range 2 {
			for range 999 {
				r.Add(session("a", ""), entries(1))
			}
			synctest.Wait()
			n.want(t)
			r.Add(session("a", ""), entries(1))
			synctest.Wait()
			n.want(t, "a :"+strings.Repeat(" 1", 1000))
			n.calls = nil
		}
	})
}

func TestRemove(t *testing.T) {
	t.Parallel()
	n := &notes{}
	r := recorder.New(n)
	r.Add(session("a", "x"), entries(1))
	r.Add(session("b", "x"), entries(1))
	r.Remove(session("a", "x"))
	r.Add(session("b", "x"), entries(2))
	r.Add(session("a", "x"), entries(2)) // which was on its way
	r.Close()
	n.want(t, "a x: 1", "b x: 1 2", "remove a", "a x: 2")
}

// A slow sink holds nobody up, and is told everything before Close returns.
func TestSlowSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &notes{slow: time.Minute}
		r := recorder.New(n)
		began := time.Now()
		r.Add(session("a", "x"), entries(1))
		if took := time.Since(began); took > 0 {
			t.Errorf("adding took %v", took)
		}
		time.Sleep(2 * time.Second)
		r.Add(session("a", "x"), entries(2))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("adding took %v", took)
		}
		r.Close()
		n.want(t, "a x: 1", "a x: 2")
		r.Close()
		r.Add(session("a", "x"), entries(3))
		r.Remove(session("a", "x"))
		n.want(t, "a x: 1", "a x: 2")
	})
}

// Close does not wait for more.
func TestCloseAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		r := recorder.New(n)
		r.Add(session("a", "x"), entries(1))
		synctest.Wait()
		began := time.Now()
		r.Close()
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		n.want(t, "a x: 1")
	})
}

func TestNoSink(t *testing.T) {
	t.Parallel()
	r := recorder.New(nil)
	r.Add(session("a", "x"), entries(1))
	r.Remove(session("a", "x"))
	r.Close()
}

// Joining must not write into what others read.
func TestSharedEntries(t *testing.T) {
	t.Parallel()
	n := &notes{}
	r := recorder.New(n)
	shared := entries(1, 99)
	r.Add(session("a", "x"), shared[:1])
	r.Add(session("a", "x"), entries(2))
	r.Close()
	n.want(t, "a x: 1 2")
	if shared[1].Seq != 99 {
		t.Error("shared entries were overwritten")
	}
}

// Any number of goroutines may add, also while it is closed: what each of them said
// before is recorded, in order.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	n := &notes{}
	r := recorder.New(n)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for seq := range int64(200) {
				r.Add(session(fmt.Sprint(i), "x"), entries(seq+1))
			}
		})
	}
	group.Go(func() { r.Add(session("c", "x"), nil); r.Close() })
	r.Add(session("d", "x"), nil)
	group.Wait()
	r.Close()
	next := map[string]int64{}
	for _, call := range n.calls {
		id, seqs, _ := strings.Cut(call, " x:")
		for seq := range strings.FieldsSeq(seqs) {
			if next[id]++; seq != fmt.Sprint(next[id]) {
				t.Fatalf("session %s: %s after %d", id, seq, next[id]-1)
			}
		}
		if next[id] == 0 {
			next[id] = -1 // it was created
		}
	}
	if next["c"] == 0 {
		t.Error("what was said before Close is missing")
	}
}
