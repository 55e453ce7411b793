package native_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// library is a server with resources, a prompt, and a tool that asks and tells how far it is.
func library() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if r.Params.URI == "book://blob" {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("1234")}}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "Once upon a time.\xff"}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "book://tale", Name: "tale", Description: "a tale"}, read)
	s.AddResource(&mcp.Resource{URI: "book://blob", Name: "blob"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "page://{n}", Name: "page"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "retell", Description: "tells it again", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text := fmt.Sprintf("Retell it to %s, %s.", r.Params.Arguments["who"], r.Params.Arguments["how"])
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "lend"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "looking", Progress: float64(i + 1), Total: 3})
		}
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "For how long?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{
			"days": map[string]any{"type": "integer", "description": "how many days"},
			"kind": map[string]any{"type": "string", "enum": []string{"h", "p"}, "enumNames": []string{"hard", "paper"}},
			"sure": map[string]any{"type": "boolean"},
		}, "required": []string{"days"}}})
		if err != nil {
			return nil, nil, err
		}
		text := fmt.Sprintf("%s %v %v %v", res.Action, res.Content["days"], res.Content["kind"], res.Content["sure"])
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	return s
}

// TestMCPMore uses all of a server: resources by tools, its prompt as a command, its
// question to a person, and how far it is.
func TestMCPMore(t *testing.T) {
	t.Parallel()
	lib := library()
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return lib }, nil))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	f, _ := simulated(t, `
steps:
  - {match: {user: go}, answer: {tools: [{name: mcp__lib__list_resources, input: {}}]}}
  - {match: {tool_result: "/(?s)book://blob blob.*book://tale tale a tale.*page://.n. page/"}, answer: {tools: [{name: mcp__lib__read_resource, input: {uri: "book://tale"}}, {name: mcp__lib__read_resource, input: {uri: "book://blob"}}, {name: mcp__lib__read_resource, input: {}}]}}
  - {match: {tool_result: "uri is missing"}, answer: {tools: [{name: mcp__lib__lend, input: {}}]}}
  - {match: {tool_result: "accept 7 p true"}, answer: {tools: [{name: mcp__lib__lend, input: {}}]}}
  - {match: {tool_result: "decline"}, answer: {text: Lent.}}
  - {match: {user: "Retell it to Ann, in short words."}, answer: {text: Told.}}
`)
	id := f.session(claude, withOptions(terret.SessionOptions{MCP: terret.JSON(`{"mcpServers": {"lib": {"url": "` + server.URL + `"}}}`)}))
	turn := f.prompt(id, "go")
	question := func(after string) terret.Event {
		events := f.until(id, func(ev terret.Event) bool {
			return ev.Expects != nil && ev.Expects.Gate == terret.GateQuestion && ev.Expects.RequestID != after
		})
		return events[len(events)-1]
	}
	ask := question("")
	q, ok := ask.Data.(terret.QuestionRequest)
	if !ok || len(q.Questions) != 3 || q.Questions[0].ID != "days" || q.Questions[0].Text != "For how long?\nhow many days" || q.Questions[1].Options[1].Label != "paper" || q.Questions[2].Options[0].Label != "Yes" {
		t.Errorf("%+v", ask.Data)
	}
	f.decide(ask, terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"days": {"7"}, "kind": {"paper"}, "sure": {"Yes"}}})
	f.decide(question(ask.Expects.RequestID), terret.Decision{Behavior: terret.BehaviorReject})
	events := f.end(id, turn.ID)
	if end := last[terret.TurnComplete](t, events); end.Text != "Lent." {
		t.Errorf("%+v", end)
	}
	var results []string
	for _, p := range all[terret.ToolPost](events) {
		results = append(results, terret.TextOf(p.Content))
	}
	for _, want := range []string{"Once upon a time.\uFFFD", "[book://blob: 4 bytes of type image/png, which are not shown]"} {
		if !slices.Contains(results, want) {
			t.Errorf("%q is not among %q", want, results)
		}
	}
	told := all[terret.ToolProgress](events)
	if len(told) == 0 || !strings.HasPrefix(told[0].Text, "looking ") || !strings.HasSuffix(told[0].Text, " of 3\n") {
		t.Errorf("%+v", told)
	}
	command := func(args string) []terret.Event {
		turn, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "mcp__lib__retell", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		return f.end(id, turn.ID)
	}
	if end := last[terret.TurnComplete](t, command("Ann in short words")); end.Text != "Told." {
		t.Errorf("%+v", end)
	}
	if e := last[terret.TurnError](t, command("")); !strings.Contains(e.Error.Message, "the argument WHO is missing") {
		t.Errorf("%+v", e)
	}
}
