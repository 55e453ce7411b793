package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// found lists the numbers of what a search finds, page by page.
func found(t *testing.T, st terret.Store, q terret.SearchQuery) []string {
	t.Helper()
	out := []string{}
	for range 100 {
		page, err := st.Search(t.Context(), q)
		if err != nil {
			t.Fatalf("search for %q: %v", q.Words, err)
		}
		for _, f := range page.Items {
			out = append(out, fmt.Sprintf("%s %d", f.Title, f.Seq))
		}
		if q.Cursor = page.Next; page.Next == "" {
			return out
		}
	}
	t.Fatal("pages without end")
	return nil
}

func asked(turn, text string) terret.Event {
	return event(turn, terret.TurnStart{Prompt: []terret.Block{terret.Text(text)}, Origin: terret.OriginUser})
}

// titled makes a session with a title, and claims it.
func titled(t *testing.T, st terret.Store, title string) *writer {
	t.Helper()
	n := create(t, st, terret.Session{Title: title})
	w, err := claim(t.Context(), st, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// testSearch finds what people and agents said by its words, and nothing else.
func testSearch(t *testing.T, s *suite) {
	st := s.fresh(t)
	a, b := titled(t, st, "a"), titled(t, st, "b")
	a.must(t, asked("trn_1", "Why is auth/login_test.go flaky?"), piece("trn_1", "m1", "unfinished piece"),
		event("trn_1", terret.ToolPre{ToolID: "t1", Name: "Bash", Input: []byte(`{"command":"toolword"}`)}),
		event("trn_1", terret.MessageComplete{MessageID: "r1", Role: terret.RoleTool, Blocks: []terret.Block{terret.Text("resultword")}}),
		whole("trn_1", "m1", "The clock skews: it's 100% Größe and 東京."), event("trn_1", terret.TurnComplete{Text: "The clock skews"}))
	b.must(t, asked("trn_2", "clock in the other session"), event("trn_2", terret.UserPrompt{Blocks: []terret.Block{terret.Text("and look at the wall")}}),
		event("trn_2", terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted, Message: "x"}, Text: "half a sentence about clocks"}))
	b.must(t, asked("trn_3", strings.Repeat("filler ", 40)+"needle "+strings.Repeat("hay ", 30_000)))
	for words, want := range map[string][]string{
		"clock":           {"b 3", "b 1", "a 5"},
		"CLOCK other":     {"b 1"},
		"login":           {"a 1"},
		"login_test.go":   {"a 1"},
		"flak":            {"a 1"},
		"laky":            {},
		"wall":            {"b 2"},
		"größe":           {"a 5"},
		"東":               {"a 5"},
		"unfinished":      {},
		"toolword":        {},
		"resultword":      {},
		"100%":            {"a 5"},
		`clock OR skews`:  {}, // OR is a word like any other
		"clock NOT skews": {},
		"nowhere":         {},
		"needle":          {"b 4"},
	} {
		diff(t, words, found(t, st, terret.SearchQuery{Words: words}), want)
	}
	diff(t, "in pages", found(t, st, terret.SearchQuery{Words: "clock", Limit: 1}), []string{"b 3", "b 1", "a 5"})
	diff(t, "in one session", found(t, st, terret.SearchQuery{Words: "clock", Session: a.session}), []string{"a 5"})
	page, err := st.Search(t.Context(), terret.SearchQuery{Words: "needle"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	f := page.Items[0]
	if !strings.HasPrefix(f.Text, "… filler") || !strings.Contains(f.Text, "needle hay") || !strings.HasSuffix(f.Text, "…") || len([]rune(f.Text)) > 210 {
		t.Errorf("around the word: %q", f.Text)
	}
	if f.Session != b.session || f.Turn != "trn_3" || f.Role != terret.RoleUser || f.Agent != "mock" || f.Cwd != "/work" || f.Time.IsZero() {
		t.Errorf("found %+v", f)
	}
	for _, q := range []terret.SearchQuery{{}, {Words: " %'\" "}, {Words: "clock", Cursor: "x"}, {Words: strings.Repeat("a b1 c2 ", 1) + many(40)}} {
		_, err := st.Search(t.Context(), q)
		wantError(t, fmt.Sprintf("%.40q", q.Words), err, terret.CodeInvalidRequest)
	}
}

func many(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "word%d ", i)
	}
	return out.String()
}

// testSearchDelete forgets the words of a deleted session, those that were indexed and
// those that were not.
func testSearchDelete(t *testing.T, s *suite) {
	st := s.fresh(t)
	a, b := titled(t, st, "a"), titled(t, st, "b")
	b.must(t, asked("trn_1", "secret of b"))
	for i := range 1200 { // more than a chunk
		a.must(t, asked(fmt.Sprintf("trn_a%d", i), fmt.Sprintf("secret %d", i)), event(fmt.Sprintf("trn_a%d", i), terret.TurnComplete{}))
		if i == 1100 {
			if n := len(found(t, st, terret.SearchQuery{Words: "secret", Session: a.session, Limit: 200})); n != 1101 {
				t.Fatalf("found %d", n)
			}
		}
	}
	if err := st.Delete(t.Context(), a.session); err != nil {
		t.Fatal(err)
	}
	diff(t, "after the deletion", found(t, st, terret.SearchQuery{Words: "secret"}), []string{"b 1"})
	compact(t, st, at(1, 0), 0)
	c := titled(t, st, "c")
	c.must(t, asked("trn_c", "new secret"))
	diff(t, "afterwards", found(t, st, terret.SearchQuery{Words: "secret"}), []string{"c 1", "b 1"})
	if findings, err := maintainer(t, st).Check(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
}
