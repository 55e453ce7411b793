package draft

import "testing"

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本語": 6, "e\u0301te\u0301": 3, "שלום": 4, "｡": 1, "！": 2,
		"👍🏽": 2, "👩‍👩‍👧‍👦": 2, "🇩🇪🇫🇷": 4, "❤️": 2, "한국": 4, "a\u200bb": 2,
	} {
		if got := Columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}
