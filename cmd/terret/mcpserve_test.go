package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPServe uses each tool, with a client that shows questions.
func TestMCPServe(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret"), "TERRET_MODEL=demo"}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), newApp(in, out, io.Discard, env), []string{"mcp", "serve", "--agent", "native", "--root", dir})
		out.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if r.Params.Message != "Which colour?" {
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "red"}}, nil
		},
	})
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		s.Close()
		if code := <-ended; code != 0 {
			t.Errorf("terret mcp serve ended with %d", code)
		}
	}()
	call := func(tool string, args map[string]any, want ...string) map[string]any {
		t.Helper()
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, c := range r.Content {
			if c, ok := c.(*sdk.TextContent); ok {
				text += c.Text
			}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s %v: %s has no %s", tool, args, text, w)
			}
		}
		var fields map[string]any
		_ = json.Unmarshal([]byte(text), &fields) // errors are no JSON
		return fields
	}
	call("list_agents", nil, `"agent":"native"`)
	call("start_session", map[string]any{"folder": dir, "prompt": " "}, "prompt: it is empty")
	call("start_session", map[string]any{"folder": "/", "prompt": "hello"}, "is not in a folder that sessions may be opened in")
	made := call("start_session", map[string]any{"folder": dir, "prompt": "run: echo one > one.txt", "title": "a child"}, `"turn":"trn_`)
	id := made["session"]
	turn := map[string]any{"session": id, "turn": made["turn"]}
	call("wait", turn, `"state":"waiting_for_person"`, "one.txt")
	call("interrupt", map[string]any{"session": id}, `"ok":true`)
	call("wait", turn, `"state":"interrupted"`)
	again := call("prompt", map[string]any{"session": id, "prompt": "list files"}, `"turn":"trn_`)
	call("wait", map[string]any{"session": id, "turn": again["turn"]}, `"state":"completed"`)
	call("wait", map[string]any{"session": id}, `"state":"idle"`)
	call("read_session", map[string]any{"session": id, "last": 1}, `"title":"a child"`, `"left_out":`)
	call("read_session", map[string]any{"session": "../.."}, "session")
	call("list_sessions", map[string]any{"folder": dir}, `"title":"a child"`)
	call("search", map[string]any{"words": "list files"}, `"role":"user"`)
	call("ask_person", map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}}, `"answered":true`, `"answer":"red"`)
	call("ask_person", map[string]any{"question": "Anything else?"}, `"answered":false`)
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		schema, _ := json.Marshal(tool.InputSchema)
		for _, word := range []string{"decide", "policy", "allow", "rules"} {
			if strings.Contains(tool.Name, word) || strings.Contains(string(schema), `"`+word+`"`) {
				t.Errorf("%s takes or decides %s: %s", tool.Name, word, schema)
			}
		}
	}
}
