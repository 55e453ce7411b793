package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/test/guardtest"
	"github.com/terret-dev/terret/test/sim"
)

// These tests run the real Claude Code, as installed by `make conformance`, if
// conformance is set. They are about what the suite of the drivers does not look at.
const (
	conformance = "TERRET_CONFORMANCE"
	realProgram = "TERRET_CONFORMANCE_CLAUDE" // in place of the installed one
)

// script is a model that does what the prompt says.
const script = `
side_calls: answer
steps:
  - {match: {user: '/^run (?P<c>[^\n]+)/'}, anywhere: true, repeat: forever, answer: {text: "Running. ", tools: [{name: Bash, input: {command: "{{c}}", description: run}}]}}
  - {match: {user: '/^later (?P<c>[^\n]+)/'}, anywhere: true, repeat: forever, answer: {tools: [{name: Bash, input: {command: "{{c}}", description: run, run_in_background: true}}]}}
  - {match: {user: "/^question/"}, anywhere: true, repeat: forever, answer: {tools: [{name: AskUserQuestion, input: {questions: [{question: "Which colour?", header: Colour, multiSelect: false, options: [{label: Red, description: r}, {label: Blue, description: b}]}]}}]}}
  - {match: {user: "/^make a plan/"}, anywhere: true, repeat: forever, answer: {tools: [{name: ExitPlanMode, input: {plan: "Write a file."}}]}}
  - {match: {user: "/^delegate/"}, anywhere: true, repeat: forever, answer: {tools: [{name: Agent, input: {description: d, prompt: say hi, subagent_type: general-purpose}}]}}
  - {match: {user: "/^add up/"}, anywhere: true, repeat: forever, answer: {tools: [{name: mcp__calc__add, input: {}}]}}
  - {match: {user: "/^misfit/"}, anywhere: true, repeat: forever, answer: {tools: [{name: StructuredOutput, input: {number: 3}}]}}
  - {match: {tool_result: "/schema/"}, anywhere: true, repeat: forever, answer: {tools: [{name: StructuredOutput, input: {number: 3}}]}}
  - {match: {user: slow}, anywhere: true, repeat: forever, answer: {text: "one two three four five six seven eight nine ten", delay: 300ms}}
  - {match: {user: refuse me}, anywhere: true, repeat: forever, answer: {error: {status: 401, type: authentication_error, message: invalid x-api-key}}}
  - {match: {user: no such model}, anywhere: true, repeat: forever, answer: {error: {status: 404, type: not_found_error, message: "model: x"}}}
  - {match: {any: true}, anywhere: true, repeat: forever, answer: {text: "Said {{last}}"}}
`

// real is a session with the real program.
type real struct {
	*setup
	mu   sync.Mutex
	sent []string // bodies of requests with tools, as the model gets them
}

