package storetest

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
)

// testDense lets many goroutines append to many sessions: some to one of their
// own, some to several in one commit.
func testDense(t *testing.T, s *suite) {
	const goroutines, groupSize, commits = 12, 4, 25
	st := s.fresh(t)
	ctx := within(t)
	var mu sync.Mutex
	written := map[string][]terret.Entry{}
	var wg sync.WaitGroup
	for g := range goroutines {
		group := make([]*writer, 1+g%groupSize)
		for i := range group {
			group[i] = newWriter(t, st)
		}
		random := s.random(uint64(g))
		wg.Go(func() {
			for c := range commits {
				batches := make([]terret.Batch, len(group))
				for i, w := range group {
					for range 1 + random.IntN(5) {
						batches[i].Events = append(batches[i].Events, note("%d of %d: %s", c, g, strings.Repeat("x", random.IntN(2000))))
					}
					batches[i].Session, batches[i].Epoch, batches[i].After = w.session, w.epoch, w.seq
				}
				results, err := st.Commit(ctx, batches)
				if err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				for i, r := range results {
					if r.Err != nil {
						t.Errorf("batch: %v", r.Err)
						return
					}
					group[i].seq = r.LastSeq
					mu.Lock()
					written[group[i].session] = append(written[group[i].session], r.Entries...)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for session, want := range written {
		got := mustRead(t, st, session)
		if err := dense(got, wantSession(t, st, session).LastSeq); err != nil {
			t.Errorf("session %s: %v", session, err)
		}
		same(t, got, want)
		total += len(want)
	}
	across, err := followAll(ctx, st, total) // checks that positions increase
	if err != nil {
		t.Fatal(err)
	}
	bySession := map[string][]terret.Entry{}
	for _, e := range across {
		bySession[e.Session] = append(bySession[e.Session], e)
	}
	for session, want := range written {
		wantPositions(t, bySession[session], want)
	}
}

// testGroup puts batches that must fail, each for a reason of its own, among ones
// that succeed.
func testGroup(t *testing.T, s *suite) {
	st := s.fresh(t)
	first, fenced, wrong, last := newWriter(t, st), newWriter(t, st), newWriter(t, st), newWriter(t, st)
	undecided, unended, twice := newWriter(t, st), newWriter(t, st), newWriter(t, st)
	turn := twice.turn(t)
	request := ask(turn)
	twice.must(t, request)
	fenced.epoch--
	wrong.seq = 7
	gone := &writer{st: st, session: terret.NewSessionID(), epoch: 1}
	again := newWriter(t, st)

	batches := []terret.Batch{
		first.batch(note("first")),
		fenced.batch(note("fenced")),
		wrong.batch(note("wrong")),
		gone.batch(note("gone")),
		undecided.batch(note("before"), event("", decision("req_none", terret.BehaviorAllow, "x").Data())),
		unended.batch(note("before"), event("trn_none", terret.TurnComplete{})),
		twice.batch(note("before"), start(turn)),
		again.batch(note("before"), request),
		{Session: newWriter(t, st).session, Epoch: 1, Events: []terret.Event{{Time: terret.Now()}}}, // no data
		last.batch(start("trn_last"), event("trn_last", terret.TurnComplete{})),
	}
	results, err := st.Commit(t.Context(), batches)
	if err != nil {
		t.Fatalf("a batch failed the whole commit: %v", err)
	}
	if results[0].Err != nil || results[len(results)-1].Err != nil {
		t.Errorf("good batches among bad ones: %v, %v", results[0].Err, results[len(results)-1].Err)
	}
	if !errors.Is(results[1].Err, terret.ErrFenced) {
		t.Errorf("old epoch: %v", results[1].Err)
	}
	wantError(t, "wrong number", results[2].Err, terret.CodeConflict)
	wantError(t, "no such session", results[3].Err, terret.CodeSessionNotFound)
	wantError(t, "no such request", results[4].Err, terret.CodeNotFound)
	wantError(t, "no such turn", results[5].Err, terret.CodeConflict)
	wantError(t, "turn started twice", results[6].Err, terret.CodeConflict)
	wantError(t, "request made twice", results[7].Err, terret.CodeConflict)
	wantError(t, "event without data", results[8].Err, terret.CodeInternal)
	for i, b := range batches[1 : len(batches)-1] {
		if results[i+1].Entries != nil {
			t.Errorf("batch %d failed and has entries", i+1)
		}
		if b.Session == gone.session {
			continue
		}
		want := map[string]int64{twice.session: twice.seq}[b.Session]
		if n := wantSession(t, st, b.Session); n.LastSeq != want {
			t.Errorf("batch %d failed and its session is at %d, not %d", i+1, n.LastSeq, want)
		}
		if err := dense(mustRead(t, st, b.Session), want); err != nil {
			t.Errorf("batch %d failed: %v", i+1, err)
		}
	}

	_, err = st.Commit(t.Context(), []terret.Batch{first.batch(note("a")), first.batch(note("b"))})
	if err == nil {
		t.Error("two batches for one session in one commit")
	}
	if results, err := st.Commit(t.Context(), nil); err != nil || len(results) != 0 {
		t.Errorf("empty commit: %v, %v", results, err)
	}
}

// testMerge checks what is merged, and that no text is lost.
func testMerge(t *testing.T, s *suite) {
	text := func(message string, index int, actor, text string) terret.Event {
		e := event("trn_1", terret.MessageDelta{MessageID: message, Index: index, Text: text})
		e.Actor = actor
		return e
	}
	st := s.fresh(t)
	w := newWriter(t, st)
	entries := w.must(t,
		text("a", 0, "", "one "), text("a", 0, "", "two "), text("a", 0, "", "three"), // one event
		text("a", 1, "", "other index"),
		text("b", 1, "", "other message"),
		text("b", 1, terret.SubActor("x"), "other actor"),
		event("trn_1", terret.ReasoningDelta{MessageID: "b", Index: 1, Text: "other "}),
		event("trn_1", terret.ReasoningDelta{MessageID: "b", Index: 1, Text: "kind"}),
		note("between"),
		text("b", 1, "", "after it"),
		event("trn_1", terret.ToolDelta{ToolID: "t", PartialInput: `{"a"`}),
		event("trn_1", terret.ToolDelta{ToolID: "t", PartialInput: `:1}`}),
		event("trn_1", terret.ToolDelta{ToolID: "u", PartialInput: `{}`}),
	)
	var got []string
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch d := ev.Data.(type) {
		case terret.MessageDelta:
			got = append(got, d.Text)
		case terret.ReasoningDelta:
			got = append(got, d.Text)
		case terret.ToolDelta:
			got = append(got, d.PartialInput)
		case terret.Notification:
			got = append(got, d.Text)
		}
	}
	diff(t, "merged", got, []string{
		"one two three", "other index", "other message", "other actor", "other kind", "between", "after it", `{"a":1}`, `{}`,
	})
	same(t, mustRead(t, st, w.session), entries)

	// In separate commits they stay separate, and the numbers go on.
	w.must(t, text("c", 0, "", "x"))
	w.must(t, text("c", 0, "", "y"))
	if w.seq != int64(len(entries)+2) {
		t.Errorf("after two more commits the log is at %d, not %d", w.seq, len(entries)+2)
	}
}

// testFence lets a second instance take a session while the first still thinks
// that it is the owner.
func testFence(t *testing.T, s *suite) {
	dir := t.TempDir()
	a, b := s.open(t, dir), s.open(t, dir)
	ctx := t.Context()
	old, other := newWriter(t, a), newWriter(t, a)
	old.must(t, note("mine"))
	before := old.seq

	if err := a.Release(ctx, old.session, old.epoch); err != nil {
		t.Fatal(err)
	}
	taken, err := claim(ctx, b, old.session)
	if err != nil {
		t.Fatal(err)
	}
	if taken.epoch <= old.epoch || taken.seq != before {
		t.Errorf("the new owner has epoch %d after %d, and number %d, not %d", taken.epoch, old.epoch, taken.seq, before)
	}
	results, err := a.Commit(ctx, []terret.Batch{old.batch(note("too late")), other.batch(note("still mine"))})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(results[0].Err, terret.ErrFenced) {
		t.Errorf("old owner: %v", results[0].Err)
	}
	if results[1].Err != nil {
		t.Errorf("other session of the old owner: %v", results[1].Err)
	}
	if err := dense(mustRead(t, b, old.session), before); err != nil {
		t.Errorf("the old owner wrote: %v", err)
	}

	// It is fenced in all that a batch can do, and by its epoch also when its
	// numbers are right.
	taken.must(t, note("new owner"))
	old.seq = taken.seq
	inside := old.batch()
	inside.Cursor = []byte("stolen")
	if _, err := old.commit(ctx, inside); !errors.Is(err, terret.ErrFenced) {
		t.Errorf("old owner's cursor: %v", err)
	}
	again, err := b.Claim(ctx, old.session)
	if err != nil || again.Cursor != nil {
		t.Errorf("cursor %q, %v", again.Cursor, err)
	}
	if again.Session.Epoch <= taken.epoch {
		t.Errorf("claiming again gave epoch %d after %d", again.Session.Epoch, taken.epoch)
	}
	taken.seq++ // a wrong number in an old epoch: the epoch counts
	if _, err := taken.append(ctx, note("x")); !errors.Is(err, terret.ErrFenced) {
		t.Errorf("own old epoch: %v", err)
	}
	taken.epoch = again.Session.Epoch
	_, err = taken.append(ctx, note("x"))
	wantError(t, "wrong number", err, terret.CodeConflict)
}

// testUnknownOutcome loses the answer of a commit, before and after it took place.
func testUnknownOutcome(t *testing.T, s *suite) {
	lost := errors.New("the disk went away for a moment")
	for _, phase := range []string{"before", "after"} {
		t.Run(phase, func(t *testing.T) {
			st := s.fresh(t)
			ctx := t.Context()
			w, refused := newWriter(t, st), newWriter(t, st)
			refused.epoch--
			turn := terret.NewID(terret.PrefixTurn)
			w.must(t, start(turn))

			s.Lose(st, phase, lost)
			batch := w.batch(note("once"), event(turn, terret.TurnComplete{Usage: terret.Usage{Input: 5}}))
			results, err := st.Commit(ctx, []terret.Batch{refused.batch(note("never")), batch})
			if phase == "before" {
				if !errors.Is(err, lost) {
					t.Fatalf("commit that did not take place: %v, %v", results, err)
				}
				if n := wantSession(t, st, w.session); n.LastSeq != w.seq || n.Turn != turn {
					t.Errorf("it left a trace: %+v", n)
				}
				results, err = st.Commit(ctx, []terret.Batch{refused.batch(note("never")), batch})
			}
			if err != nil {
				t.Fatalf("commit: %v", err)
			}
			if !errors.Is(results[0].Err, terret.ErrFenced) {
				t.Errorf("refused batch: %v", results[0].Err)
			}
			if results[1].Err != nil || results[1].LastSeq != 3 {
				t.Fatalf("result: %+v", results[1])
			}
			got := mustRead(t, st, w.session)
			if err := dense(got, 3); err != nil {
				t.Error(err)
			}
			same(t, got[1:], results[1].Entries)
			if n := wantSession(t, st, w.session); n.Usage.Input != 5 || n.Turn != "" {
				t.Errorf("projected twice or not at all: %+v", n)
			}
			w.seq = 3
			w.must(t, note("and on"))
		})
	}
	t.Run("without events", func(t *testing.T) { unknownWithoutEvents(t, s, lost) })
}

// unknownWithoutEvents is about batches that leave no event by which to tell.
func unknownWithoutEvents(t *testing.T, s *suite, lost error) {
	st := s.fresh(t)
	ctx := t.Context()
	w := newWriter(t, st)
	item := terret.InboxItem{ID: terret.NewID(terret.PrefixControl), Session: w.session, Kind: terret.InboxClose}
	if err := st.Send(ctx, item); err != nil {
		t.Fatal(err)
	}
	for _, phase := range []string{"before", "after"} {
		b := w.batch()
		b.Taken = []string{item.ID}
		b.Cursor = []byte("at " + phase)
		s.Lose(st, phase, lost)
		_, err := w.commit(ctx, b)
		pending, perr := st.Pending(ctx, w.session)
		if perr != nil {
			t.Fatal(perr)
		}
		if wrote := len(pending) == 0; wrote != (err == nil) {
			t.Errorf("%s: commit says %v, but written is %v", phase, err, wrote)
		}
	}
}
