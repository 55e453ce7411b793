package native_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestTrim has a context that is rather full: the oldest large result is cut, the others
// are not, and what was cut stays so.
func TestTrim(t *testing.T) {
	t.Parallel()
	calls := ""
	for i := range 12 {
		calls += fmt.Sprintf(`{name: Bash, input: {command: "echo %d; head -c 9000 /dev/zero | tr '\\0' x"}},`, i)
	}
	f, got := simulated(t, `
steps:
  - {match: {user: go}, answer: {tools: [`+calls+`], usage: {input: 700, output: 1}}}
  - {match: {tool_result: xxx}, answer: {tools: [{name: Bash, input: {command: echo done}}], usage: {input: 300, output: 1}}}
  - {match: {tool_result: done}, answer: {text: Done.}}
`, withPrices(t, `{"models": {"anthropic/claude-test": {"context": 1000, "input": 1, "output": 1}}}`))
	id := f.session(claude)
	if end := last[terret.TurnComplete](t, f.run(id, "go")); end.Text != "Done." {
		t.Errorf("%+v", end)
	}
	for n := 1; n <= 2; n++ {
		results := got.nth(t, n).Messages[2].Content
		for i, r := range results[:12] {
			text := r.Content[0].Text
			if cut := strings.Contains(text, "left out to save room"); cut != (i == 0) || cut && len(text) > 2500 || !strings.HasPrefix(text, fmt.Sprintf("%d\n", i)) {
				t.Errorf("request %d, result %d has %d bytes, cut %v", n, i, len(text), cut)
			}
		}
	}
}

// TestSubagentCompacts has a subagent whose conversation is too long: it goes on with its
// task and a summary, and the agent's own conversation is not touched.
func TestSubagentCompacts(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {first: main, user: main}, anywhere: true, answer: {tools: [{name: Task, input: {description: one, prompt: count the files}}]}}
  - {match: {first: count, user: count}, anywhere: true, answer: {tools: [{name: Bash, input: {command: echo 3}}]}}
  - {match: {first: count, tool_result: "3"}, anywhere: true, answer: {error: {status: 400, message: "prompt is too long: 300000 tokens > 200000 maximum"}}}
  - {match: {first: count, user: Summarize our conversation}, anywhere: true, answer: {text: There are 3.}}
  - {match: {first: count, user: Go on with the task}, anywhere: true, answer: {text: Three files.}}
  - {match: {first: main, tool_result: Three files.}, anywhere: true, answer: {text: Three.}}
`)
	id := f.session(claude)
	events := f.run(id, "main")
	if end := last[terret.TurnComplete](t, events); end.Text != "Three." {
		t.Errorf("%+v", end)
	}
	for _, ev := range events {
		if _, ok := ev.Data.(terret.CompactPost); ok && (ev.Actor == "" || ev.Actor == terret.ActorRoot) {
			t.Error("the agent's own conversation was compacted")
		}
	}
	if heard := strings.Join(spoken(got.nth(t, 4)), "\n"); !strings.HasPrefix(heard, "user count the files") || !strings.Contains(heard, "There are 3.") {
		t.Errorf("the subagent heard %s", heard)
	}
}
