package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

func note(n int) terret.Event {
	return terret.Event{Data: terret.Notification{Text: fmt.Sprint(n), Level: "info"}}
}

// chatty is a session whose agent says n things when it is told to.
func chatty(t *testing.T, f *fixture, p *puppet) (session string, a *puppetAgent, turn string) {
	t.Helper()
	id := f.session()
	turn = f.prompt(id, "go").ID
	a = p.agent(t)
	a.prompted(t)
	return id, a, turn
}

// dense reads a stream to the end of the turn and complains about gaps, duplicates
// and disorder.
func dense(t *testing.T, events iter.Seq2[terret.Entry, error], after int64) (n int) {
	for entry, err := range events {
		if err != nil {
			t.Errorf("after %d: %v", after, err)
			return n
		}
		if after++; entry.Seq != after {
			t.Errorf("event %d where %d should be", entry.Seq, after)
			return n
		}
		n++
		if entry.Kind == "turn.complete" {
			break
		}
	}
	return n
}

// Any number of readers, from any place and at any time: history, then live, without
// gap or duplicate.
func TestHistoryThenLive(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	const total = 480
	var group sync.WaitGroup
	counts := make([]int, 16)
	reader := func(i int) {
		after := int64(i % 4)
		counts[i] = dense(t, f.Events(context.Background(), engine.EventQuery{Session: id, After: after, Follow: true}), after) + int(after)
	}
	for n := range total {
		if n%(total/len(counts)) == 0 {
			group.Go(func() { reader(n / (total / len(counts))) })
		}
		if err := a.emit(note(n)); err != nil {
			t.Fatal(err)
		}
	}
	a.complete(t, turn)
	group.Wait()
	for i, n := range counts {
		if n != counts[0] || n < total {
			t.Errorf("reader %d saw %d events, reader 0 %d", i, n, counts[0])
		}
	}
	if n := dense(t, f.Events(t.Context(), engine.EventQuery{Session: id}), 0); n != counts[0] {
		t.Errorf("history has %d events, want %d", n, counts[0])
	}
}

// A reader that stands still does not hold up the agent, and misses nothing.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	next, stop := iter.Pull2(f.Events(t.Context(), engine.EventQuery{Session: id, Follow: true}))
	defer stop()
	entry, err, _ := next()
	if err != nil || entry.Seq != 1 {
		t.Fatalf("%v, %v", entry.Seq, err)
	}
	for n := range 1100 { // far more than a reader is kept for
		if err := a.emit(note(n)); err != nil {
			t.Fatal(err)
		}
	}
	a.complete(t, turn)
	f.ended(id, turn) // the agent is done, the reader is not
	for seq := int64(2); ; seq++ {
		entry, err, ok := next()
		if err != nil || !ok || entry.Seq != seq {
			t.Fatalf("event %d where %d should be: %v", entry.Seq, seq, err)
		}
		if entry.Kind == "turn.complete" {
			break
		}
	}
}

// Streams end when their reader leaves, its context ends, the engine is closed or
// the session is deleted; the error comes last and once.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id, gone := f.session(), f.session()
	f.run(id, "1")
	f.run(gone, "1")
	for range f.Events(t.Context(), engine.EventQuery{Session: id, Follow: true}) {
		break // goleak and the race detector watch
	}
	cause := errors.New("tired")
	ctx, cancel := context.WithCancelCause(t.Context())
	var group sync.WaitGroup
	ends := func(session string, ctx context.Context, want func(error) bool) {
		started := make(chan struct{})
		var once sync.Once
		group.Go(func() {
			var got []error
			for _, err := range f.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
				once.Do(func() { close(started) })
				if err != nil {
					got = append(got, err)
				}
			}
			if len(got) != 1 || !want(got[0]) {
				t.Errorf("the stream ended with %v", got)
			}
		})
		<-started
	}
	ends(id, ctx, func(err error) bool { return errors.Is(err, cause) })
	ends(gone, t.Context(), func(err error) bool { return errors.Is(err, terret.ErrSessionNotFound) })
	ends(id, t.Context(), engine.IsClosed)
	cancel(cause)
	if err := f.Delete(t.Context(), gone, false); err != nil {
		t.Fatal(err)
	}
	f.close()
	group.Wait()
	for _, err := range f.Events(t.Context(), engine.EventQuery{Session: gone}) {
		wantKind(t, err, terret.CodeSessionNotFound)
	}
}

