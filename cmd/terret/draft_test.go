package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret/tui/draft"
)

// quiet is an editor that nobody sees.
func quiet(columns, lines int, past ...string) *editor {
	return &editor{Draft: draft.New(past), out: &strings.Builder{}, prompt: "› ", size: func() (int, int) { return columns, lines }}
}

// press presses keys: in quotes is text.
func pressAll(e *editor, keys string) {
	for name := range strings.SplitSeq(keys, ",") {
		if text, is := strings.CutPrefix(name, "'"); is {
			e.press(key{text: text})
		} else {
			e.press(key{name: name})
		}
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, want string }{ // the cursor is |
		{"'abc,left,left,'x", "ax|bc"},
		{"'a👩‍👩‍👧‍👦,backspace", "a|"},
		{"'👍🏽🇩🇪🇫🇷,backspace,backspace", "👍🏽|"},
		{"'e\u0301a,left,backspace", "|a"},
		{"'日本語,left,delete", "日本|"},
		{"'one two,cut to space,'three", "one three|"},
		{"'one two-three,cut word left", "one two-|"},
		{"'one two,home,cut word right", "| two"},
		{"'one two,home,word right,word right,word left", "one |two"},
		{"'abc,left,cut left,end,paste", "cab|"},
		{"'abc,home,right,cut right,paste,paste", "abcbc|"},
		{"'a,'b,'c,undo", "|"},
		{"'a,'b,' ,'c,undo", "ab |"},
		{"'abc,backspace,undo,redo", "ab|"},
		{"'abc,leave,undo", "abc|"},
		{"'a,undo,undo,redo,redo,'b", "ab|"},
		{"'日本語,new line,'abcd,up,'x", "日本x|語\nabcd"},
		{"'ab,new line,'c,home,backspace", "ab|c"},
		{"'ab,new line,'cde,up,end,down", "ab\ncd|e"},
		{"up", "second|"},
		{"up,up,up", "first|"},
		{"'mine,left,up,down", "min|e"},
		{"up,'!,up,down", "second|"},
		{"down", "|"},
		{"nonsense", "|"},
	} {
		e := quiet(20, 10, "first", "second")
		pressAll(e, c.keys)
		if got := e.Text[:e.At] + "|" + e.Text[e.At:]; got != c.want {
			t.Errorf("%s: %q, want %q", c.keys, got, c.want)
		}
	}
}

// What is drawn fits into the terminal, and the cursor is where the next letter goes.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys, want  string
		row, column int
	}{
		{"'abc", "abc", 0, 5},
		{"'abcdefg", "abcdefg", 0, 9},
		{"'abcdefgh", "abcdefg/h", 1, 1},
		{"'abcdefgh,left", "abcdefg/h", 1, 0},
		{"'日本語日本語", "日本語/日本語", 1, 6},
		{"'a\nb\n", "a/b/", 2, 0},
		{"'a\n\u0301b", "a/\u0301b", 1, 1},
		{"'👩\u200d\nb", "👩\u200d/b", 1, 1},
		{"'a\x1b[31m\tb", "a␛[31m/    b", 1, 5},
	} {
		e := quiet(10, 5)
		pressAll(e, c.keys)
		l := e.lay(10)
		if got := strings.Join(l.lines, "/"); got != c.want || l.row != c.row || l.column != c.column {
			t.Errorf("%s: %q with the cursor at %d, %d; want %q with %d, %d", c.keys, got, l.row, l.column, c.want, c.row, c.column)
		}
	}
}

// When the terminal gets another size, its lines wrap in other places. What was there
// before the prompt stays.
func TestDrawResized(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt, text  string
		before, after int
		up            string
	}{
		{strings.Repeat("p", 30), "", 20, 40, ""},
		{strings.Repeat("p", 30), "", 40, 20, "\x1b[1A"},
		{strings.Repeat("p", 30), "abc", 20, 40, ""},
		{"> ", strings.Repeat("a", 25), 40, 10, "\x1b[2A"},
		{"> ", "a\nb\nc", 40, 80, "\x1b[2A"},
		{"> ", strings.Repeat("a", 25) + "\nb", 40, 20, "\x1b[2A"},
	} {
		out := &strings.Builder{}
		columns := c.before
		e := &editor{Draft: draft.New(nil), out: out, prompt: c.prompt, size: func() (int, int) { return columns, 10 }}
		e.begin()
		if c.text != "" {
			e.press(key{text: c.text})
		}
		out.Reset()
		columns = c.after
		e.draw()
		if got := out.String(); !strings.HasPrefix(got, c.up+"\r\x1b[J") {
			t.Errorf("%d columns behind %d, from %d to %d: %q, want %q", len(c.text), len(c.prompt), c.before, c.after, got, c.up)
		}
	}
}

// A text that is longer than the terminal is drawn in part, and never scrolls.
func TestDrawPart(t *testing.T) {
	t.Parallel()
	e := quiet(20, 5)
	out := &strings.Builder{}
	e.out = out
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	e.press(key{text: strings.Join(lines, "\n")})
	for _, want := range []string{"line 99", "line 98", "line 97"} {
		out.Reset()
		e.draw()
		if got := out.String(); strings.Count(got, "\r\n") >= 4 || !strings.Contains(got, want) {
			t.Errorf("drew %q, want %s", got, want)
		}
		e.press(key{name: "up"})
	}
	e.press(key{name: "leave"})
	if out.Reset(); e.Text != "" {
		t.Errorf("left: %q", e.Text)
	}
	e.draw()
	if got := out.String(); got != "\r\x1b[J› "+noWrap+"\r\x1b[2C"+wrap {
		t.Errorf("drew %q", got)
	}
}

// A session of many turns is no reason to wait.
func TestDraftRemembersMany(t *testing.T) {
	if n := testing.AllocsPerRun(1, func() {
		var past []string
		for i := range 1000 {
			past = draft.Remember(past, []string{"yes", "no"}[i%2])
		}
	}); n > 100 {
		t.Errorf("to remember 1000 texts takes %v allocations", n)
	}
}
