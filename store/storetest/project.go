package storetest

import (
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

func at(day, hour int) terret.Time {
	return terret.TimeOf(time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC))
}

// testTurns follows turns from their start to each of their ends.
func testTurns(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w := newWriter(t, st)
	usage := terret.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5}
	ends := []struct {
		data  terret.Data
		state terret.TurnState
		kind  terret.ErrorCode
	}{
		{terret.TurnComplete{Text: "done", Usage: usage, CostUSD: 7}, terret.TurnCompleted, ""},
		{terret.TurnError{Error: terret.Error{Code: terret.CodeModelError, Message: "no"}, Usage: usage, CostUSD: 7}, terret.TurnFailed, terret.CodeModelError},
		{terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted}, Usage: usage, CostUSD: 7}, terret.TurnInterrupted, terret.CodeInterrupted},
		{terret.TurnError{Error: terret.Error{Code: terret.CodeKilled}, Usage: usage, CostUSD: 7}, terret.TurnKilled, terret.CodeKilled},
		{terret.TurnError{Error: terret.Error{Code: "from.later"}, Usage: usage, CostUSD: 7}, terret.TurnFailed, "from.later"},
	}
	for i, end := range ends {
		id := terret.NewID(terret.PrefixTurn)
		first := event(id, terret.TurnStart{Prompt: []terret.Block{terret.Text("do it")}, MessageID: "msg_" + id, Origin: terret.OriginQueue})
		first.Time = at(1, i)
		w.must(t, first)
		if n := wantSession(t, st, w.session); n.Turn != id {
			t.Errorf("running turn %q, want %q", n.Turn, id)
		}
		want := terret.Turn{
			ID: id, Session: w.session, State: terret.TurnRunning, Origin: terret.OriginQueue,
			Prompt: []terret.Block{terret.Text("do it")}, MessageID: "msg_" + id, StartedAt: first.Time,
		}
		diff(t, "running turn", lastTurn(t, st, w.session), want)
		last := event(id, end.data)
		last.Time = at(2, i)
		w.must(t, note("between"), last)
		if n := wantSession(t, st, w.session); n.Turn != "" {
			t.Errorf("turn %q runs after its end", n.Turn)
		}
		want.State, want.EndedAt, want.Usage, want.CostUSD = end.state, &last.Time, usage, 7
		got := lastTurn(t, st, w.session)
		if end.kind != "" {
			if got.Error == nil || got.Error.Code != end.kind {
				t.Errorf("error %+v, want kind %s", got.Error, end.kind)
			}
			got.Error = nil
		}
		diff(t, "ended turn", got, want)

		_, err := w.append(ctx, event(id, terret.TurnComplete{}))
		wantError(t, "end of an ended turn", err, terret.CodeConflict)
	}
	if turns, err := st.Turns(ctx, w.session); err != nil || len(turns) != len(ends) || turns[0].StartedAt != at(1, 0) {
		t.Errorf("%d turns, oldest first: %v", len(turns), err)
	}

	// One turn may end and the next begin in one commit.
	a, b := terret.NewID(terret.PrefixTurn), terret.NewID(terret.PrefixTurn)
	w.must(t, start(a))
	w.must(t, event(a, terret.TurnComplete{}), start(b))
	if n := wantSession(t, st, w.session); n.Turn != b {
		t.Errorf("running turn %q, want %q", n.Turn, b)
	}
	_, err := st.Turns(ctx, terret.NewSessionID())
	wantError(t, "turns of no session", err, terret.CodeSessionNotFound)
}

func lastTurn(t *testing.T, st terret.Store, session string) terret.Turn {
	t.Helper()
	turns, err := st.Turns(t.Context(), session)
	if err != nil || len(turns) == 0 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	return turns[len(turns)-1]
}

