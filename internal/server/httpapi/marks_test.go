package httpapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// TestMarks pins, puts away and ticks off sessions, for all devices.
func TestMarks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := terret.NewSessionID(), terret.NewSessionID()
	var m httpapi.Marks
	f.do("GET", "/v1/marks", nil).want(200, &m)
	if len(m.Pinned) != 0 || len(m.Archived) != 0 || len(m.Seen) != 0 {
		t.Errorf("%+v", m)
	}
	f.do("PATCH", "/v1/marks", map[string]any{"pin": []string{one, two}, "archive": []string{one}, "seen": []string{two}}).want(200, nil)
	f.do("PATCH", "/v1/marks", map[string]any{"pin": []string{one}, "unarchive": []string{one}}).want(200, nil)
	phone := f.holding("phone", access.View, "")
	phone.do("GET", "/v1/marks", nil).want(200, &m)
	if !slices.Equal(m.Pinned, []string{two, one}) || len(m.Archived) != 0 || m.Seen[two].IsZero() {
		t.Errorf("%+v", m)
	}
	phone.do("PATCH", "/v1/marks", map[string]any{"unpin": []string{one}}).problem(403, terret.CodeForbidden, "")
	f.do("PATCH", "/v1/marks", map[string]any{"pin": []string{"../x"}}).problem(422, terret.CodeInvalidRequest, "body")
	guest := f.holding("guest", access.Decide, one)
	guest.do("GET", "/v1/marks", nil).problem(403, terret.CodeForbidden, "")
	guest.do("PATCH", "/v1/marks", map[string]any{"pin": []string{one}}).problem(403, terret.CodeForbidden, "")
	if err := os.WriteFile(filepath.Join(f.home, "marks.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do("GET", "/v1/marks", nil).problem(500, terret.CodeInternal, "")
}

// TestLabels gives sessions words, within bounds, and takes them away.
func TestLabels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := terret.NewSessionID(), terret.NewSessionID()
	change := func(what, word string, ids ...string) answer {
		return f.do("PATCH", "/v1/marks", map[string]any{what: map[string]any{word: ids}})
	}
	labels := func() map[string][]string {
		var m httpapi.Marks
		f.do("GET", "/v1/marks", nil).want(200, &m)
		return m.Labels
	}
	if got := labels(); got == nil || len(got) != 0 {
		t.Errorf("%v", got)
	}
	change("label", "flaky test", one, two).want(200, nil)
	change("label", "flaky test", one).want(200, nil)
	change("label", "later", one).want(200, nil)
	change("unlabel", "flaky test", two).want(200, nil)
	if got := labels(); len(got) != 1 || !slices.Equal(got[one], []string{"flaky test", "later"}) {
		t.Errorf("%v", got)
	}
	for i := range 12 {
		change("label", fmt.Sprintf("n%02d", i), two).want(200, nil)
	}
	if got := labels()[two]; len(got) != 10 || got[0] != "n02" || got[9] != "n11" {
		t.Errorf("the newest ten are kept: %v", got)
	}
	for _, word := range []string{"", " x", "a\nb", strings.Repeat("x", 41)} {
		change("label", word, one).problem(422, terret.CodeInvalidRequest, "body")
	}
	change("unlabel", "later", "../x").problem(422, terret.CodeInvalidRequest, "body")
	change("label", strings.Repeat("ü", 40), one).want(200, nil)
}
