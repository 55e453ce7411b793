package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/rpc"
	"github.com/terret-dev/terret/internal/test/agenttest"
)

// TestACPStories tells the story of an editor with the official library of the protocol,
// with real agents behind `terret acp`.
func TestACPStories(t *testing.T) {
	doorStories(t, "testdata/acp", func(_ *testing.T, modules string) []string {
		return []string{"LIBRARY=" + filepath.Join(modules, "@agentclientprotocol/sdk/dist/v1/stable/acp.js")}
	}, "claude", "opencode", "native")
}

// TestMCPStories tells how an agent uses another through `terret mcp serve`.
func TestMCPStories(t *testing.T) { doorStories(t, "testdata/mcp", nil, "claude", "native") }

// TestDiscoverStories tells how sessions that a person had with an agent itself come here.
func TestDiscoverStories(t *testing.T) {
	doorStories(t, "testdata/discover", nil, "claude", "opencode", "codex")
}

// doorStories runs the scripts of a folder with real agents on a scripted model. more, if it
// is not nil, adds to the environment what comes with the agents' modules.
func doorStories(t *testing.T, dir string, more func(t *testing.T, modules string) []string, agents ...string) {
	t.Helper()
	t.Parallel()
	for _, name := range agents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("TERRET_CONFORMANCE") == "" {
				t.Skip("this runs the real agents: run `make conformance`, which installs them")
			}
			p := scripts(t, dir)
			common := p.Setup
			p.Setup = func(e *testscript.Env) error {
				if err := common(e); err != nil {
					return err
				}
				url, err := scriptModel(t, filepath.Join(e.WorkDir, "model.yaml"), e.WorkDir)
				if err != nil {
					return err
				}
				modules := agenttest.Modules(t)
				// The native agent's, which is the child of others, too.
				env := []string{"TERRET_MODEL=anthropic/claude-sonnet-4-5", "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-scripted"}
				if name != "native" {
					env = append(env, agenttest.Find(t, name).Prepare(t, url).Env...)
				}
				if more != nil {
					env = append(env, more(t, modules)...)
				}
				for _, each := range env {
					name, value, _ := strings.Cut(each, "=")
					if name != "PATH" {
						e.Setenv(name, value)
					}
				}
				e.Setenv("PATH", e.Getenv("PATH")+string(os.PathListSeparator)+filepath.Join(modules, ".bin"))
				e.Setenv("TERRET_HOME", filepath.Join(e.Getenv("HOME"), "terret"))
				e.Setenv("AGENT", name)
				return nil
			}
			testscript.Run(t, p)
		})
	}
}

// acpEditor is an editor that has opened a session of the native agent in a folder, with a
// server of its own.
type acpEditor struct {
	*rpc.Conn
	t       *testing.T
	session string
	asked   chan string // requests for permission, by the tool's title
	answers chan string // what the person chooses
	gone    chan bool   // requests that were withdrawn
	env     []string
	mu      sync.Mutex
	updates []string // their kinds
}

func openACP(t *testing.T) *acpEditor {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	e := &acpEditor{t: t, asked: make(chan string, 9), answers: make(chan string), gone: make(chan bool, 9)}
	e.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret"), "TERRET_MODEL=demo"}
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), newApp(in, out, io.Discard, e.env), []string{"acp", "--agent", "native", "--root", dir})
		out.Close()
	}()
	e.Conn = rpc.New(rpc.Join(fromAgent, toAgent), rpc.Options{Request: e.request, Notification: e.hear, Cancel: "$/cancel_request"})
	t.Cleanup(func() {
		toAgent.Close()
		if code := <-ended; code != 0 {
			t.Errorf("terret acp ended with %d", code)
		}
		e.Close()
	})
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := e.Call(t.Context(), "initialize", map[string]any{"protocolVersion": 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Call(t.Context(), "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &made); err != nil {
		t.Fatal(err)
	}
	e.session = made.SessionID
	return e
}

func (e *acpEditor) request(ctx context.Context, m rpc.Message) (any, error) {
	var p struct {
		ToolCall struct {
			Title string `json:"title"`
		} `json:"toolCall"`
	}
	if err := m.Decode(&p); err != nil {
		return nil, err
	}
	e.asked <- p.ToolCall.Title
	select {
	case option := <-e.answers:
		return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": option}}, nil
	case <-ctx.Done():
		e.gone <- true
		return nil, context.Cause(ctx)
	}
}

func (e *acpEditor) hear(_ context.Context, m rpc.Message) error {
	var p struct {
		Update struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, p.Update.Kind)
	return nil
}

// prompt begins a turn; the channel says how it ended.
func (e *acpEditor) prompt(text string) <-chan string {
	done := make(chan string, 1)
	go func() {
		var end struct {
			StopReason string `json:"stopReason"`
		}
		params := map[string]any{"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": text}}}
		if err := e.Call(e.t.Context(), "session/prompt", params, &end); err != nil {
			end.StopReason = err.Error()
		}
		done <- end.StopReason
	}()
	return done
}

func (e *acpEditor) command(args ...string) {
	e.t.Helper()
	var said strings.Builder
	if code := run(e.t.Context(), newApp(strings.NewReader(""), &said, &said, e.env), args); code != 0 {
		e.t.Errorf("%q: %d: %s", args, code, said.String())
	}
}

