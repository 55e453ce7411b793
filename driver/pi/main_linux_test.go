package pi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// fakeEnv says which Pi the test binary plays.
const fakeEnv = "FAKE_PI"

const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeEnv); name != "" {
		(&fake{name: name, in: bufio.NewReaderSize(os.Stdin, 1<<20)}).serve()
		os.Exit(0)
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") { // an agent that was not told which one
		os.Exit(2) // or tests would start tests without end
	}
	goleak.VerifyTestMain(m)
}

const fakeSession = "01a1eeab-37e9-74b9-8e8b-4255f7d78140"

// fake is a Pi that does what the prompt says.
type fake struct {
	name string
	in   *bufio.Reader
}

func (f *fake) say(v any) { fmt.Println(string(seat.Encode(v))) }

// next is the next command.
func (f *fake) next() object {
	raw, err := f.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var out object
	if json.Unmarshal(raw, &out) != nil {
		os.Exit(4)
	}
	return out
}

func (f *fake) answer(command object, data any) {
	f.say(object{"type": "response", "id": command["id"], "command": command["type"], "success": true, "data": data})
}

func (f *fake) status(data object) {
	f.say(object{"type": "extension_ui_request", "id": "x", "method": "setStatus", "statusKey": extensionName, "statusText": string(seat.Encode(data))})
}

func (f *fake) serve() {
	switch {
	case f.name == "silent":
		_, _ = io.Copy(io.Discard, f.in)
		return
	case f.name == "lost" && slices.Contains(os.Args, "--session"):
		fmt.Fprintln(os.Stderr, "No session found matching 'x'")
		os.Exit(1)
	case f.name != "bare":
		dir, _ := os.Getwd()
		f.status(object{"hello": 1, "cwd": dir, "tools": []string{"bash"}, "version": "0.73.1"})
	}
	for {
		switch c := f.next(); c["type"] {
		case "prompt":
			f.prompted(c, fmt.Sprint(c["message"]))
		case "get_state":
			f.answer(c, object{"sessionId": fakeSession, "model": object{"provider": "a", "id": "b"}})
		default:
			f.answer(c, object{})
		}
	}
}

// reply is what a dialog is answered.
func (f *fake) reply() object {
	for {
		c := f.next()
		if c["type"] == "extension_ui_response" {
			return c
		}
		f.answer(c, object{"isStreaming": true})
	}
}

func (f *fake) prompted(c object, text string) {
	if args, ok := strings.CutPrefix(text, "/"+extensionName+" "); ok {
		var op struct{ Re, Op, Message string }
		if json.Unmarshal([]byte(args), &op) != nil {
			os.Exit(5)
		}
		f.status(object{"re": op.Re, "leaf": "leaf-" + op.Message, "missing": op.Message == "nowhere"})
		f.answer(c, nil)
		return
	}
	if text == "refuse" {
		f.say(object{"type": "response", "id": c["id"], "command": "prompt", "success": false, "error": "No API key found for anthropic."})
		return
	}
	f.answer(c, nil)
	if text == "handled" { // by an extension
		return
	}
	f.say(object{"type": "agent_start"})
	reply := text
	switch text {
	case "die":
		f.say(object{"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": object{"command": "x"}})
		fmt.Print(`{"type":"message_upd`)
		os.Exit(3)
	case "hang":
		select {}
	case "nonsense":
		fmt.Println("no JSON\n[1,2]\nnull\n{\"type\":7}\n{\"type\":\"of_a_later_version\"}\n{\"type\":\"message_end\",\"message\":17}")
	case "long":
		reply = strings.Repeat("x", 3<<20)
	case "tool":
		reply = f.tool()
	case "question":
		f.say(object{"type": "extension_ui_request", "id": "q1", "method": "confirm", "title": "Sure?", "message": "It is final."})
		reply = string(seat.Encode(f.reply()["confirmed"]))
	}
	f.say(object{"type": "message_end", "message": object{"role": "assistant", "timestamp": 1, "stopReason": "stop", "content": []object{{"type": "text", "text": reply}}}})
	f.say(object{"type": "agent_end"})
}

