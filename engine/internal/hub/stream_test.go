package hub_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/hub"
)

// dense reads a stream up to a number and complains about gaps, duplicates and disorder.
func dense(t *testing.T, events stream, after, last int64) {
	for entry, err := range events {
		if err != nil {
			t.Errorf("after %d: %v", after, err)
			return
		}
		if after++; entry.Seq != after {
			t.Errorf("event %d where %d should be", entry.Seq, after)
			return
		}
		if after == last {
			return
		}
	}
	t.Errorf("the stream ended after %d", after)
}

// Any number of readers, from any place and at any time: history, then live, without
// gap or duplicate.
func TestHistoryThenLive(t *testing.T) {
	t.Parallel()
	const total, readers = 480, 16
	l := newLogbook()
	l.commit("s", 3)
	var group sync.WaitGroup
	for n := range total {
		if n%(total/readers) == 0 {
			after := int64(n/(total/readers)) % 4
			group.Go(func() {
				dense(t, l.Events(context.Background(), hub.Query{Session: "s", After: after, Follow: true}), after, total+3)
			})
		}
		l.commit("s", 1)
	}
	group.Wait()
	if l.Watching() {
		t.Error("a reader that left still watches")
	}
}

// Whatever is committed here or elsewhere, and however slow they are: readers miss
// nothing.
func TestAnySchedule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		l := newLogbook()
		const last = 2000
		var group sync.WaitGroup
		for r := range uint64(6) {
			pauses := rand.New(rand.NewPCG(seed, r+1))
			group.Go(func() {
				dense(t, func(yield func(terret.Entry, error) bool) {
					for entry, err := range l.Events(context.Background(), hub.Query{Session: "s", Follow: true}) {
						for pauses.IntN(4) == 0 {
							runtime.Gosched() // or several times
						}
						if !yield(entry, err) {
							return
						}
					}
				}, 0, last)
			})
		}
		for n := 0; n < last; {
			some := min(1+rnd.IntN(40), last-n)
			if n += some; rnd.IntN(4) > 0 {
				l.commit("s", some)
				continue
			}
			l.write("s", some)
			l.WakeOthers(func(string) bool { return false })
		}
		group.Wait()
	}
}

// A reader that stands still holds nobody up, and misses nothing.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	l := newLogbook()
	l.commit("s", 1)
	next, stop := iter.Pull2(l.Events(t.Context(), hub.Query{Session: "s", Follow: true}))
	defer stop()
	for seq := int64(1); seq <= 5000; seq++ {
		if seq == 2 {
			for range 4999 { // far more than is kept for a reader
				l.commit("s", 1)
			}
		}
		if entry, err, ok := next(); err != nil || !ok || entry.Seq != seq {
			t.Fatalf("event %d where %d should be: %v", entry.Seq, seq, err)
		}
	}
}

// A reader that keeps up does not touch the log.
func TestLiveReaderDoesNotReadTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogbook()
		l.commit("s", 2)
		var group sync.WaitGroup
		f := follow(&group, l.Events(t.Context(), hub.Query{Session: "s", Follow: true}), seqOf)
		f.want(t, "history", 1, 2)
		before := l.readCount()
		want := []int64{1, 2}
		for n := range int64(20) {
			want = append(want, n+3)
			l.commit("s", 1)
			if n%5 == 0 { // sometimes one at a time, sometimes several
				f.want(t, "live", want...)
			}
		}
		f.want(t, "live", want...)
		l.WakeOthers(func(string) bool { return true })
		f.want(t, "nothing new", want...)
		if n := l.readCount() - before; n != 0 {
			t.Errorf("the log was read %d times", n)
		}
		l.Close()
		group.Wait()
	})
}

// Readers of sessions that other processes own look at the log when they are told to,
// also across a change of owner.
func TestOthersWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogbook()
		var group sync.WaitGroup
		mine := func(session string) bool { return session == "mine" }
		f := follow(&group, l.Events(t.Context(), hub.Query{Session: "s", Follow: true}), seqOf)
		g := follow(&group, l.Events(t.Context(), hub.Query{Session: "mine", Follow: true}), seqOf)
		synctest.Wait()
		l.write("s", 2)
		l.write("mine", 1)
		f.want(t, "before it was told")
		l.WakeOthers(mine)
		f.want(t, "after", 1, 2)
		g.want(t, "a session of ours") // which cannot be: others do not write to it
		l.commit("s", 1)               // it is ours now
		f.want(t, "claimed", 1, 2, 3)
		l.write("s", 2)  // and theirs again
		l.commit("s", 1) // and ours
		f.want(t, "claimed again", 1, 2, 3, 4, 5, 6)
		l.Close()
		group.Wait()
	})
}

func TestAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogbook()
		l.commit("a", 2)
		var group sync.WaitGroup
		every := follow(&group, l.All(t.Context(), hub.AllQuery{After: 1, Sessions: nil, Follow: true}), posOf)
		some := follow(&group, l.All(t.Context(), hub.AllQuery{After: 0, Sessions: []string{"a", "c"}, Follow: true}), posOf)
		none := follow(&group, l.All(t.Context(), hub.AllQuery{After: 0, Sessions: []string{}, Follow: true}), posOf)
		every.want(t, "history", 2)
		some.want(t, "history of some", 1, 2)
		before := l.readCount()
		l.commit("b", 1)
		every.want(t, "live", 2, 3)
		if n := l.readCount() - before; n > 4 { // of those who watch all
			t.Errorf("the log was read %d times", n)
		}
		l.write("c", 1) // elsewhere
		l.WakeOthers(func(session string) bool {
			if session != "a" && session != "c" {
				t.Errorf("asked who owns %q", session)
			}
			return session == "a"
		})
		l.commit("a", 1)
		every.want(t, "all", 2, 3, 4, 5)
		some.want(t, "some", 1, 2, 4, 5)
		none.want(t, "none")
		l.Close()
		none.wantEnd(t, "none", hub.ErrClosed)
		group.Wait()
	})
}

// History alone watches nothing.
func TestHistoryAlone(t *testing.T) {
	t.Parallel()
	l := newLogbook()
	l.commit("s", 25)
	l.commit("t", 1)
	for name, c := range map[string]struct {
		events stream
		want   int
	}{
		"a session":     {l.Events(t.Context(), hub.Query{Session: "s", After: 4}), 21},
		"all":           {l.All(t.Context(), hub.AllQuery{After: 4, Sessions: nil, Follow: false}), 22},
		"kinds":         {l.Entries(t.Context(), "s", terret.KindNotification), 25},
		"another kind":  {l.Entries(t.Context(), "s", terret.KindTurnStart), 0},
		"every kind":    {l.Entries(t.Context(), "s"), 25},
		"nothing there": {l.Events(t.Context(), hub.Query{Session: "nobody"}), 0},
	} {
		n := 0
		for _, err := range c.events {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if l.Watching() {
				t.Errorf("%s is watched", name)
			}
			n++
		}
		if n != c.want {
			t.Errorf("%s: %d events, want %d", name, n, c.want)
		}
	}
	if l.pokes > 0 {
		t.Error("somebody was told that it is watched")
	}
	l.remove("s")
	n := 0
	for _, err := range l.Entries(t.Context(), "s") {
		if n++; !errors.Is(err, errGone) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

// Nothing happens before the first pull; then the hub's owner is told.
func TestPoke(t *testing.T) {
	t.Parallel()
	l := newLogbook()
	l.commit("s", 1)
	events := l.Events(t.Context(), hub.Query{Session: "s", Follow: true})
	if l.pokes+l.reads > 0 || l.Watching() {
		t.Error("something happened before the first pull")
	}
	for range events {
		if l.pokes != 1 || !l.Watching() {
			t.Errorf("poked %d times, watching %v", l.pokes, l.Watching())
		}
		break
	}
	if l.Watching() {
		t.Error("it still watches")
	}
}

// The agent's own messages come to those who ask, from the log and live.
func TestRaw(t *testing.T) {
	t.Parallel()
	for _, raw := range []bool{false, true} {
		l := newLogbook()
		l.commit("s", 1)
		published := l.write("s", 1)
		n := 0
		for entry := range l.Events(t.Context(), hub.Query{Session: "s", Raw: raw, Follow: true}) {
			if got := len(entry.Raw) > 0; got != raw {
				t.Errorf("event %d: raw %v, want %v", entry.Seq, got, raw)
			}
			switch n++; n {
			case 2:
				l.commit("s", 1)
			case 3:
				l.Close()
			}
			if n == 3 {
				break
			}
		}
		if string(published[0].Raw) != "raw" {
			t.Error("a reader changed what is shared")
		}
	}
}

// Publishing to nobody costs nothing to speak of, and a reader costs no copy.
func TestPublishAllocates(t *testing.T) {
	l := newLogbook()
	entries := l.write("s", 50)
	if n := testing.AllocsPerRun(100, func() { l.Publish("s", entries) }); n > 0 {
		t.Errorf("publishing to nobody allocates %v times", n)
	}
}

func BenchmarkPublish(b *testing.B) {
	for name, readers := range map[string]int{"nobody": 0, "one": 1, "hundred": 100} {
		b.Run(name, func(b *testing.B) {
			l := newLogbook()
			ctx, cancel := context.WithCancel(context.Background())
			var group sync.WaitGroup
			for range readers {
				group.Go(func() {
					for range l.Events(ctx, hub.Query{Session: "s", Follow: true}) { // reading is all it does
					}
				})
			}
			seq := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				seq++
				l.Publish("s", []terret.Entry{{Seq: seq, Body: []byte("{}")}})
			}
			cancel()
			group.Wait()
		})
	}
}
