package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/keys"
	"github.com/terret-dev/terret/internal/test/oauthtest"
)

// TestMCPSignIn is a server at which a person must sign in: he gets the link as a question,
// and the model has the server's tools in the same turn.
func TestMCPSignIn(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil)
	f, got := simulated(t, `
steps:
  - {match: {user: go}, answer: {tools: [{name: mcp__bird__sign_in, input: {}}]}}
  - {match: {tool_result: has signed in}, answer: {tools: [{name: mcp__bird__repeat, input: {word: ahoy}}]}}
  - {match: {tool_result: ahoy}, answer: {text: It spoke.}}
  - {match: {user: more}, answer: {tools: [{name: mcp__bird__repeat, input: {word: again}}]}}
  - {match: {tool_result: again}, answer: {text: It spoke again.}}
`, func(s *setup) { s.native.MCPTokens = store })
	config := withOptions(terret.SessionOptions{MCP: terret.JSON(`{"mcpServers": {"bird": {"url": "` + a.URL + `"}}}`)})
	id := f.session(claude, config)
	turn := f.prompt(id, "go")
	events := f.until(id, func(ev terret.Event) bool {
		return ended(turn.ID)(ev) || ev.Expects != nil && ev.Expects.Gate == terret.GateQuestion
	})
	q, ok := events[len(events)-1].Data.(terret.QuestionRequest)
	if !ok || q.URL == "" || q.Questions[0].Header != "bird" || !strings.Contains(q.Questions[0].Text, "wants you to sign in") {
		t.Fatalf("%+v", events[len(events)-1].Data)
	}
	oauthtest.Browse(t, q.URL)
	events = f.end(id, turn.ID)
	if end := last[terret.TurnComplete](t, events); end.Text != "It spoke." {
		t.Errorf("%+v", end)
	}
	start := last[terret.SessionStart](t, events)
	if start.MCPServers[0].Status != "needs-auth" || !slices.Contains(start.Tools, "mcp__bird__sign_in") {
		t.Errorf("%+v", start)
	}
	id = f.session(claude, config)
	events = f.run(id, "more")
	if end := last[terret.TurnComplete](t, events); end.Text != "It spoke again." || last[terret.SessionStart](t, events).MCPServers[0].Status != "connected" {
		t.Errorf("%+v", end)
	}
	for _, r := range got.list() {
		if strings.Contains(string(r.Body), "secret-") {
			t.Error("the model got a token")
		}
	}
	if strings.Contains(f.log.String(), "secret-") {
		t.Error("a token is in the log")
	}
}