// tool asks about a tool, and says what it was answered.
func (f *fake) tool() string {
	input := object{"command": "touch x"}
	f.say(object{"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": input})
	question := seat.Encode(asked{Gate: "tool", ID: "c1", Tool: "bash", Input: seat.Encode(input)})
	f.say(object{"type": "extension_ui_request", "id": "u1", "method": "input", "title": extensionName, "placeholder": string(question)})
	said := fmt.Sprint(f.reply()["value"])
	f.say(object{"type": "tool_execution_end", "toolCallId": "c1", "toolName": "bash", "isError": !strings.Contains(said, `"allow":true`), "result": object{}})
	return said
}

// host takes everything, and decides as it is told.
type host struct {
	mu      sync.Mutex
	events  []terret.Event
	changed chan struct{}
	decide  func(terret.Ask) terret.Decision
	cursor  []byte
}

func (h *host) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *host) Emit(_ context.Context, events []terret.Event, cursor []byte) error {
	h.note(func() {
		h.events = append(h.events, events...)
		if cursor != nil {
			h.cursor = cursor
		}
	})
	return nil
}

func (h *host) Ask(_ context.Context, q terret.Ask) (terret.Decision, error) {
	h.note(func() { h.events = append(h.events, q.Event) })
	d := h.decide(q)
	d.RequestID, d.Gate = q.Key, q.Gate
	return d, nil
}

func (h *host) Delivered(context.Context, string) error { return nil }

func (h *host) said() []terret.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// ends are the ends of turns so far.
func (h *host) ends() []terret.Data {
	var out []terret.Data
	for _, ev := range h.said() {
		if ev.Kind().EndsTurn() {
			out = append(out, ev.Data)
		}
	}
	return out
}

// setup is a driver of a fake.
type setup struct {
	t    *testing.T
	d    *Driver
	host *host
	req  terret.OpenRequest
}

func newSetup(t *testing.T, name string) *setup {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	marker := "FAKE_MARK_" + strings.ReplaceAll(terret.NewSessionID(), "-", "")
	s := &setup{t: t, d: New(Config{Path: os.Args[0], Env: []string{"FAKE_*"}}), host: &host{changed: make(chan struct{})}}
	s.host.decide = func(terret.Ask) terret.Decision { return terret.Decision{Behavior: terret.BehaviorAllow} }
	s.req = terret.OpenRequest{
		Session: terret.Session{ID: "s", Cwd: dir}, Host: s.host, Log: slog.New(slog.DiscardHandler),
		Env: []string{"PATH=" + os.Getenv("PATH"), fakeEnv + "=" + name, marker + "=1", "HOME=" + t.TempDir()},
	}
	t.Cleanup(func() { guardtest.AwaitNone(t, marker) })
	return s
}

// open opens an agent, which is closed with the test. Then nothing of it may be left.
func (s *setup) open() *agent {
	s.t.Helper()
	opened, err := s.d.Open(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatal(err)
	}
	a := opened.(*agent)
	p, err := a.Occupied()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			s.t.Error(err)
		}
		if _, err := os.Stat(p.ext.dir); !os.IsNotExist(err) {
			s.t.Errorf("the folder of its extension is left: %v", err)
		}
	})
	return a
}

// run prompts, waits for the end and returns it.
func (s *setup) run(a *agent, prompt string, in terret.Settings) terret.Data {
	s.t.Helper()
	before := len(s.host.ends())
	p := terret.Prompt{Blocks: []terret.Block{terret.Text(prompt)}, MessageID: terret.NewID(terret.PrefixMessage)}
	if err := a.Prompt(s.t.Context(), "turn", p, in); err != nil {
		s.t.Fatal(err)
	}
	s.await("the end of the turn", func() bool { return len(s.host.ends()) > before })
	return s.host.ends()[before]
}

func (s *setup) await(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		s.host.mu.Lock()
		changed := s.host.changed
		s.host.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("not in time: %s\n%s", what, dump(s.host.said()))
		}
	}
}
