package tui

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/terret-dev/terret"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ntext":              "plain\ntext",
		"\x1b[31mred\x1b[0m":       "␛[31mred␛[0m",
		"\x1b]0;title\a":           "␛]0;title␇",
		"a\tb\r\nc\rd":             "a    b\ncd",
		"\u202eevil\u202c":         "�evil�",
		"\u0085\u009b31m":          "��31m",
		"bad \xff\xfe bytes":       "bad �� bytes",
		"日本語 é e\u0301":            "日本語 é e\u0301",
		"❤\ufe0f":                  "❤",
		"👩\u200d👩\u200d👧":          "👩👩👧",
		"\u2028\u2029\ufeff\u200b": "����",
		"\x7f\x00":                 "␡␀",
	} {
		if got := safe(in); got != want {
			t.Errorf("safe(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzSafe holds what every text on the screen is: nothing in it acts on the terminal, and
// terminals agree on how wide it is.
func FuzzSafe(f *testing.F) {
	for _, s := range []string{"a\x1b[2Jb", "\u202e", "e\u0301\u0301\u0301", "👍🏽🇩🇪", "\xe2\x28\xa1", "กำ", "क्षि", "한국", "\u1160\u1160", "a\ufe0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := safe(in)
		if !utf8.ValidString(out) {
			t.Fatalf("%q is not UTF-8", out)
		}
		for _, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%q holds %U", out, r)
			}
		}
		for part := range strings.SplitSeq(out, "\n") {
			if a, b := ansi.StringWidth(part), ansi.StringWidthWc(part); a != b {
				t.Fatalf("%q is %d or %d columns wide", part, a, b)
			}
			if got := ansi.Strip(part); got != part {
				t.Fatalf("%q holds a sequence: without %q", part, got)
			}
		}
	})
}

