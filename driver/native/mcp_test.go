package native_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
)

// TestMCP has a server whose tool must be allowed like any other.
func TestMCP(t *testing.T) {
	t.Parallel()
	bird := mcp.NewServer(&mcp.Implementation{Name: "bird", Version: "1"}, nil)
	type word struct {
		Word string `json:"word"`
	}
	mcp.AddTool(bird, &mcp.Tool{Name: "repeat"}, func(_ context.Context, _ *mcp.CallToolRequest, in word) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it says " + in.Word}}}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bird }, nil))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	options := terret.SessionOptions{MCP: terret.JSON(`{"mcpServers": {"bird": {"url": "` + server.URL + `"}, "gone": {"url": "http://127.0.0.1:1"}}}`)}

	f, _ := simulated(t, `
steps:
  - {match: {user: ask it}, answer: {tools: [{name: mcp__bird__repeat, input: {word: ahoy}}]}}
  - {match: {tool_result: it says ahoy}, answer: {text: It spoke.}}
  - {match: {user: ask it again}, answer: {tools: [{name: mcp__bird__repeat, input: {word: ahoy}}]}}
  - {match: {tool_result: denied}, answer: {text: It must not.}}
`)
	id := f.session(claude, withPolicy(terret.PolicyAsk), withOptions(options))
	turn := f.prompt(id, "ask it")
	request := f.asked(id, turn.ID)
	if d, ok := request.Data.(terret.PermissionRequest); !ok || d.Class != terret.ClassMCP || d.Title != "bird: repeat" {
		t.Errorf("%+v", request.Data)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorAllow})
	events := f.end(id, turn.ID)
	if end := last[terret.TurnComplete](t, events); end.Text != "It spoke." {
		t.Errorf("%+v", end)
	}
	states := last[terret.SessionStart](t, events).MCPServers
	if len(states) != 2 || states[0].Status != "connected" || states[1].Status != "failed" || states[1].Error == "" {
		t.Errorf("%+v", states)
	}
	turn = f.prompt(id, "ask it again")
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorDeny})
	if end := last[terret.TurnComplete](t, f.end(id, turn.ID)); end.Text != "It must not." {
		t.Errorf("%+v", end)
	}

	options.DisallowedTools = []string{"mcp__bird"}
	f2, _ := simulated(t, "steps: [{answer: {text: none}}]")
	id = f2.session(claude, withOptions(options))
	for _, tool := range last[terret.SessionStart](t, f2.run(id, "go")).Tools {
		if strings.HasPrefix(tool, "mcp__bird") {
			t.Errorf("%s was taken away", tool)
		}
	}
}
