package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
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

// fakeEnv says which Codex the test binary plays.
const fakeEnv = "FAKE_CODEX"

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

// fake is an app server that does what the prompt says.
type fake struct {
	name   string
	in     *bufio.Reader
	thread string
	turns  int
	asked  int
	model  any // that the turn was told
}

func (f *fake) say(v any) { fmt.Println(string(seat.Encode(v))) }

// next is the next message to it.
func (f *fake) next() (id json.RawMessage, method string, params object) {
	line, err := f.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		os.Exit(0)
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params object
		Result object
	}
	seat.Decode(line, &m)
	if m.Method == "" {
		return m.ID, "", m.Result
	}
	return m.ID, m.Method, m.Params
}

func (f *fake) answer(id json.RawMessage, result any) { f.say(object{"id": id, "result": result}) }

func (f *fake) refuse(id json.RawMessage, words string) {
	f.say(object{"id": id, "error": object{"code": -32600, "message": words}})
}

func (f *fake) tell(method string, params object) {
	params["threadId"], params["turnId"] = f.thread, f.turn()
	f.say(object{"method": method, "params": params})
}

func (f *fake) turn() string { return fmt.Sprintf("turn-%d", f.turns) }

func (f *fake) serve() {
	switch f.name {
	case "dead":
		fmt.Fprintln(os.Stderr, "I do not feel well")
		os.Exit(3)
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "garbled":
		fmt.Println("Warning: this is not JSON")
		fmt.Println(`{"type":"of_a_later_version"}`)
		fmt.Println(strings.Repeat("x", 3<<20))
	}
	for {
		f.handle(f.next())
	}
}

func (f *fake) handle(id json.RawMessage, method string, params object) {
	switch method {
	case "initialize":
		if f.name == "nonsense" {
			f.say(object{"id": id, "result": []string{"what"}})
			return
		}
		f.answer(id, object{"userAgent": "terret/0.166.0 (x)"})
	case "account/read":
		f.answer(id, object{"account": nil, "requiresOpenaiAuth": f.name == "signed out"})
	case "config/read":
		f.answer(id, object{"config": object{"model_provider": "x", "model_providers": object{"x": object{"env_key": "OPENAI_API_KEY"}}}})
	case "thread/start":
		if f.name == "unwilling" {
			f.refuse(id, "not today")
			return
		}
		f.thread = terret.NewSessionID()
		f.answer(id, object{"thread": object{"id": f.thread}, "model": "m", "cwd": params["cwd"]})
	case "thread/resume", "thread/fork":
		if f.name == "remembers" && params["excludeTurns"] == true {
			f.thread = fmt.Sprint(params["threadId"])
			if method == "thread/fork" && params["lastTurnId"] == "turn-1" {
				f.thread = terret.NewSessionID()
			}
			f.answer(id, object{"thread": object{"id": f.thread}, "model": "m"})
			return
		}
		f.refuse(id, "no rollout found for thread id "+fmt.Sprint(params["threadId"]))
	case "turn/start":
		input, _ := params["input"].([]any)
		first, _ := input[0].(map[string]any)
		prompt := fmt.Sprint(first["text"])
		if prompt == "refuse" {
			f.refuse(id, "not this one")
			return
		}
		f.turns++
		f.answer(id, object{"turn": object{"id": f.turn()}})
		f.tell("turn/started", object{"turn": object{"id": f.turn()}})
		f.model = params["model"]
		f.prompted(prompt)
	case "thread/turns/list": // two pages
		page := object{"data": []object{{"id": "turn-1", "items": []object{{"id": "m1"}}}}, "nextCursor": "more"}
		if params["cursor"] == "more" {
			page = object{"data": []object{{"id": "turn-2", "items": []object{{"id": "m2"}}}}}
		}
		f.answer(id, page)
	case "model/list":
		f.answer(id, object{"data": []object{
			{"model": "m1", "displayName": "One", "supportedReasoningEfforts": []object{{"reasoningEffort": "high"}}}, {"model": "m2", "hidden": true},
		}})
	case "skills/list":
		f.answer(id, object{"data": []object{{"skills": []object{
			{"name": "pdf", "description": "Read PDF files", "enabled": true}, {"name": "off"}, {"name": "review", "enabled": true},
		}}}})
	case "turn/interrupt":
		f.answer(id, object{})
		f.end("interrupted", nil)
	case "", "initialized":
	default:
		f.refuse(id, "unknown method "+method)
	}
}

func (f *fake) end(status string, failure any) {
	f.tell("turn/completed", object{"turn": object{"id": f.turn(), "status": status, "error": failure}})
}

func (f *fake) text(s string) {
	id := "msg-" + f.turn()
	f.tell("item/started", object{"item": object{"type": "agentMessage", "id": id}})
	f.tell("item/agentMessage/delta", object{"itemId": id, "delta": s})
	f.tell("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": s}})
}