// TestACPOneAnswer asks the editor and everybody else: whoever is first counts, and the
// other is told.
func TestACPOneAnswer(t *testing.T) {
	t.Parallel()
	e := openACP(t)
	done := e.prompt("run: echo one > one.txt")
	<-e.asked
	e.command("decide", e.pending(), "deny")
	<-e.gone
	if end := <-done; end != "end_turn" {
		t.Errorf("the turn that was denied elsewhere ends with %q", end)
	}
	done = e.prompt("run: echo two > two.txt")
	<-e.asked
	e.answers <- "allow"
	if end := <-done; end != "end_turn" {
		t.Errorf("the turn that was allowed in the editor ends with %q", end)
	}
	if open := e.requests(); len(open) != 0 {
		t.Errorf("requests are open: %q", open)
	}
	if len(e.gone) != 0 {
		t.Error("what the editor has answered was withdrawn")
	}
}

// TestACPStopsWhileAsked cancels a turn that waits for the editor.
func TestACPStopsWhileAsked(t *testing.T) {
	t.Parallel()
	e := openACP(t)
	done := e.prompt("run: echo one")
	<-e.asked
	if err := e.Notify(t.Context(), "session/cancel", map[string]string{"sessionId": e.session}); err != nil {
		t.Fatal(err)
	}
	<-e.gone
	if end := <-done; end != "cancelled" {
		t.Errorf("the turn ends with %q", end)
	}
}

// TestACPCancelsAll cancels right behind two prompts, which come in one piece with it.
func TestACPCancelsAll(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret"), "TERRET_MODEL=demo"}
		ended <- run(t.Context(), newApp(in, out, io.Discard, env), []string{"acp", "--agent", "native", "--root", dir})
		out.Close()
	}()
	lines := bufio.NewScanner(fromAgent)
	answer := func() string { // the next one, past what is told
		for lines.Scan() {
			if !strings.Contains(lines.Text(), `"method":`) {
				return lines.Text()
			}
		}
		t.Fatalf("the stream ends: %v", lines.Err())
		return ""
	}
	fmt.Fprintf(toAgent, `{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", dir)
	var made struct {
		Result struct {
			SessionID string `json:"sessionId"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer()), &made); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		prompt := `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"run: echo one"}]}}` + "\n"
		id := made.Result.SessionID
		fmt.Fprintf(toAgent, prompt+prompt+`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", 1, id, 2, id, id)
		for range 2 {
			if got := answer(); !strings.Contains(got, `"stopReason":"cancelled"`) {
				t.Fatalf("a prompt is answered with %s", got)
			}
		}
	}
	toAgent.Close()
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

// TestACPOthersSession shows the editor what another window does in its session.
func TestACPOthersSession(t *testing.T) {
	t.Parallel()
	e := openACP(t)
	c := e.client()
	if _, err := c.Prompt(t.Context(), e.session, client.NewTurn{Prompt: "list files"}); err != nil {
		t.Fatal(err)
	}
	if end := <-e.prompt("hello"); end != "end_turn" { // it waits for the other turn
		t.Errorf("the editor's turn ends with %q", end)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if heard := strings.Join(e.updates, " "); strings.Count(heard, "user_message_chunk") != 1 || !strings.Contains(heard, "tool_call") {
		t.Errorf("the editor heard %s", heard)
	}
}

func (e *acpEditor) client() *client.Client {
	e.t.Helper()
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, e.env)
	if err := a.prepare(); err != nil {
		e.t.Fatal(err)
	}
	w := &workspace{app: a}
	c, err := w.connect(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = a.close() })
	return c
}

func (e *acpEditor) requests() []string {
	e.t.Helper()
	page, err := e.client().Requests(e.t.Context(), terret.RequestFilter{State: terret.RequestOpen})
	if err != nil {
		e.t.Fatal(err)
	}
	var out []string
	for _, r := range page.Items {
		out = append(out, r.RequestID)
	}
	return out
}

func (e *acpEditor) pending() string {
	e.t.Helper()
	open := e.requests()
	if len(open) != 1 {
		e.t.Fatalf("requests are open: %q", open)
	}
	return open[0]
}

// TestACPGarbage sends what is no message, and what makes no sense.
func TestACPGarbage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret")}
		ended <- run(t.Context(), newApp(in, out, io.Discard, env), []string{"acp"})
		out.Close()
	}()
	lines := bufio.NewScanner(fromAgent)
	for _, c := range []struct{ send, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":99}}`, `"result":{"agentCapabilities"`},
		{"not JSON\n[]\n" + `{"jsonrpc":"2.0","method":"session/cancel","params":7}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"here","mcpServers":[]}}`, `"code":-32602,"message":"cwd: \"here\" is not an absolute path"`},
		{`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"../..","prompt":[]}}`, `"code":-32002`},
		{`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"../..","cwd":"/","mcpServers":[]}}`, `"error":{"code":-32`},
		{`{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, `is not in a folder that sessions may be opened in`},
		{`{"jsonrpc":"2.0","id":6,"method":"session/what","params":{}}`, `"code":-32`},
		{`{"jsonrpc":"2.0","id":7,"method":"session/load","params":"x"}`, `"code":-32602`},
	} {
		if _, err := io.WriteString(toAgent, c.send+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), c.want) {
			t.Errorf("%s is answered with %s, not %s", c.send, lines.Text(), c.want)
		}
	}
	toAgent.Close()
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}
