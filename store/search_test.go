package store_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// TestSnippet shows the word that was found, whatever is around it.
func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("一二三四五六七八九十", 20) + "，你好世界。" + strings.Repeat("十", 300)
	for _, c := range []struct{ name, text, word, first, shows string }{
		{"short", "Hello  big\nworld", "world", "Hello big world", "world"},
		{"begins with a whole word", strings.Repeat("word ", 50) + "needle here", "needle", "… word ", "needle here"},
		{"no spaces", long, "你好", "… ", "，你好世界。十"},
		{"one long word before it", strings.Repeat("x", 300) + "/needle", "needle", "… x", "needle"},
		{"nothing found", strings.Repeat("word ", 100), "needle", "word ", "word …"},
	} {
		got := store.Snippet(c.text, []string{c.word})
		if !strings.HasPrefix(got, c.first) || !strings.Contains(got, c.shows) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestPageSize gives as much as there may be to those who ask for more.
func TestPageSize(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int]int{-1: 50, 0: 50, 1: 1, 200: 200, 201: 200, 1 << 40: 200} {
		if limit, _, err := store.SearchPage(terret.SearchQuery{Limit: asked}); err != nil || limit != want {
			t.Errorf("%d: %d, %v", asked, limit, err)
		}
	}
}
