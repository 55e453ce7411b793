package native_test

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/test/agenttest"
)

// everything is what the model does with the reference MCP server.
const everything = `
steps:
  - match: {user: go}
    answer: {tools: [{name: mcp__all__echo, input: {message: ahoy}}, {name: mcp__all__get-sum, input: {a: 2, b: 40}}, {name: mcp__all__get-tiny-image, input: {}}, {name: mcp__all__get-structured-content, input: {location: Chicago}}]}
  - {match: {tool_result: Light rain}, answer: {tools: [{name: mcp__all__list_resources, input: {}}]}}
  - match: {tool_result: "demo://resource/dynamic/text/"}
    answer: {tools: [{name: mcp__all__read_resource, input: {uri: "demo://resource/dynamic/text/7"}}, {name: mcp__all__read_resource, input: {uri: "demo://resource/none"}}]}
  - {match: {tool_result: none}, answer: {tools: [{name: mcp__all__trigger-long-running-operation, input: {duration: 0.1, steps: 3}}]}}
  - {match: {tool_result: Long running operation completed}, answer: {tools: [{name: mcp__all__trigger-elicitation-request, input: {}}]}}
  - {match: {tool_result: User provided the requested information}, answer: {tools: [{name: mcp__all__trigger-elicitation-request, input: {}}]}}
  - {match: {tool_result: User declined}, answer: {tools: [{name: mcp__all__trigger-url-elicitation, input: {url: "https://shop.example/pay", message: Pay first.}}]}}
  - {match: {tool_result: "/accept/"}, answer: {text: Used it all.}}
  - {match: {user: "What's weather in Paris, Texas?"}, answer: {text: Warm.}}
`

// TestRealMCP uses all of the reference MCP server, over both transports: tools, resources,
// progress, questions, and a prompt as a command.
func TestRealMCP(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			p := agenttest.MCPServer().Prepare(t, "")
			var config string
			if transport == "http" {
				config = fmt.Sprintf(`{"url": %q}`, serveMCP(t, p))
			} else {
				config = fmt.Sprintf(`{"command": %q, "args": ["stdio"], "env": {%q: %q}}`, p.Program, "PATH", strings.TrimPrefix(p.Env[0], "PATH="))
			}
			useEverything(t, config)
		})
	}
}

func useEverything(t *testing.T, config string) {
	t.Helper()
	f, _ := simulated(t, everything)
	id := f.session(claude, withOptions(terret.SessionOptions{MCP: terret.JSON(`{"mcpServers": {"all": ` + config + `}}`)}))
	turn := f.prompt(id, "go")
	seen := map[string]bool{}
	question := func() terret.Event {
		events := f.until(id, func(ev terret.Event) bool {
			return ended(turn.ID)(ev) || ev.Expects != nil && ev.Expects.Gate == terret.GateQuestion && !seen[ev.Expects.RequestID]
		})
		if last := events[len(events)-1]; last.Expects != nil {
			seen[last.Expects.RequestID] = true
			return last
		}
		t.Fatalf("no question before the end: %+v", events[len(events)-1].Data)
		return terret.Event{}
	}
	ask := question()
	q, ok := ask.Data.(terret.QuestionRequest)
	if !ok || len(q.Questions) != 13 {
		t.Fatalf("%+v", ask.Data)
	}
	f.decide(ask, terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{
		"name": {"Ann"}, "check": {"Yes"}, "integer": {"7"}, "number": {"2.5"}, "titledSingleSelectEnum": {"Wonder Woman"},
		"titledMultipleSelectEnum": {"Tuna", "Trout"}, "untitledMultipleSelectEnum": {"Drums"}, "legacyTitledEnum": {"Dogs"},
	}})
	f.decide(question(), terret.Decision{Behavior: terret.BehaviorReject})
	address := question()
	if q, ok := address.Data.(terret.QuestionRequest); !ok || q.URL != "https://shop.example/pay" || q.Questions[0].Text != "Pay first." {
		t.Errorf("%+v", address.Data)
	}
	f.decide(address, terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{elicit.Confirm: {elicit.Yes}}})
	events := f.end(id, turn.ID)
	if end := last[terret.TurnComplete](t, events); end.Text != "Used it all." {
		t.Errorf("%+v", end)
	}
	checkResults(t, events)
	command, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "mcp__all__args-prompt", Args: "Paris Texas"})
	if err != nil {
		t.Fatal(err)
	}
	if end := last[terret.TurnComplete](t, f.end(id, command.ID)); end.Text != "Warm." {
		t.Errorf("%+v", end)
	}
	start := last[terret.SessionStart](t, events)
	if len(start.MCPServers) != 1 || start.MCPServers[0].Status != "connected" || !slices.Contains(start.Tools, "mcp__all__echo") {
		t.Errorf("%+v", start)
	}
}

// checkResults compares what the server's tools said with what they must say.
func checkResults(t *testing.T, events []terret.Event) {
	t.Helper()
	var said string
	for _, p := range all[terret.ToolPost](events) {
		if p.Name == "mcp__all__get-tiny-image" && !slices.ContainsFunc(p.Content, func(b terret.Block) bool { return b.MediaType == "image/png" && len(b.Bytes) > 0 }) {
			t.Errorf("no image in %+v", p)
		}
		said += terret.TextOf(p.Content) + "\n"
	}
	for _, want := range []string{"Echo: ahoy", "The sum of 2 and 40 is 42.", "Resource 7: This is a plaintext resource", "- Name: Ann", "- Agreed to terms: true", "- Favorite Integer: 7", "- Favorite Number: 2.5"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	_, raw, _ := strings.Cut(said, "Raw result: ")
	var result struct {
		Action  string
		Content map[string]any
	}
	if err := json.NewDecoder(strings.NewReader(raw)).Decode(&result); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %v %v %v", result.Content["titledSingleSelectEnum"], result.Content["titledMultipleSelectEnum"], result.Content["untitledMultipleSelectEnum"], result.Content["legacyTitledEnum"]); got != "hero-3 [fish-1 fish-3] [Drums] pet-2" {
		t.Errorf("the server got %s", got)
	}
	told := all[terret.ToolProgress](events)
	if len(told) == 0 || !strings.HasSuffix(told[len(told)-1].Text, " of 3\n") {
		t.Errorf("%+v", told)
	}
}

// serveMCP runs the server on a port of its own, and returns its address. Somebody may take
// the port before it does: then it says so, and gets another.
func serveMCP(t *testing.T, p agenttest.Place) string {
	t.Helper()
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		ready := make(chan struct{}, 1)
		server, err := proc.Start(t.Context(), proc.Spec{
			Argv: []string{p.Program, "streamableHttp"}, Dir: p.Dir, Env: append(slices.Clip(p.Env), fmt.Sprintf("PORT=%d", port)),
			OnStderr: func(line string) {
				if strings.Contains(line, "listening on port") {
					ready <- struct{}{}
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = server.Kill() })
		select {
		case <-ready:
			return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
		case <-server.Done():
			t.Log(server.StderrTail())
		}
	}
	t.Fatal("the server does not start")
	return ""
}
