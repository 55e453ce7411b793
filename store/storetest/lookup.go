package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// testBackward reads from the newest event to the oldest, in pages and by kind.
func testBackward(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	other := newWriter(t, st)
	w := newWriter(t, st)
	var all []terret.Entry
	for i := range 20 {
		id := fmt.Sprint(i)
		all = append(all, w.must(t, note("%d", i), event("", terret.MessageDelta{MessageID: id, Text: "piece"}), event("", terret.DiagWarning{Text: id}))...)
		other.must(t, note("other"))
	}
	pick := func(q terret.ReadQuery) (want []terret.Entry) {
		for _, e := range all {
			if e.Seq > q.After && (q.Before == 0 || e.Seq < q.Before) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) {
				want = append(want, e)
			}
		}
		if q.Backward {
			slices.Reverse(want)
		}
		if q.Limit > 0 {
			want = want[:min(q.Limit, len(want))]
		}
		return want
	}
	notes, pieces := []terret.Kind{terret.KindNotification}, []terret.Kind{terret.KindNotification, terret.KindMessageDelta}
	for _, q := range []terret.ReadQuery{
		{Backward: true},
		{Backward: true, Limit: 7},
		{Backward: true, Limit: 7, Before: 8},
		{Backward: true, Before: 1},
		{Backward: true, Before: 1000, Limit: 2},
		{Backward: true, After: 30, Before: 40},
		{Backward: true, Kinds: notes},
		{Backward: true, Kinds: notes, Limit: 3, Before: 31},
		{Backward: true, Kinds: pieces, Limit: 5},
		{Backward: true, Kinds: []terret.Kind{"no.such.kind"}},
		{Before: 5},
		{Before: 31, After: 28},
		{Before: 31, Kinds: notes},
		{After: 31, Kinds: pieces, Limit: 4},
	} {
		q.Session = w.session
		got, err := st.Read(ctx, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		t.Logf("%+v: %d events", q, len(got))
		same(t, got, pick(q))
	}
	// Large pages may end early, but are never empty, and nothing is left out.
	big := newWriter(t, st)
	var want, got []terret.Entry
	for range 4 {
		want = append(want, big.must(t, note("%s", strings.Repeat("y", 1<<20)), note("small"))...)
	}
	slices.Reverse(want)
	for q := (terret.ReadQuery{Session: big.session, Backward: true}); len(got) < len(want); {
		page, err := st.Read(ctx, q)
		if err != nil || len(page) == 0 {
			t.Fatalf("page before %d: %d events, %v", q.Before, len(page), err)
		}
		got = append(got, page...)
		q.Before = page[len(page)-1].Seq
	}
	same(t, got, want)
}

// testLastPos holds that the last position only grows, also when its event is gone.
func testLastPos(t *testing.T, s *suite) {
	st := s.fresh(t)
	last := func() int64 {
		t.Helper()
		pos, err := st.LastPos(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return pos
	}
	if got := last(); got != 0 {
		t.Errorf("the last position of an empty log is %d", got)
	}
	a, b := newWriter(t, st), newWriter(t, st)
	a.must(t, note("one"))
	entries := b.must(t, note("two"), note("three"))
	want := entries[1].Pos
	if got := last(); got != want {
		t.Errorf("the last position is %d, want %d", got, want)
	}
	if err := st.Delete(t.Context(), b.session); err != nil {
		t.Fatal(err)
	}
	if got := last(); got != want {
		t.Errorf("the last position is %d after its session is gone, want %d", got, want)
	}
	if next := a.must(t, note("four"))[0].Pos; next <= want || last() != next {
		t.Errorf("position %d follows %d; the last is %d", next, want, last())
	}
}

// testCount counts sessions by their state.
func testCount(t *testing.T, s *suite) {
	st := s.fresh(t)
	var made []terret.Session
	for _, state := range []terret.SessionState{terret.SessionIdle, terret.SessionIdle, terret.SessionBusy, terret.SessionWaiting} {
		made = append(made, create(t, st, terret.Session{State: state}))
	}
	want := func(n int, states ...terret.SessionState) {
		t.Helper()
		if got, err := st.CountSessions(t.Context(), states...); err != nil || got != n {
			t.Errorf("%d sessions are in %v, want %d, %v", got, states, n, err)
		}
	}
	want(4)
	want(2, terret.SessionIdle)
	want(2, terret.SessionBusy, terret.SessionWaiting)
	want(0, terret.SessionClosed)
	w, err := claim(t.Context(), st, made[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	w.must(t, event("", terret.SessionStateChange{State: terret.SessionBusy}))
	want(2, terret.SessionBusy)
	if err := st.Delete(t.Context(), made[2].ID); err != nil {
		t.Fatal(err)
	}
	want(1, terret.SessionBusy)
	want(3)
}

// testTurn finds one turn.
func testTurn(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w, other := newWriter(t, st), newWriter(t, st)
	w.turn(t)
	id := w.turn(t, note("inside"))
	running := terret.NewID(terret.PrefixTurn)
	w.must(t, start(running))
	turns, err := st.Turns(ctx, w.session)
	if err != nil || len(turns) != 3 {
		t.Fatal(turns, err)
	}
	for i, id := range []string{turns[0].ID, id, running} {
		got, err := st.Turn(ctx, w.session, id)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "turn", got, turns[i])
	}
	_, err = st.Turn(ctx, other.session, id)
	wantError(t, "a turn of another session", err, terret.CodeNotFound)
	_, err = st.Turn(ctx, w.session, "")
	wantError(t, "no turn", err, terret.CodeNotFound)
	_, err = st.Turn(ctx, terret.NewSessionID(), id)
	wantError(t, "a turn of no session", err, terret.CodeSessionNotFound)
}

// testWaitForeign holds what an owner is told of, and what not.
func testWaitForeign(t *testing.T, s *suite) {
	dir := t.TempDir()
	st := s.open(t, dir)
	ctx := within(t)
	w := newWriter(t, st)
	request := ask("")
	now := func() int64 {
		t.Helper()
		version, err := st.WaitForeign(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	quiet := func(what string, do func()) {
		t.Helper()
		before := now()
		do()
		if now() != before {
			t.Errorf("%s: there is nothing to do, but somebody is told", what)
		}
	}
	told := func(what string, do func() error) {
		t.Helper()
		before := now()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if _, err := st.WaitForeign(ctx, before); err != nil {
			t.Fatalf("%s: nobody was told: %v", what, err)
		}
	}
	quiet("a commit", func() { w.must(t, note("one"), request) })
	quiet("a new session", func() { newWriter(t, st) })
	told("something is sent", func() error {
		return st.Send(ctx, terret.InboxItem{ID: "i", Session: w.session, Kind: terret.InboxClose})
	})
	told("a request is answered", func() error {
		return st.Answer(ctx, decision(request.Expects.RequestID, terret.BehaviorAllow, "me"))
	})
	if s.Single {
		return
	}
	other := s.open(t, dir)
	told("another commits", func() error {
		_, err := newWriter(t, other).append(ctx, note("two"))
		return err
	})
	told("another sends", func() error {
		return other.Send(ctx, terret.InboxItem{ID: "j", Session: w.session, Kind: terret.InboxClose})
	})
}