// prompted does what the prompt says.
func (f *fake) prompted(prompt string) {
	switch prompt {
	case "hello":
		f.text("Hello.")
		f.tell("thread/tokenUsage/updated", object{"tokenUsage": object{"last": object{"inputTokens": 5, "outputTokens": 2}, "total": object{"inputTokens": 5, "outputTokens": 2}}})
		f.end("completed", nil)
	case "model?":
		f.text(fmt.Sprint(f.model))
		f.end("completed", nil)
	case "twice": // ends its turn twice, and goes on talking
		f.text("Hello.")
		f.end("completed", nil)
		f.end("failed", object{"message": "no, wait"})
	case "long":
		f.text(strings.Repeat("0123456789abcdef", 3<<20/16))
		f.end("completed", nil)
	case "drift": // words and shapes of a later version
		f.tell("item/started", object{"item": object{"type": "hologram", "id": "h1"}})
		f.tell("weather/changed", object{"sunny": true})
		f.say(object{"method": "turn/plan/updated", "params": "not an object"})
		f.tell("item/agentMessage/delta", object{"itemId": "m1", "delta": "So it ", "willRetry": "perhaps"})
		f.tell("item/agentMessage/delta", object{"itemId": "m1", "delta": "goes."})
		f.say(object{"id": 77, "method": "coffee/make", "params": object{}})
		f.next() // our refusal
		f.end("completed", nil)
	case "garbage":
		fmt.Println("not JSON")
		fmt.Println(`{"half":`)
		f.text("Still here.")
		f.end("completed", nil)
	case "die":
		f.tell("item/started", object{"item": object{"type": "commandExecution", "id": "c1", "command": "sleep"}})
		f.text("I am about to")
		fmt.Fprintln(os.Stderr, "the disk is on fire")
		os.Exit(7)
	case "mute": // closes its output and lives on
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "hang":
		f.text("I hang")
	case "plan", "smaller":
		f.tell("item/completed", object{"item": object{"type": "plan", "id": "p-" + f.turn(), "text": "Write a file."}})
		f.end("completed", nil)
	case "form", "confirm": // an MCP server asks
		fields := object{"age": object{"type": "integer", "title": "Age"}, "member": object{"type": "boolean"}}
		if prompt == "confirm" {
			fields = object{}
		}
		f.say(object{"id": 88, "method": "mcpServer/elicitation/request", "params": object{
			"threadId": f.thread, "serverName": "club", "mode": "form", "message": "Who are you?", "requestedSchema": object{"type": "object", "properties": fields},
		}})
		_, _, result := f.next()
		f.text(string(seat.Encode(result)))
		f.end("completed", nil)
	case "deaf": // takes no notice of an interrupt
		f.text("I do not listen")
		_, _ = io.Copy(io.Discard, f.in)
	default:
		f.approval(prompt)
	}
}

// approval asks for what the prompt names.
func (f *fake) approval(prompt string) {
	item := object{"type": "commandExecution", "id": fmt.Sprintf("c%d", f.asked), "command": "touch " + prompt, "cwd": "/"}
	f.tell("item/started", object{"item": item})
	f.say(object{"id": f.asked, "method": "item/commandExecution/requestApproval", "params": object{
		"threadId": f.thread, "itemId": item["id"], "command": item["command"], "cwd": "/",
	}})
	f.asked++
	_, _, result := f.next()
	decision := fmt.Sprint(result["decision"])
	item["status"], item["exitCode"], item["aggregatedOutput"] = "completed", 0, decision
	if decision == "decline" || decision == "cancel" {
		item["status"] = "declined"
	}
	f.tell("item/completed", object{"item": item})
	if decision == "cancel" {
		f.end("interrupted", nil)
		return
	}
	f.text(decision)
	f.end("completed", nil)
}

// host records what an agent says.
type host struct {
	mu      sync.Mutex
	events  []terret.Event
	asked   []terret.Ask
	changed chan struct{}
	full    bool
	decide  func(terret.Ask) terret.Decision
}

var errFull = errors.New("the log is full")

func (h *host) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *host) Emit(_ context.Context, events []terret.Event, _ []byte) (err error) {
	h.note(func() {
		if h.full {
			err = errFull
			return
		}
		h.events = append(h.events, events...)
	})
	return err
}

func (h *host) Ask(_ context.Context, q terret.Ask) (terret.Decision, error) {
	h.note(func() { h.asked = append(h.asked, q) })
	d := terret.Decision{Behavior: terret.BehaviorAllow}
	if h.decide != nil {
		d = h.decide(q)
	}
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
	t      *testing.T
	d      *Driver
	host   *host
	req    terret.OpenRequest
	marker string
	sent   string // to the model; guarded by host.mu
}

func newSetup(t *testing.T, name string) *setup {
	t.Helper()
	marker := "FAKE_MARK_" + strings.ReplaceAll(terret.NewSessionID(), "-", "")
	s := &setup{t: t, d: New(Config{Path: os.Args[0], Env: []string{"FAKE_*"}}), host: &host{changed: make(chan struct{})}, marker: marker}
	s.req = terret.OpenRequest{
		Session: terret.Session{ID: "s", Cwd: t.TempDir()}, Host: s.host, Log: slog.New(slog.DiscardHandler),
		Env: []string{"PATH=" + os.Getenv("PATH"), fakeEnv + "=" + name, marker + "=1", "OPENAI_API_KEY=x", "HOME=" + t.TempDir()},
	}
	t.Cleanup(func() { guardtest.AwaitNone(t, marker) })
	return s
}

// open opens an agent, which is closed with the test. Then nothing of it may be left.
func (s *setup) open() terret.Agent {
	s.t.Helper()
	a, err := s.d.Open(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := a.(*agent).Occupied()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			s.t.Error(err)
		}
		if p.relay == nil {
			return
		}
		if _, err := os.Stat(p.relay.dir); !os.IsNotExist(err) {
			s.t.Errorf("the folder of its hooks is left: %v", err)
		}
	})
	return a
}

func words(s string) terret.Prompt {
	return terret.Prompt{Blocks: []terret.Block{terret.Text(s)}, MessageID: terret.NewID(terret.PrefixMessage)}
}

// run prompts, waits for the end and returns it. It must be the only one.
func (s *setup) run(a terret.Agent, prompt string, in terret.Settings) terret.Data {
	s.t.Helper()
	before := len(s.host.ends())
	if err := a.Prompt(s.t.Context(), "turn", words(prompt), in); err != nil {
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

// all are the events' data of one kind.
func all[T terret.Data](events []terret.Event) []T {
	var out []T
	for _, ev := range events {
		if d, ok := ev.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}
