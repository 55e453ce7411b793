package native_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// TestContext says what fills the context, to programs and by a command that the model does
// not hear of, even by an agent that is opened anew.
func TestContext(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: look}, answer: {tools: [{name: Read, input: {file_path: long.txt}}]}}
  - {match: {tool_result: word}, answer: {text: I see., usage: {input: 50000, output: 10}}}
  - {match: {user: again}, answer: {text: I still do.}}
`, withPrices(t, `{"models": {"anthropic/claude-test": {"context": 200000}}}`), func(s *setup) { s.config = func(c *engine.Config) { c.Trust = func(string) bool { return true } } })
	f.write("long.txt", strings.Repeat("word ", 300)+"\n")
	f.write("AGENTS.md", "Be kind. "+strings.Repeat("Always. ", 100))
	id := f.session(claude)
	before, err := f.Context(t.Context(), id)
	if err != nil || before.Used == 0 || before.Max != 200000 {
		t.Errorf("%+v, %v", before, err)
	}
	f.says(id, "look")
	u, err := f.Context(t.Context(), id)
	if err != nil || u.Used != 50010 || u.Max != 200000 || len(u.Parts) != 6 {
		t.Fatalf("%+v, %v", u, err)
	}
	sum := int64(0)
	for i, want := range []string{"system prompt", "tools", "instructions from files", "messages", "tool results", "free"} {
		p := u.Parts[i]
		if p.Name != want || p.Tokens <= 0 {
			t.Errorf("%+v, want %s", p, want)
		}
		sum += p.Tokens
	}
	if u.Parts[5].Tokens != 149990 || sum < 199990 || sum > 200000 {
		t.Errorf("%d tokens, %+v", sum, u)
	}
	turn, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "context"})
	if err != nil {
		t.Fatal(err)
	}
	end := last[terret.TurnComplete](t, f.end(id, turn.ID))
	if !strings.Contains(end.Text, "About 50010 tokens of 200000 (25%)") || !strings.Contains(end.Text, "| tool results | ") || end.NumSteps != 0 {
		t.Errorf("%+v", end)
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.says(id, "again")
	if said := strings.Join(spoken(got.nth(t, 2)), "\n"); strings.Contains(said, "context") || strings.Contains(said, "tokens") {
		t.Errorf("the model heard of it: %s", said)
	}
}