// testSessionColumns checks that lists show what the log says.
func testSessionColumns(t *testing.T, s *suite) {
	st := s.fresh(t)
	n := create(t, st, terret.Session{Agent: "mock", Title: "first", Model: "m0", CreatedAt: at(1, 0), Persona: "p"})
	w, err := claim(t.Context(), st, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	n.Owner, n.Epoch = st.Worker(), w.epoch
	apply := func(change func(*terret.Session), d terret.Data, when terret.Time) {
		t.Helper()
		e := event("", d)
		e.Time = when
		w.must(t, e)
		n.LastSeq = w.seq
		change(&n)
		diff(t, string(e.Kind()), wantSession(t, st, n.ID), n)
	}
	str := func(s string) *string { return &s }
	policy, mode := terret.PolicyPlan, terret.ModeDirect

	apply(func(n *terret.Session) {
		n.NativeID, n.Model, n.PermissionMode, n.UpdatedAt = "native-1", "m1", "plan", at(1, 1)
	}, terret.SessionStart{Source: "new", Agent: "another", NativeID: "native-1", Model: "m1", Cwd: "/elsewhere", PermissionMode: "plan"}, at(1, 1))
	apply(func(n *terret.Session) { n.UpdatedAt = at(1, 2) }, terret.SessionStart{Source: "resume", Agent: "mock"}, at(1, 2)) // says nothing new
	apply(func(n *terret.Session) { n.NativeID, n.UpdatedAt = "native-2", at(1, 3) },
		terret.SessionNativeID{Old: "native-1", New: "native-2", Reason: "fork"}, at(1, 3))
	apply(func(n *terret.Session) { n.State, n.UpdatedAt = terret.SessionBusy, at(1, 4) },
		terret.SessionStateChange{State: terret.SessionBusy}, at(1, 4))
	apply(func(n *terret.Session) { n.Title, n.UpdatedAt = "renamed", at(1, 5) }, terret.SessionUpdated{Title: str("renamed")}, at(1, 5))
	apply(func(n *terret.Session) {
		n.Model, n.Policy, n.PermissionMode, n.Mode, n.Persona, n.UpdatedAt = "m2", policy, "default", mode, "", at(1, 6)
	}, terret.SessionUpdated{Model: str("m2"), Policy: &policy, PermissionMode: str("default"), Mode: &mode, Persona: str("")}, at(1, 6))
	apply(func(n *terret.Session) { n.HandedTo, n.UpdatedAt = "another", at(1, 6) }, terret.SessionUpdated{HandedTo: str("another")}, at(1, 6))
	apply(func(n *terret.Session) { n.Title, n.UpdatedAt = "", at(1, 7) }, terret.SessionUpdated{Title: str("")}, at(1, 7))
	apply(func(*terret.Session) {}, terret.MessageDelta{MessageID: "m", Text: "a piece of text"}, at(1, 8)) // does not count as an update
	apply(func(*terret.Session) {}, terret.SessionResumed{}, at(1, 8))                                      // nor does a restart
	apply(func(*terret.Session) {}, terret.SessionEnd{Reason: "idle"}, at(1, 8))
	apply(func(*terret.Session) {}, terret.Notification{Text: "from an earlier time"}, at(1, 2)) // nor does it go back
	apply(func(n *terret.Session) { n.UpdatedAt = at(1, 9) }, terret.Opaque{Name: terret.KindSessionUpdated, JSON: []byte(`{"title":7}`)}, at(1, 9))
}

// testUsage sums up over turns, sessions and days.
func testUsage(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	session := func(agent, cwd, model string) *writer {
		n := create(t, st, terret.Session{Agent: agent, Cwd: cwd, Model: model})
		w, err := claim(ctx, st, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	turn := func(w *writer, when terret.Time, input int64, before ...terret.Event) {
		id := terret.NewID(terret.PrefixTurn)
		end := event(id, terret.TurnComplete{Usage: terret.Usage{Input: input, Output: 1, CacheRead: 2, CacheWrite: 3, Reasoning: 4}, CostUSD: terret.Cost(input * 10)})
		end.Time = when
		w.must(t, append(before, start(id), end)...)
	}
	a, b := session("x", "/a", "m1"), session("y", "/b", "m2")
	turn(a, at(1, 1), 100)
	turn(a, at(1, 23), 10)
	turn(a, at(2, 0), 1)
	turn(b, at(2, 5), 1000)
	failed := event("trn_failed", terret.TurnError{Error: terret.Error{Code: terret.CodeBilling}, Usage: terret.Usage{Input: 5}, CostUSD: 50})
	failed.Time = at(3, 5)
	b.must(t, start("trn_failed"), failed)

	n := wantSession(t, st, a.session)
	diff(t, "usage of a session", n.Usage, terret.Usage{Input: 111, Output: 3, CacheRead: 6, CacheWrite: 9, Reasoning: 12})
	diff(t, "cost of a session", n.CostUSD, terret.Cost(1110))

	by := func(group string, since, until terret.Time) []terret.UsageRow {
		t.Helper()
		rows, err := st.UsageBy(ctx, group, since, until)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	row := func(key string, turns, input, others int64) terret.UsageRow {
		u := terret.Usage{Input: input, Output: others, CacheRead: 2 * others, CacheWrite: 3 * others, Reasoning: 4 * others}
		return terret.UsageRow{Key: key, Turns: turns, Usage: u, CostUSD: terret.Cost(input * 10)}
	}
	var ever terret.Time
	diff(t, "by day", by("day", ever, ever), []terret.UsageRow{row("2026-03-01", 2, 110, 2), row("2026-03-02", 2, 1001, 2), row("2026-03-03", 1, 5, 0)})
	diff(t, "by agent", by("agent", ever, ever), []terret.UsageRow{row("x", 3, 111, 3), row("y", 2, 1005, 1)})
	diff(t, "by cwd, since", by("cwd", at(2, 0), ever), []terret.UsageRow{row("/a", 1, 1, 1), row("/b", 2, 1005, 1)})
	diff(t, "by day, until", by("day", ever, at(2, 0)), []terret.UsageRow{row("2026-03-01", 2, 110, 2)})
	_, err := st.UsageBy(ctx, "moon", ever, ever)
	wantError(t, "group", err, terret.CodeInvalidRequest)

	// The model is the one at the end of the turn, also if one commit holds a
	// change before or after it.
	c := session("z", "/c", "")
	m3, m4 := "m3", "m4"
	turn(c, at(4, 0), 1, event("", terret.SessionUpdated{Model: &m3}))
	end := event("trn_c", terret.TurnComplete{Usage: terret.Usage{Input: 1}, CostUSD: 10})
	end.Time = at(4, 1)
	c.must(t, start("trn_c"), end, event("", terret.SessionUpdated{Model: &m4}))
	diff(t, "by model", by("model", at(4, 0), ever), []terret.UsageRow{row("m3", 2, 2, 1)})

	// Usage outlives its session.
	if err := st.Delete(ctx, b.session); err != nil {
		t.Fatal(err)
	}
	diff(t, "by agent after a deletion", by("agent", ever, at(4, 0)), []terret.UsageRow{row("x", 3, 111, 3), row("y", 2, 1005, 1)})
}

// testUndo follows what can be undone and redone.
func testUndo(t *testing.T, s *suite) {
	st := s.fresh(t)
	w := newWriter(t, st)
	want := func(what, checkpoint string, undo, redo bool) {
		t.Helper()
		diff(t, what, wantSession(t, st, w.session).Revert, &terret.Revert{CheckpointID: checkpoint, CanUndo: undo, CanRedo: redo})
	}
	checkpoint := func(turn, id, phase string, changed bool) terret.Event {
		return event("", terret.CheckpointCreated{CheckpointID: id, OfTurn: turn, Phase: phase, Changed: changed, Snapshot: "tree-" + id})
	}
	rewound := func(id, direction string, turns ...string) terret.Event {
		return event("", terret.CheckpointRewound{CheckpointID: id, Direction: direction, Turns: turns})
	}
	if r := wantSession(t, st, w.session).Revert; r != nil {
		t.Errorf("revert of a new session: %+v", r)
	}
	one, two, three, four := terret.NewID(terret.PrefixTurn), terret.NewID(terret.PrefixTurn), terret.NewID(terret.PrefixTurn), terret.NewID(terret.PrefixTurn)
	w.must(t, start(one), checkpoint(one, "c1", "before", false))
	want("before the first turn", "c1", false, false)
	w.must(t, event(one, terret.TurnComplete{}), checkpoint(one, "c2", "after", false))
	want("after a turn that changed nothing", "c2", false, false)

	w.must(t, start(two), checkpoint(two, "c3", "before", false))
	w.must(t, event(two, terret.TurnComplete{}), checkpoint(two, "c4", "after", true))
	want("after a turn that changed something", "c4", true, false)
	got := lastTurn(t, st, w.session)
	if got.Before != "tree-c3" || got.After != "tree-c4" || !got.Changed || got.Undone {
		t.Errorf("turn: %+v", got)
	}
	w.must(t, rewound("c3", "undo", two))
	want("after undo", "c3", false, true)
	if !lastTurn(t, st, w.session).Undone {
		t.Error("the turn is not undone")
	}
	w.must(t, rewound("c4", "redo", two))
	want("after redo", "c4", true, false)
	w.must(t, rewound("c3", "undo", two))

	w.must(t, start(three), checkpoint(three, "c5", "before", false))
	want("after a new turn redo is lost", "c5", false, false)
	turns, err := st.Turns(t.Context(), w.session)
	if err != nil || !turns[1].Undone {
		t.Errorf("the turn is undone for good, and still says so: %+v, %v", turns[1], err)
	}
	w.must(t, event(three, terret.TurnComplete{}), checkpoint(three, "c6", "after", true))
	want("after the new turn", "c6", true, false)

	// The same in one commit: the new turn comes after the undo.
	w.must(t, rewound("c5", "undo", three), start(four))
	want("undo and a new turn in one commit", "c5", false, false)
	w.must(t, event(four, terret.TurnComplete{}), checkpoint(four, "c7", "after", true), rewound("c7", "undo", four))
	want("a turn that ends and is undone in one commit", "c7", false, true)

	// A turn that changed no file can be undone too, where the agent goes back.
	five := terret.NewID(terret.PrefixTurn)
	w.must(t, start(five))
	w.must(t, event(five, terret.TurnComplete{}), rewound("c8", "undo", five))
	want("undo of a conversation", "c8", false, true)
	w.must(t, rewound("c9", "redo", five))
	want("redo of a conversation", "c9", false, false)
}