func newReal(t *testing.T, change ...func(*setup)) *real {
	t.Helper()
	if os.Getenv(conformance) == "" {
		t.Skipf("this runs the real Claude Code: install it with agents/install.sh and set %s=1", conformance)
	}
	program := os.Getenv(realProgram)
	if program == "" {
		var err error
		if program, err = filepath.Abs("../../agents/node_modules/.bin/claude"); err != nil {
			t.Fatal(err)
		}
	}
	r := &real{}
	scenario, err := sim.Parse("script", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := sim.NewServer(scenario, sim.Options{Record: func(rec sim.Recorded) error {
		b, err := json.Marshal(rec)
		r.mu.Lock()
		defer r.mu.Unlock()
		if strings.Contains(string(b), `"tools":[{`) {
			r.sent = append(r.sent, string(b))
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	running, err := server.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	r.setup = newSetup(t, "", func(s *setup) {
		s.d.cfg.Path = program
		s.req.Env = append(s.req.Env, "ANTHROPIC_BASE_URL="+running.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=3")
		s.d.cfg.Environ = s.req.Env
	})
	for _, c := range change {
		c(r.setup)
	}
	return r
}

// heard is what the model was sent last.
func (r *real) heard() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sent) == 0 {
		return ""
	}
	return r.sent[len(r.sent)-1]
}

func (r *real) hears(want []string, not ...string) {
	r.t.Helper()
	heard := r.heard()
	for _, w := range want {
		if !strings.Contains(heard, w) {
			r.t.Errorf("the model was not sent %q", w)
		}
	}
	for _, w := range not {
		if strings.Contains(heard, w) {
			r.t.Errorf("the model was sent %q", w)
		}
	}
}

func (r *real) file(name string) bool {
	_, err := os.Stat(filepath.Join(r.req.Session.Cwd, name))
	return err == nil
}

// TestRealMisfit is that answers which never fit the schema end the turn with a code of
// its own.
func TestRealMisfit(t *testing.T) {
	r := newReal(t, inForce(func(in *terret.Settings) {
		in.OutputSchema = terret.JSON(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`)
	}))
	a := r.open()
	d := r.failed(r.turn(a, words("misfit")), terret.CodeMaxStructured)
	if d.Error.Message == "" || d.Error.Retryable {
		t.Errorf("%+v", d.Error)
	}
}

func TestRealDecisions(t *testing.T) {
	r := newReal(t, but(func(s *terret.Session) { s.PermissionMode = "plan" }))
	answers := map[terret.Gate]terret.Decision{
		terret.GatePermission: {Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command":"touch right.txt","description":"run"}`)},
		terret.GateQuestion:   {Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"Blue"}}},
		terret.GatePlan:       {Behavior: terret.BehaviorApprove, NextMode: "acceptEdits"},
	}
	r.host.decide = func(_ context.Context, q terret.Ask) (terret.Decision, error) {
		d, ok := answers[q.Gate]
		if !ok {
			d.Behavior = terret.BehaviorPassthrough
		}
		d.RequestID, d.Gate = q.Key, q.Gate
		return d, nil
	}
	a := r.open()
	r.turn(a, words("make a plan"))
	if _, mode := sessionOf(r.host.said(), "", ""); mode != "acceptEdits" {
		t.Errorf("the mode is %s", mode)
	}
	end, _ := r.turn(a, words("question")).Data.(terret.TurnComplete)
	if !strings.Contains(end.Text, "Blue") {
		t.Errorf("%+v", end)
	}
	if err := a.SetPermissionMode(t.Context(), "default"); err != nil {
		t.Error(err)
	}
	r.turn(a, words("run touch wrong.txt"))
	if r.file("wrong.txt") || !r.file("right.txt") {
		t.Error("the input was not edited")
	}
	answers[terret.GatePermission] = terret.Decision{Behavior: terret.BehaviorDeny, Reason: "stop", Interrupt: true}
	r.failed(r.turn(a, words("run touch no.txt")), terret.CodeInterrupted)
	if r.file("no.txt") {
		t.Error("it ran")
	}
	r.turn(a, words("run touch planned.txt"), func(in *terret.Settings) { in.PermissionMode = "plan" })
	answers[terret.GatePermission] = terret.Decision{Behavior: terret.BehaviorAllow}
	r.turn(a, words("run touch after.txt"))
	if !r.file("after.txt") {
		t.Error("the mode of the turn was not taken back")
	}
}

func TestRealInterrupt(t *testing.T) {
	r := newReal(t)
	a := r.open()
	for i := range 6 { // a little later each time
		before := len(r.host.said())
		if err := a.Prompt(t.Context(), "t", words("slow"), terret.Settings{}); err != nil {
			t.Fatal(err)
		}
		r.await("events", func(h *host) bool { return len(h.events) >= before+i })
		if err := a.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		r.failed(r.end(i), terret.CodeInterrupted)
	}
	if err := a.Prompt(t.Context(), "t", words("slow"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	n := count[terret.MessageDelta](r.host.said())
	r.await("text", func(h *host) bool { return count[terret.MessageDelta](h.events) > n })
	if err := a.Steer(t.Context(), "t", words("steered")); err != nil {
		t.Fatal(err)
	}
	if err := a.Interrupt(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	r.failed(r.end(6), terret.CodeInterrupted)
	if end, ok := r.turn(a, words("go on")).Data.(terret.TurnComplete); !ok || !strings.HasSuffix(end.Text, "go on") {
		t.Errorf("%+v", end)
	}
	r.hears([]string{"go on"}, "steered")
	if n := ends(r.host.said()); n != 8 || count[terret.SessionStart](r.host.said()) != 1 {
		t.Errorf("%d ends", n)
	}
}

func TestRealHistory(t *testing.T) {
	r := newReal(t)
	a := r.open()
	prompts := []terret.Prompt{words("the alpha word"), words("the beta word"), words("the gamma word")}
	for _, p := range prompts {
		r.turn(a, p)
	}
	fork, err := a.Fork(t.Context(), prompts[1].MessageID)
	if err != nil {
		t.Fatal(err)
	}
	spoken, err := a.Fork(t.Context(), all[terret.MessageComplete](r.host.said())[0].MessageID)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []int{2, 1} {
		if err := a.Rewind(t.Context(), prompts[p].MessageID); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	delta := words("the delta word")
	r.turn(a, delta)
	r.hears([]string{"the alpha word", "the beta word", "the delta word"}, "the gamma word")
	if err := a.Rewind(t.Context(), prompts[1].MessageID); err != nil { // said in the trunk
		t.Fatal(err)
	}
	r.turn(a, words("the epsilon word"))
	r.hears([]string{"the alpha word", "the epsilon word"}, "the beta word", "the delta word")
	end := r.turn(a, words("/compact"))
	if _, ok := end.Data.(terret.TurnComplete); !ok || count[terret.CompactPost](r.host.said()) != 1 {
		t.Errorf("%+v", end.Data)
	}
	zeta := words("the zeta word")
	r.turn(a, zeta)
	const kept = "This session is being continued from a previous conversation"
	r.hears([]string{"the zeta word", kept})
	if err := a.Rewind(t.Context(), zeta.MessageID); err != nil {
		t.Fatal(err)
	}
	r.turn(a, words("the eta word"))
	r.hears([]string{"the eta word", kept}, "the zeta word")
	r.close(a)
	for native, want := range map[string]string{fork: "the beta word", spoken: "the alpha word"} {
		r.req.Session.NativeID, r.req.Cursor = terret.NullString(native), nil
		b := r.open()
		r.turn(b, words("in the fork"))
		r.hears([]string{want, "in the fork"}, "the gamma word")
		r.close(b)
	}
}

func TestRealTasks(t *testing.T) {
	r := newReal(t)
	a := r.open()
	r.turn(a, words("later sleep 1; touch late.txt"))
	r.await("turn of its own", func(h *host) bool { return ends(h.events) == 2 })
	r.turn(a, words("delegate"))
	events := r.await("end of the subagent", func(h *host) bool { return count[terret.SubagentStop](h.events) == 1 })
	if n := count[terret.SubagentStart](events); n != 1 {
		t.Errorf("%d subagents", n)
	}
	r.close(a)
	if events = r.host.said(); count[terret.Unknown](events) > 0 {
		t.Errorf("%+v", all[terret.Unknown](events))
	}
}

func TestRealTrouble(t *testing.T) {
	for prompt, want := range map[string]terret.ErrorCode{"refuse me": terret.CodeNotAuthenticated, "no such model": terret.CodeModelNotFound} {
		r := newReal(t)
		a := r.open()
		began := time.Now()
		r.failed(r.turn(a, words(prompt)), want)
		t.Logf("%s: %s", want, time.Since(began))
		if n := count[terret.Retry](r.host.said()); n == 0 && want == terret.CodeNotAuthenticated {
			t.Error("no retry was shown")
		}
		r.close(a)
	}
	r := newReal(t)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close() // nobody listens there now
	r.req.Env = append(r.req.Env, "ANTHROPIC_BASE_URL=http://"+ln.Addr().String(), "CLAUDE_CODE_MAX_RETRIES=1")
	r.failed(r.turn(r.open(), words("hello")), terret.CodeConnectionFailed)
}

func TestRealKilled(t *testing.T) {
	r := newReal(t)
	a := r.open()
	r.says(a, "hello", "Said hello")
	p, err := a.Occupied()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prompt(t.Context(), "t", words("run touch begun; tail -f /dev/null"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	guardtest.Eventually(t, "tool", func() bool { return r.file("begun") })
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if d := r.failed(r.end(1), terret.CodeProcessFailed); d.Error.Signal != "SIGKILL" {
		t.Errorf("%+v", d.Error)
	}
	r.await("end of the agent", func(h *host) bool { return count[terret.SessionEnd](h.events) == 1 })
	guardtest.NoneAlive(t, r.marker)
	r.turn(a, words("go on"))
	r.hears([]string{"hello", "go on"})
}

type adder struct{}

func (adder) Serve(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal(message, &m); err != nil || m.ID == nil {
		return nil, err
	}
	result := object{}
	switch m.Method {
	case "initialize":
		result = object{"protocolVersion": m.Params.ProtocolVersion, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "calc", "version": "1"}}
	case "tools/list":
		result = object{"tools": []object{{"name": "add", "description": "Adds.", "inputSchema": object{"type": "object", "properties": object{}}}}}
	case "tools/call":
		result = object{"content": []object{{"type": "text", "text": "forty-two"}}}
	}
	return seat.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result}), nil
}

func TestRealServersAndTrust(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		t.Run(fmt.Sprint(trusted), func(t *testing.T) {
			r := newReal(t, func(s *setup) { s.req.Trusted = trusted })
			r.d.cfg.Servers = map[string]MCPServer{"calc": adder{}}
			dir, home := r.req.Session.Cwd, filepath.Dir(r.record)
			server := func(mark string) string {
				return fmt.Sprintf(`{"mcpServers":{"%s":{"command":"sh","args":["-c","touch %s/%s; cat >/dev/null"]}}}`, mark, home, mark)
			}
			for name, text := range map[string]string{
				filepath.Join(dir, ".mcp.json"):               server("folder"),
				filepath.Join(dir, "CLAUDE.md"):               "MEMORYOFTHEFOLDER",
				filepath.Join(dir, ".claude/settings.json"):   fmt.Sprintf(`{"enableAllProjectMcpServers":true,"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"touch %s/hook"}]}]}}`, home),
				filepath.Join(home, ".claude.json"):           server("own"),
				filepath.Join(dir, ".claude/commands/foo.md"): "foo",
			} {
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			a := r.open()
			if end, _ := r.turn(a, words("add up")).Data.(terret.TurnComplete); !strings.Contains(end.Text, "forty-two") {
				t.Errorf("%+v", end)
			}
			exists := func(name string) bool { _, err := os.Stat(filepath.Join(home, name)); return err == nil }
			guardtest.Eventually(t, "the user's own server", func() bool { return exists("own") })
			if exists("folder") != trusted || exists("hook") != trusted || strings.Contains(r.heard(), "MEMORYOFTHEFOLDER") != trusted {
				t.Errorf("server %v, hook %v, memory %v", exists("folder"), exists("hook"), strings.Contains(r.heard(), "MEMORYOFTHEFOLDER"))
			}
			commands, err := a.Commands(t.Context())
			if has := slices.ContainsFunc(commands, func(c terret.Command) bool { return c.Name == "foo" }); err != nil || has != trusted {
				t.Errorf("%v, %v", has, err)
			}
		})
	}
}

func TestRealOneShotAndWarm(t *testing.T) {
	r := newReal(t, inForce(func(in *terret.Settings) { in.Tools, in.SystemAppend = []string{}, "PIRATE" }))
	probe, err := r.d.Probe(t.Context())
	if err != nil || !probe.Found || probe.Auth != "ok" {
		t.Errorf("%+v, %v", probe, err)
	}
	w, err := r.d.Prewarm(t.Context(), r.req)
	if err != nil {
		t.Fatal(err)
	}
	r.req.Warm = w
	r.says(r.open(), "hello", "Scripted.") // the script takes a model without tools for another
	if d := all[terret.SessionStart](r.host.said())[0]; len(d.Tools) != 0 {
		t.Errorf("%q", d.Tools)
	}
	r.req.Warm = nil
	r.req.Settings.Tools, r.req.Settings.AddDirs = []string{"Bash", "Read"}, []string{t.TempDir(), t.TempDir()}
	one := r.openOneShot()
	r.says(one, "--first", "Said --first")
	r.exited(1)
	r.says(one, "second "+strings.Repeat("x", 100<<10), "Said second "+strings.Repeat("x", 100<<10))
	r.hears([]string{"PIRATE", "--first"})
	if err := one.Prompt(t.Context(), "t", words("slow"), r.req.Settings); err != nil {
		t.Fatal(err)
	}
	n := count[terret.MessageDelta](r.host.said())
	r.await("text", func(h *host) bool { return count[terret.MessageDelta](h.events) > n })
	if err := one.Interrupt(t.Context(), "t"); err != nil {
		t.Error(err)
	}
	r.failed(r.end(3), terret.CodeInterrupted)
}