// FuzzMarkdown holds that any text can be laid out, in any width, and stays within it.
func FuzzMarkdown(f *testing.F) {
	f.Add("# A\n\n* b **c** `d`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc x() {}\n```\n> q\n1. z [l](u)", 20)
	f.Add("```\n\x1b[31m\n~~~\n***x** _y_ ~~z~~\n- [x] done", 9)
	f.Fuzz(func(t *testing.T, in string, columns int) {
		columns = 24 + max(0, columns)%200
		for _, row := range markdown(in, columns, unicodeSigns()) {
			if row.width() > columns {
				t.Fatalf("a row of %d columns in %d: %q", row.width(), columns, row.plain())
			}
			for _, s := range row {
				if safe(s.text) != s.text || strings.Contains(s.text, "\n") {
					t.Fatalf("not safe: %q", s.text)
				}
			}
		}
	})
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"# Head\ntext **bold** and `code`", "Head\ntext bold and code"},
		{"one\ntwo\n\nthree", "one two\n\nthree"},
		{"- a\n  - b\n1. c", "• a\n  • b\n1. c"},
		{"- [ ] todo\n- [x] done", "○ todo\n✓ done"},
		{"> quoted", "│ quoted"},
		{"```go\nx := 1\n```", "│ x := 1"},
		{"| a | long |\n|---|---|\n| 1 | 2 |", "a │ long\n────────\n1 │ 2   "},
		{"snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"},
		{"see [here](https://example.org)", "see here (https://example.org)"},
		{"an open **mark and `tick", "an open **mark and `tick"},
		{"a very long line that has to be broken somewhere", "a very long line that has to\nbe broken somewhere"},
		{"```\nunfinished", "│ unfinished"},
	} {
		var got []string
		for _, row := range markdown(c.in, 30, unicodeSigns()) {
			got = append(got, row.plain())
		}
		if g := strings.Join(got, "\n"); g != c.want {
			t.Errorf("%q is\n%s\nwant\n%s", c.in, g, c.want)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	diff := "--- a/x\n+++ b/x\n@@ -9,3 +9,3 @@\n same\n-token := issue(time.Now())\n+token := issue(now)\n end\n"
	if more, less := diffSize(diff); more != 1 || less != 1 {
		t.Errorf("+%d -%d", more, less)
	}
	rows := diffRows(diff, 60, 0, unicodeSigns())
	var got []string
	marked := ""
	for _, r := range rows {
		got = append(got, r.plain())
		for _, s := range r {
			if s.look == addedWord || s.look == removedWord {
				marked += "[" + s.text + "]"
			}
		}
	}
	want := "    9   same\n   10 − token := issue(time.Now())\n   10 + token := issue(now)\n   11   end"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
	if marked != "[time.Now()][now]" {
		t.Errorf("marked %s", marked)
	}
}

// TestDiffHidesNothing holds that a removed line that looks like the head of a file is shown.
func TestDiffHidesNothing(t *testing.T) {
	t.Parallel()
	diff := "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n--- a/secret\n\n-two\n+one\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-old\n+new\n"
	if more, less := diffSize(diff); more != 2 || less != 3 {
		t.Errorf("+%d -%d", more, less)
	}
	var got []string
	for _, r := range diffRows(diff, 60, 0, unicodeSigns()) {
		got = append(got, strings.TrimSpace(r.plain()))
	}
	want := "1 − -- a/secret\n1\n3 − two\n2 + one\n…\n1 − old\n1 + new"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

func TestFuzzy(t *testing.T) {
	t.Parallel()
	p := &picker{query: "hgo", choices: []choice{{words: "highlight the good old"}, {words: "http/handler.go"}, {words: "hello.go"}, {words: "no"}}}
	var got []string
	for _, c := range p.matching() {
		got = append(got, c.words)
	}
	if len(got) != 3 || got[0] != "hello.go" {
		t.Errorf("%q", got)
	}
}

func TestWithoutColours(t *testing.T) {
	t.Parallel()
	in := "\x1b[1;32mok\x1b[0m\r\n10 %\r20 %\rdone\n\x1b]0;x\a"
	if got, want := withoutColours(in), "ok\ndone\n\x1b]0;x\a"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLongLine holds that a very long row is laid out in time that grows with it only.
func TestLongLine(t *testing.T) {
	t.Parallel()
	for _, one := range []string{"x", "日", "*a", "[", "| ", "é ", "1", "*", "~", "`", "_"} {
		in := strings.Repeat(one, 1<<16/len(one))
		if strings.Contains("*~`_", one) { // it would take half an hour if each looked at all others
			in = "a" + strings.Repeat(one, 2<<20)
		}
		rows := markdown(in, 80, unicodeSigns())
		if len(rows) == 0 {
			t.Errorf("%q: nothing is shown", one)
		}
		for _, r := range hardwrap(text(plain, in), 80) {
			if r.width() > 80 {
				t.Fatalf("%q: a row of %d columns", one, r.width())
			}
		}
	}
}

// TestTranscriptEnd holds that the end of a conversation has the rows that were asked for,
// and says whether there is more.
func TestTranscriptEnd(t *testing.T) {
	t.Parallel()
	said := NewTranscript(terret.Session{ID: "s1", Agent: "claude", Cwd: "/src/api"}, "")
	for _, e := range story().events {
		said.Add(e)
	}
	var whole strings.Builder
	if err := said.Write(&whole, 80); err != nil {
		t.Fatal(err)
	}
	all := strings.Count(whole.String(), "\n")
	for _, rows := range []int{0, 1, 7, all, all + 5} {
		var end strings.Builder
		more, err := said.WriteLast(&end, 80, rows)
		if n := strings.Count(end.String(), "\n"); err != nil || n != min(rows, all) || !strings.HasSuffix(whole.String(), end.String()) || more != (rows < all) {
			t.Errorf("%d of %d rows: %d, more %v, %v:\n%s", rows, all, n, more, err, end.String())
		}
	}
}
