package storetest

import (
	"testing"

	"github.com/terret-dev/terret"
)

// pending lists the bodies of what waits in a session.
func pending(t *testing.T, st terret.Store, session string) []string {
	t.Helper()
	items, err := st.Pending(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, i := range items {
		out = append(out, string(i.Body))
	}
	return out
}

// testInbox sends, edits, moves and drops.
func testInbox(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w, other := newWriter(t, st), create(t, st, terret.Session{})
	item := terret.InboxItem{ID: "i1", Session: w.session, Kind: terret.InboxPrompt, Body: []byte(`"one"`), By: "me", At: at(1, 1)}
	send := func(id, session, body string) {
		t.Helper()
		if err := st.Send(ctx, terret.InboxItem{ID: id, Session: session, Kind: terret.InboxPrompt, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Send(ctx, item); err != nil {
		t.Fatal(err)
	}
	got, err := st.Pending(ctx, w.session)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "item", got, []terret.InboxItem{item})
	send("i2", w.session, `"two"`)
	send("i3", w.session, `"three"`)
	send("i2", w.session, `"again"`) // is there already
	send("o1", other.ID, `"other"`)
	diff(t, "in order", pending(t, st, w.session), []string{`"one"`, `"two"`, `"three"`})
	diff(t, "of this worker's sessions", pending(t, st, ""), []string{`"one"`, `"two"`, `"three"`})

	edit := func(id, body, before string) error {
		var b []byte
		if body != "" {
			b = []byte(body)
		}
		return st.Edit(ctx, id, b, before)
	}
	for _, c := range []struct {
		id, body, before string
		want             []string
	}{
		{"i2", `"2"`, "", []string{`"one"`, `"2"`, `"three"`}},
		{"i3", "", "i1", []string{`"three"`, `"one"`, `"2"`}},
		{"i3", "", "end", []string{`"one"`, `"2"`, `"three"`}},
		{"i3", `"3"`, "i2", []string{`"one"`, `"3"`, `"2"`}},
		{"i1", "", "i2", []string{`"3"`, `"one"`, `"2"`}},
		{"i1", "", "i1", []string{`"3"`, `"one"`, `"2"`}},
		{"i1", "", "", []string{`"3"`, `"one"`, `"2"`}},
	} {
		if err := edit(c.id, c.body, c.before); err != nil {
			t.Errorf("edit %v: %v", c, err)
		}
		diff(t, "after an edit", pending(t, st, w.session), c.want)
	}
	wantError(t, "before another session's", edit("i1", `"lost"`, "o1"), terret.CodeInvalidRequest)
	wantError(t, "before nothing", edit("i1", `"lost"`, "none"), terret.CodeNotFound)
	wantError(t, "edit of nothing", edit("none", `"x"`, ""), terret.CodeNotFound)
	diff(t, "after edits that failed", pending(t, st, w.session), []string{`"3"`, `"one"`, `"2"`})
	send("i4", w.session, `"4"`)
	if err := st.Drop(ctx, "i1"); err != nil {
		t.Error(err)
	}
	diff(t, "after a drop", pending(t, st, w.session), []string{`"3"`, `"2"`, `"4"`})
	wantError(t, "drop again", st.Drop(ctx, "i1"), terret.CodeConflict)
	wantError(t, "edit of a dropped one", edit("i1", "1", ""), terret.CodeConflict)
	wantError(t, "drop of nothing", st.Drop(ctx, "none"), terret.CodeNotFound)
	send("i1", w.session, `"back"`) // its id is used up
	diff(t, "after sending a dropped one again", pending(t, st, w.session), []string{`"3"`, `"2"`, `"4"`})

	if err := st.Send(ctx, terret.InboxItem{Session: w.session, Kind: terret.InboxClose}); err == nil {
		t.Error("an item without an id")
	}
	wantError(t, "no session", st.Send(ctx, terret.InboxItem{ID: "x", Session: terret.NewSessionID(), Kind: terret.InboxClose}), terret.CodeSessionNotFound)
	if got, err := st.Pending(ctx, other.ID); err != nil || len(got) != 1 || got[0].At.IsZero() || got[0].Session != other.ID {
		t.Errorf("other session: %+v, %v", got, err)
	}
}

// testInboxTaken takes items in the commit of what came of them.
func testInboxTaken(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w := newWriter(t, st)
	turn := terret.NewID(terret.PrefixTurn)
	for _, id := range []string{turn, "next"} {
		if err := st.Send(ctx, terret.InboxItem{ID: id, Session: w.session, Kind: terret.InboxPrompt, Body: []byte(`"` + id + `"`)}); err != nil {
			t.Fatal(err)
		}
	}
	take := w.batch(start(turn))
	take.Taken = []string{turn}
	refusals := map[string]func(*terret.Batch){
		"old epoch":     func(b *terret.Batch) { b.Epoch-- },
		"wrong number":  func(b *terret.Batch) { b.After++ },
		"wrong content": func(b *terret.Batch) { b.Events = append(b.Events, event("trn_none", terret.TurnComplete{})) },
	}
	for what, spoil := range refusals {
		b := take
		b.Events = append([]terret.Event(nil), take.Events...)
		spoil(&b)
		if _, err := w.commit(ctx, b); err == nil {
			t.Fatalf("%s: committed", what)
		}
		diff(t, "after "+what, pending(t, st, w.session), []string{`"` + turn + `"`, `"next"`})
	}
	if _, err := w.commit(ctx, take); err != nil {
		t.Fatal(err)
	}
	diff(t, "after the commit", pending(t, st, w.session), []string{`"next"`})
	wantError(t, "drop of a taken one", st.Drop(ctx, turn), terret.CodeConflict)
	wantError(t, "edit of a taken one", st.Edit(ctx, turn, []byte(`1`), ""), terret.CodeConflict)
	alone := w.batch()
	alone.Taken = []string{"next"}
	if _, err := w.commit(ctx, alone); err != nil {
		t.Fatal(err)
	}
	diff(t, "taken without events", pending(t, st, w.session), []string{})
	if w.seq != 1 {
		t.Errorf("the log is at %d, not 1", w.seq)
	}
}

// testRules adds, lists, counts, replaces and removes.
func testRules(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w := newWriter(t, st)
	rule := func(id string, hour int, session string) terret.Rule {
		r := terret.Rule{ID: id, Effect: terret.EffectAllow, Pattern: "Bash(" + id + ")", Scope: terret.ScopeAlways, MadeBy: "me", MadeAt: at(1, hour)}
		if session != "" {
			r.Scope, r.Session = terret.ScopeSession, session
		}
		return r
	}
	list := func(session string) []terret.Rule {
		t.Helper()
		rules, err := st.ListRules(ctx, session)
		if err != nil {
			t.Fatal(err)
		}
		return rules
	}
	a, b, c, d := rule("b", 1, ""), rule("a", 2, ""), rule("c", 3, w.session), rule("d", 0, terret.NewSessionID())
	for _, r := range []terret.Rule{d, c, b, a} {
		if err := st.PutRule(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "always", list(""), []terret.Rule{a, b})
	diff(t, "with a session's", list(w.session), []terret.Rule{a, b, c})

	batch := w.batch(note("decided"))
	batch.Hits = map[string]int64{a.ID: 2, c.ID: 1, "none": 1}
	if _, err := w.commit(ctx, batch); err != nil {
		t.Fatal(err)
	}
	batch = w.batch()
	batch.Hits = map[string]int64{a.ID: 3}
	if _, err := w.commit(ctx, batch); err != nil {
		t.Fatal(err)
	}
	batch.Epoch--
	if _, err := w.commit(ctx, batch); err == nil {
		t.Error("hits of an old epoch")
	}
	a.Hits, c.Hits = 5, 1
	diff(t, "hits", list(w.session), []terret.Rule{a, b, c})
	a.Effect, a.Pattern, a.Hits = terret.EffectDeny, "Read", 0
	if err := st.PutRule(ctx, a); err != nil {
		t.Fatal(err)
	}
	a.Hits = 5
	diff(t, "replaced", list(""), []terret.Rule{a, b})
	if err := st.DeleteRule(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	wantError(t, "delete again", st.DeleteRule(ctx, a.ID), terret.CodeNotFound)
	diff(t, "deleted", list(""), []terret.Rule{b})

	for field, r := range map[string]terret.Rule{
		"id":      {Effect: terret.EffectAllow, Pattern: "x", Scope: terret.ScopeAlways},
		"effect":  {ID: "x", Effect: "maybe", Pattern: "x", Scope: terret.ScopeAlways},
		"pattern": {ID: "x", Effect: terret.EffectAllow, Scope: terret.ScopeAlways},
		"scope":   {ID: "x", Effect: terret.EffectAllow, Pattern: "x", Scope: terret.ScopeSession},
	} {
		err := st.PutRule(ctx, r)
		wantError(t, field, err, terret.CodeInvalidRequest)
		if err != nil && terret.AsError(err).Field != field {
			t.Errorf("the error names field %q, not %q", terret.AsError(err).Field, field)
		}
	}
}
