package main

import (
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/tui/draft"
)

func TestBoard(t *testing.T) {
	t.Parallel()
	clock := time.Unix(0, 0)
	var out strings.Builder
	show := func(live bool) *board {
		out.Reset()
		b := newBoard(&out, live, live)
		b.now = func() time.Time { return clock }
		b.add("claude", "s1")
		b.add("native", "s2")
		return b
	}
	tool := terret.ToolPre{Name: "Bash", Input: terret.JSON(`{"command":"go \u001b[2J test"}`)}
	story := func(b *board) {
		for _, ev := range []terret.Event{
			{Session: "s1", Data: terret.MessageDelta{Text: "I"}},
			{Session: "s1", Data: terret.MessageDelta{Text: " will"}}, // is no news
			{Session: "s2", Visibility: terret.VisibleUI, Data: tool},
			{Session: "s2", Data: terret.PermissionRequest{Tool: "Bash"}},
			{Session: "s3", Visibility: terret.VisibleUI, Data: tool},
			{Session: "s1", Data: terret.TurnError{Error: terret.Error{Message: "out of\nluck"}}},
			{Session: "s1", Data: terret.MessageDelta{Text: "late"}},
			{Session: "s2", Data: terret.TurnComplete{}},
		} {
			b.take(ev)
		}
	}
	story(show(false))
	got := out.String()
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 4 || lines[0] != "claude: writing" || !strings.HasPrefix(lines[1], "native: Bash go") || lines[2] != "claude: failed: out of luck" || lines[3] != "native: done" {
		t.Errorf("in a pipe:\n%s", got)
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("an agent moves the cursor: %q", got)
	}
	b := show(true)
	b.draw()
	clock = clock.Add(75 * time.Second)
	b.draw()
	if got := out.String(); strings.Count(got, "\x1b[2A") != 1 || !strings.Contains(got, "1m15s") {
		t.Errorf("on a terminal: %q", got)
	}
	story(b)
	if !strings.Contains(out.String(), "waiting for an answer; `terret pending` shows it") {
		t.Errorf("it is not said that somebody must answer: %q", out.String())
	}
	last := out.String()[strings.LastIndex(out.String(), "\x1b[2A"):]
	if strings.Count(last, "\n") != 2 || !strings.Contains(last, "failed: out of luck") || !strings.Contains(last, "done") || strings.Contains(out.String(), "\x1b[2J") {
		t.Errorf("at the end: %q", last)
	}
}

// A line that wraps could not be drawn over.
func TestBoardFits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newBoard(&out, true, false)
	b.add(strings.Repeat("a-long-name-", 10), "s1")
	b.add("日本", "s2")
	b.take(terret.Event{Session: "s2", Visibility: terret.VisibleUI, Data: terret.ToolPre{Name: "Bash", Input: terret.JSON(`{"command":"` + strings.Repeat("日本語", 30) + `"}`)}})
	out.Reset()
	b.draw()
	for line := range strings.Lines(strings.NewReplacer("\x1b[2A", "", "\r\x1b[K", "", bold, "", dim, "", reset, "").Replace(out.String())) {
		if n := draft.Columns(strings.TrimSuffix(line, "\n")); n >= 80 {
			t.Errorf("%q takes %d columns", line, n)
		}
	}
}
