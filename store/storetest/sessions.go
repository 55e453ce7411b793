package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/terret-dev/terret"
)

// testCreate makes sessions, good ones and others.
func testCreate(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	want := terret.Session{
		ID: terret.NewSessionID(), Agent: "claude", NativeID: "n", Title: "a title", Cwd: "/a b", Persona: "p", Mode: terret.ModePipeline,
		Model: "m", Policy: terret.PolicyRules, PermissionMode: "plan", OneShot: true, State: terret.SessionIdle, CreatedAt: at(1, 1),
		ForkedFrom: "f", HandedTo: "h", Options: terret.SessionOptions{Tools: []string{"Bash"}, MaxCostUSD: 5, KeepRaw: true, MCP: []byte(`{"a":1}`)},
	}
	got, err := st.Create(ctx, want)
	want.UpdatedAt = want.CreatedAt
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "created", got, want)
	diff(t, "read", wantSession(t, st, want.ID), want)
	_, err = st.Create(ctx, want)
	wantError(t, "same id again", err, terret.CodeConflict)

	got = create(t, st, terret.Session{})
	if got.State != terret.SessionPending || got.CreatedAt.IsZero() || got.UpdatedAt != got.CreatedAt || got.Owner != "" || got.Revert != nil {
		t.Errorf("defaults: %+v", got)
	}
	for field, n := range map[string]terret.Session{
		"id":    {ID: "../../etc", Agent: "x", Cwd: "/"},
		"agent": {ID: terret.NewSessionID(), Cwd: "/"},
		"cwd":   {ID: terret.NewSessionID(), Agent: "x"},
	} {
		_, err := st.Create(ctx, n)
		wantError(t, field, err, terret.CodeInvalidRequest)
		if err != nil && terret.AsError(err).Field != field {
			t.Errorf("the error names field %q, not %q", terret.AsError(err).Field, field)
		}
	}
	_, err = st.Session(ctx, terret.NewSessionID())
	wantError(t, "unknown session", err, terret.CodeSessionNotFound)
}

