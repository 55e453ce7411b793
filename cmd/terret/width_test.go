package main

import "testing"

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"shorter", 5, "shor…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"one two", 5, "one…"},
		{"a👩‍👩‍👧‍👦b", 3, "a…"},
		{"text", 0, "…"},
		{"text", -3, "…"},
	} {
		if got := fit(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
