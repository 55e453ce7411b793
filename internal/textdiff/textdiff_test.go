package textdiff

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, text := range []string{
		"diff --git a/x.go b/x.go\nindex 1..2\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,3 @@ func\n one\n+two\n-three\n+four\n\\ No newline at end of file\n",
		"diff --git \"a/\\303\\274.go\" \"b/\\303\\274.go\"\n--- \"a/\\303\\274.go\"\n+++ \"b/\\303\\274.go\"\n@@ -5 +7 @@\n-x\n+y\n",
		"diff --git a/some picture b/some picture\nindex 1..2\nBinary files a/some picture and b/some picture differ\n",
		"diff --git a/cut b/cut\n--- a/cut\n+++ b/cut\n@@ -1,9 +1,9 @@\n+all\n@@ nonsense @@\n",
	} {
		all.WriteString(text)
	}
	var got []string
	for _, f := range Parse("before\n" + all.String()) {
		got = append(got, fmt.Sprint(f.Path, " ", f.Lines, f.Insertions, f.Deletions))
	}
	want := "[x.go map[1:true 2:true 3:true] 2 1 ü.go map[7:true] 1 1 some picture map[] 0 0 cut map[1:true] 1 0]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	large, many := strings.Repeat("x", MaxInput+1), strings.Repeat("line\n", MaxDiff/4)
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing": {"a\n", "a\n", ""},
		"one":     {"a\nb\n", "a\nc\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		"binary":  {"a", "a\x00", "Binary files a/f and b/f differ\n"},
		"bytes":   {"", "\xff\n", "\uFFFD"},
		"large":   {"", large, "[too large for a diff: 0 bytes become 2097153]"},
		"many":    {"", many, "bytes of the diff cut ...]\n"},
	} {
		from, to := Names("/f")
		got := Between(from, to, c.before, c.after)
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || len(got) > MaxDiff+100 {
			t.Errorf("%s: %q", name, got[:min(len(got), 200)])
		}
	}
	if from, to := Names("a\nb"); from != `a/a\nb` || to != `b/a\nb` {
		t.Errorf("%q, %q", from, to)
	}
}

// TestLargeDiff holds that the cost of a diff grows with its size, not with its square.
func TestLargeDiff(t *testing.T) {
	const lines = 20_000
	text := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,20000 @@\n" + strings.Repeat("+x\n", lines)
	if n := testing.AllocsPerRun(1, func() { split(text) }); n > lines/100 {
		t.Errorf("%v allocations for %d lines", n, lines)
	}
	if parts := split("before\n" + text + text); len(parts) != 2 || parts[0] != text || parts[1] != text {
		t.Errorf("%d parts", len(parts))
	}
}