// titles lists all pages.
func titles(t *testing.T, st terret.Store, f terret.SessionFilter) []string {
	t.Helper()
	out := []string{}
	for range 100 {
		page, err := st.ListSessions(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Items {
			out = append(out, n.Title)
		}
		if f.Cursor = page.Next; page.Next == "" {
			return out
		}
		if len(page.Items) == 0 {
			t.Fatal("an empty page has a next one")
		}
	}
	t.Fatal("pages without end")
	return nil
}

// testList filters, searches and sorts.
func testList(t *testing.T, s *suite) {
	st := s.fresh(t)
	add := func(hour int, n terret.Session) terret.Session {
		n.CreatedAt = at(1, hour)
		return create(t, st, n)
	}
	a := add(1, terret.Session{Title: "Fix 100% of it", Agent: "claude", Cwd: "/home/one", Model: "opus", NativeID: "n1", State: terret.SessionIdle})
	b := add(2, terret.Session{Title: "fix_this", Agent: "codex", Cwd: "/home/two", Model: "gpt", State: terret.SessionBusy})
	add(3, terret.Session{Title: `back\slash`, Agent: "claude", Cwd: "/home/two", Model: "opus", State: terret.SessionClosed})
	add(4, terret.Session{Title: "fixed 1000 things", Agent: "mock", Cwd: "/srv", Model: "demo", State: terret.SessionIdle})
	for _, c := range []struct {
		what   string
		filter terret.SessionFilter
		want   []string
	}{
		{"all, last updated first", terret.SessionFilter{}, []string{"fixed 1000 things", `back\slash`, "fix_this", "Fix 100% of it"}},
		{"agent", terret.SessionFilter{Agent: "claude"}, []string{`back\slash`, "Fix 100% of it"}},
		{"folder", terret.SessionFilter{Cwd: "/home/two"}, []string{`back\slash`, "fix_this"}},
		{"folder is not a prefix", terret.SessionFilter{Cwd: "/home"}, []string{}},
		{"native id", terret.SessionFilter{NativeID: "n1"}, []string{"Fix 100% of it"}},
		{"states", terret.SessionFilter{States: []terret.SessionState{terret.SessionBusy, terret.SessionClosed}}, []string{`back\slash`, "fix_this"}},
		{"two filters", terret.SessionFilter{Agent: "claude", Cwd: "/home/one"}, []string{"Fix 100% of it"}},
		{"whole id", terret.SessionFilter{IDPrefix: a.ID}, []string{"Fix 100% of it"}},
		{"prefix of an id", terret.SessionFilter{IDPrefix: b.ID[:len(b.ID)-2]}, []string{"fix_this"}},
		{"wildcards in a prefix", terret.SessionFilter{IDPrefix: "%"}, []string{}},
		{"a word, any case", terret.SessionFilter{Query: "FIX"}, []string{"fixed 1000 things", "fix_this", "Fix 100% of it"}},
		{"two words in two columns", terret.SessionFilter{Query: "two opus"}, []string{`back\slash`}},
		{"agent by word", terret.SessionFilter{Query: "codex"}, []string{"fix_this"}},
		{"percent is literal", terret.SessionFilter{Query: "100%"}, []string{"Fix 100% of it"}},
		{"underscore is literal", terret.SessionFilter{Query: "fix_"}, []string{"fix_this"}},
		{"backslash is literal", terret.SessionFilter{Query: `k\s`}, []string{`back\slash`}},
		{"quote is literal", terret.SessionFilter{Query: `'`}, []string{}},
		{"nothing matches", terret.SessionFilter{Query: "nowhere"}, []string{}},
		{"old", terret.SessionFilter{UpdatedBefore: at(1, 3)}, []string{"fix_this", "Fix 100% of it"}},
		{"old, of one agent", terret.SessionFilter{UpdatedBefore: at(1, 4), Agent: "claude"}, []string{`back\slash`, "Fix 100% of it"}},
		{"by title", terret.SessionFilter{Sort: "title"}, []string{"Fix 100% of it", `back\slash`, "fix_this", "fixed 1000 things"}},
		{"by creation", terret.SessionFilter{Sort: "created"}, []string{"fixed 1000 things", `back\slash`, "fix_this", "Fix 100% of it"}},
	} {
		diff(t, c.what, titles(t, st, c.filter), c.want)
	}
	_, err := st.ListSessions(t.Context(), terret.SessionFilter{Sort: "color"})
	wantError(t, "sort", err, terret.CodeInvalidRequest)
	for _, cursor := range []string{"nonsense", "bm9uc2Vuc2U", "W10", "WzEsMl0"} {
		_, err = st.ListSessions(t.Context(), terret.SessionFilter{Cursor: cursor})
		wantError(t, "cursor", err, terret.CodeInvalidRequest)
	}

	// A rename goes through the log.
	w, err := claim(t.Context(), st, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	title := "zzz"
	w.must(t, event("", terret.SessionUpdated{Title: &title}))
	diff(t, "after a rename", titles(t, st, terret.SessionFilter{}), []string{"zzz", "fixed 1000 things", `back\slash`, "fix_this"})
	w.must(t, start("trn_x"), event("trn_x", terret.TurnComplete{CostUSD: 10}))
	diff(t, "no longer old", titles(t, st, terret.SessionFilter{UpdatedBefore: at(1, 3)}), []string{"fix_this"})
	diff(t, "by cost", titles(t, st, terret.SessionFilter{Sort: "cost", Limit: 1}), []string{"zzz", "fixed 1000 things", `back\slash`, "fix_this"})
}

// testListPages pages through sessions of which many have the same sort key.
func testListPages(t *testing.T, s *suite) {
	st := s.fresh(t)
	var all []string
	for i := range 23 {
		title := []string{"same", "same", "other", fmt.Sprint(i), "brok\xffen", "", `"quoted" <&> ` + fmt.Sprint(i)}[i%7]
		n := create(t, st, terret.Session{Title: title, CreatedAt: at(1, i/10)})
		all = append(all, n.ID)
	}
	slices.Sort(all)
	for _, sort := range []string{"", "updated", "created", "title", "cost"} {
		var whole []string
		for _, limit := range []int{0, 1, 2, 7, 22, 23, 24} {
			var ids []string
			f := terret.SessionFilter{Sort: sort, Limit: limit}
			for range 50 {
				page, err := st.ListSessions(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range page.Items {
					ids = append(ids, n.ID)
				}
				if f.Cursor = page.Next; f.Cursor == "" {
					break
				}
			}
			if limit == 0 {
				whole = ids
				if d := cmp.Diff(all, ids, cmpopts.SortSlices(strings.Compare)); d != "" {
					t.Fatalf("sort %q: not all sessions:\n%s", sort, d)
				}
			}
			diff(t, fmt.Sprintf("sort %q by %d", sort, limit), ids, whole)
		}
	}
	for _, sort := range []string{"created", "title", "cost"} { // the place in another order means nothing here
		page, err := st.ListSessions(t.Context(), terret.SessionFilter{Sort: sort, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.ListSessions(t.Context(), terret.SessionFilter{Cursor: page.Next})
		wantError(t, "cursor of "+sort, err, terret.CodeInvalidRequest)
	}
}

// full is a session that has something of everything.
type full struct {
	*writer
	turn, request, inbox, rule string
}

func newFull(t *testing.T, st terret.Store) full {
	t.Helper()
	f := full{writer: newWriter(t, st), turn: terret.NewID(terret.PrefixTurn), inbox: terret.NewID(terret.PrefixControl), rule: terret.NewID(terret.PrefixRule)}
	e := ask(f.turn)
	f.request = e.Expects.RequestID
	big := note("%s", strings.Repeat("b", 100_000))
	big.Raw = []byte(strings.Repeat("r", 100_000))
	f.must(t, start(f.turn), e, big)
	if err := st.Send(t.Context(), terret.InboxItem{ID: f.inbox, Session: f.session, Kind: terret.InboxPrompt}); err != nil {
		t.Fatal(err)
	}
	if err := st.PutRule(t.Context(), terret.Rule{ID: f.rule, Effect: terret.EffectAllow, Pattern: "x", Scope: terret.ScopeSession, Session: f.session}); err != nil {
		t.Fatal(err)
	}
	return f
}

// wantGone checks that nothing shows the session any more.
func (f full) wantGone(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := f.st.Session(ctx, f.session)
	wantError(t, "session", err, terret.CodeSessionNotFound)
	_, err = f.st.Read(ctx, terret.ReadQuery{Session: f.session})
	wantError(t, "read", err, terret.CodeSessionNotFound)
	_, err = f.st.Turns(ctx, f.session)
	wantError(t, "turns", err, terret.CodeSessionNotFound)
	_, err = f.st.Request(ctx, f.request)
	wantError(t, "request", err, terret.CodeNotFound)
	wantError(t, "answer", f.st.Answer(ctx, decision(f.request, terret.BehaviorAllow, "")), terret.CodeNotFound)
	wantError(t, "send", f.st.Send(ctx, terret.InboxItem{ID: "x", Session: f.session, Kind: terret.InboxClose}), terret.CodeSessionNotFound)
	_, err = f.st.Claim(ctx, f.session)
	wantError(t, "claim", err, terret.CodeSessionNotFound)
	wantError(t, "delete", f.st.Delete(ctx, f.session), terret.CodeSessionNotFound)
	for _, query := range []terret.ReadAllQuery{{}, {Sessions: []string{f.session}}} {
		entries, err := f.st.ReadAll(ctx, query)
		if err != nil || slices.ContainsFunc(entries, func(e terret.Entry) bool { return e.Session == f.session }) {
			t.Errorf("it is still among all events, or %v", err)
		}
	}
	page, err := f.st.ListSessions(ctx, terret.SessionFilter{IDPrefix: f.session})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("listed: %v, %v", page, err)
	}
	requests, err := f.st.ListRequests(ctx, terret.RequestFilter{Session: f.session})
	if err != nil || len(requests.Items) != 0 {
		t.Errorf("requests: %v, %v", requests, err)
	}
	pending, err := f.st.Pending(ctx, f.session)
	if err != nil || len(pending) != 0 {
		t.Errorf("pending: %v, %v", pending, err)
	}
	if _, err := f.append(ctx, note("after the end")); err == nil {
		t.Error("its owner can still append")
	}
}

// wantSpace checks that the ids are free again and nothing is left under them.
func (f full) wantSpace(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	create(t, f.st, terret.Session{ID: f.session})
	w, err := claim(ctx, f.st, f.session)
	if err != nil {
		t.Fatal(err)
	}
	if w.seq != 0 {
		t.Errorf("a new session under its id begins at %d", w.seq)
	}
	if turns, err := f.st.Turns(ctx, f.session); err != nil || len(turns) != 0 {
		t.Errorf("turns: %v, %v", turns, err)
	}
	if rules, err := f.st.ListRules(ctx, f.session); err != nil || len(rules) != 0 {
		t.Errorf("rules: %v, %v", rules, err)
	}
	e := ask(f.turn)
	e.Expects.RequestID = f.request
	w.must(t, start(f.turn), e)
	if err := f.st.Send(ctx, terret.InboxItem{ID: f.inbox, Session: f.session, Kind: terret.InboxPrompt}); err != nil {
		t.Fatal(err)
	}
	if pending, err := f.st.Pending(ctx, f.session); err != nil || len(pending) != 1 {
		t.Errorf("pending: %v, %v", pending, err)
	}
}

func (s *suite) wantBlobs(t *testing.T, st terret.Store, want int) {
	t.Helper()
	if got, err := s.Blobs(t.Context(), st); err != nil || got != want {
		t.Errorf("%d large bodies are stored, want %d, %v", got, want, err)
	}
}

// testDelete deletes one of two sessions.
func testDelete(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	gone, stays := newFull(t, st), newFull(t, st)
	for range 30 { // more than one transaction removes at once
		var events []terret.Event
		for i := range 50 {
			events = append(events, note("%d", i))
		}
		gone.must(t, events...)
	}
	before := mustRead(t, st, stays.session)
	if err := st.Delete(ctx, gone.session); err != nil {
		t.Fatal(err)
	}
	gone.wantGone(t)
	if _, err := maintainer(t, st).Compact(ctx, at(1, 0).Time); err != nil {
		t.Fatal(err)
	}
	s.wantBlobs(t, st, 2) // the body of the one that stays, and the raw message of both
	gone.wantSpace(t)
	same(t, mustRead(t, st, stays.session), before)
	if pending, err := st.Pending(ctx, stays.session); err != nil || len(pending) != 1 {
		t.Errorf("pending of the other session: %v, %v", pending, err)
	}
	if rules, err := st.ListRules(ctx, stays.session); err != nil || len(rules) != 1 {
		t.Errorf("rules of the other session: %v, %v", rules, err)
	}
	stays.must(t, note("goes on"))
	if err := st.Delete(ctx, stays.session); err != nil {
		t.Fatal(err)
	}
	if _, err := maintainer(t, st).Compact(ctx, at(1, 0).Time); err != nil {
		t.Fatal(err)
	}
	s.wantBlobs(t, st, 0)
}

// testInterruptedDelete loses the answer to the first step of a deletion.
func testInterruptedDelete(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	f := newFull(t, st)
	s.Lose(st, "after", fmt.Errorf("the power went"))
	if err := st.Delete(ctx, f.session); err == nil {
		t.Fatal("the deletion was not interrupted")
	}
	f.wantGone(t)
	s.wantBlobs(t, st, 2)
	if _, err := maintainer(t, st).Compact(ctx, at(1, 0).Time); err != nil {
		t.Fatal(err)
	}
	f.wantGone(t)
	s.wantBlobs(t, st, 0)
	f.wantSpace(t)
}