// A closed engine's streams first yield everything that was committed.
func TestCloseDelivers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "x"}, ask("make")}}})
	id := f.session()
	f.prompt(id, "go")
	f.request(id, 1)
	var seen []terret.Kind
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var mine []terret.Kind
			for entry, err := range f.Events(context.Background(), engine.EventQuery{Session: id, Follow: true}) {
				if err != nil {
					break
				}
				mine = append(mine, entry.Kind)
			}
			if len(mine) != len(kindsOf(f.log(id))) {
				t.Errorf("a stream ended after %v", mine)
			}
		})
	}
	f.close()
	group.Wait()
	for _, ev := range f.log(id) {
		seen = append(seen, ev.Kind())
	}
	if seen[len(seen)-1] != "session.end" {
		t.Errorf("log %v", seen)
	}
	checkLog(t, f.store, id)
}

func TestAllEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	a, b, c := f.session(), f.session(), f.session()
	f.run(a, "1")
	var group sync.WaitGroup
	watch := func(sessions []string, want map[string]bool) {
		group.Go(func() {
			ends := map[string]bool{}
			pos := int64(0)
			for entry, err := range f.AllEvents(context.Background(), engine.AllQuery{Sessions: sessions, Follow: true}) {
				if err != nil || entry.Pos <= pos || sessions != nil && !want[entry.Session] {
					t.Errorf("%s at %d after %d: %v", entry.Session, entry.Pos, pos, err)
					return
				}
				if pos = entry.Pos; entry.Kind == "turn.complete" {
					ends[entry.Session] = true
				}
				if len(ends) == len(want) {
					break
				}
			}
		})
	}
	watch(nil, map[string]bool{a: true, b: true, c: true})
	watch([]string{a, c}, map[string]bool{a: true, c: true})
	f.run(b, "1")
	f.run(c, "1")
	group.Wait()
	n := 0
	for _, err := range f.AllEvents(t.Context(), engine.AllQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n < 20 {
		t.Errorf("%d events of all sessions", n)
	}
}

// A viewer in another process follows, without gap, also across a change of owner.
func TestForeignViewer(t *testing.T) {
	t.Parallel()
	script := mock.New(mock.Script{})
	a := fileFixture(t, "", script)
	b := fileFixture(t, a.path, script)
	id := a.session()
	stopped := make(chan struct{})
	var group sync.WaitGroup
	for _, f := range []*fixture{a, b} {
		group.Go(func() {
			after, ends := int64(0), 0
			for entry, err := range f.Events(context.Background(), engine.EventQuery{Session: id, Follow: true}) {
				if after++; err != nil || entry.Seq != after {
					t.Errorf("event %d where %d should be: %v", entry.Seq, after, err)
					return
				}
				if entry.Kind == "turn.complete" {
					ends++
				}
				if ends == 6 {
					return
				}
			}
		})
	}
	go func() { group.Wait(); close(stopped) }()
	for i := range 6 { // by turns
		f := []*fixture{a, b}[i%2]
		f.run(id, "x")
		if err := f.CloseSession(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, stopped)
	a.close()
	b.close()
	checkLog(t, a.store, id)
}

// The agent's own messages are kept when the session asks for it, and served when
// the reader does. Of messages that nobody understands they are always kept.
func TestRaw(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	for _, keep := range []bool{false, true} {
		id := f.session(func(s *terret.Session) { s.Options.KeepRaw = keep })
		turn := f.prompt(id, "go").ID
		a := p.agent(t)
		a.prompted(t)
		live, stop := iter.Pull2(f.Events(t.Context(), engine.EventQuery{Session: id, Follow: true}))
		if err := a.emit(
			terret.Event{Data: terret.Notification{Text: "n"}, Raw: []byte("raw n")},
			terret.Event{Data: terret.Unknown{NativeType: "new"}, Raw: []byte("raw u")},
			terret.Event{Source: "nothing", Raw: []byte("raw nothing")},
		); err != nil {
			t.Fatal(err)
		}
		a.complete(t, turn)
		f.ended(id, turn)
		got := map[terret.Kind]string{}
		for _, ev := range f.log(id) {
			got[ev.Kind()] += string(ev.Raw)
		}
		want := map[bool]string{true: "raw n"}[keep]
		if got["notification"] != want || got["unknown"] != "raw uraw nothing" {
			t.Errorf("keep_raw %v: %q and %q", keep, got["notification"], got["unknown"])
		}
		for entry, err, ok := live(); ok && err == nil && entry.Kind != "turn.complete"; entry, err, ok = live() {
			if len(entry.Raw) > 0 {
				t.Errorf("%s with its raw message, which nobody asked for", entry.Kind)
			}
		}
		stop()
	}
}
