package claude

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/guard/guardtest"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	s.says(a, "hello there", "You said hello there")
	s.says(a, "once more", "You said once more")
	events := s.host.said()
	if n := len(s.starts()); n != 1 {
		t.Errorf("%d processes were started", n)
	}
	starts := all[terret.SessionStart](events)
	ids := all[terret.SessionNativeID](events)
	if len(starts) != 1 || len(ids) != 1 || starts[0].NativeID != ids[0].New || starts[0].Source != "new" || ids[0].Reason != "start" {
		t.Errorf("started as %+v with %+v", starts, ids)
	}
	if n := count[terret.DiagWarning](events); n != 0 {
		t.Errorf("%d warnings", n)
	}
	s.close(a)
	s.close(a) // again
	events = s.host.said()
	if d, ok := events[len(events)-1].Data.(terret.ProcessExit); !ok || d.Code == nil || *d.Code != 0 {
		t.Errorf("the last event is %+v", events[len(events)-1].Data)
	}
	if n := count[terret.SessionEnd](events); n != 0 {
		t.Errorf("whoever closes the agent knows that it has ended")
	}
	if err := a.Prompt(t.Context(), "t", words("late"), terret.Settings{}); kindOf(err) != terret.CodeSessionClosed {
		t.Errorf("a prompt after the end: %v", err)
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fake  string
		path  string
		want  terret.ErrorCode
		words string
	}{
		"program missing":     {path: "/there/is/none", want: terret.CodeAgentNotFound, words: "/there/is/none"},
		"name not in PATH":    {path: "there-is-no-such-claude", want: terret.CodeAgentNotFound, words: "npm install"},
		"ends at once":        {fake: "dead", want: terret.CodeProcessFailed, words: "I do not feel well"},
		"refuses":             {fake: "refuses", want: terret.CodeStartupRefused, words: "not today"},
		"answers never":       {fake: "mute", want: terret.CodeTimeout, words: "did not answer"},
		"closes its output":   {fake: "closed", want: terret.CodeProcessFailed, words: "did not start"},
		"folder that is none": {fake: "talk", want: terret.CodeStartupRefused, words: "folder"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, tt.fake, func(s *setup) {
				if tt.path != "" {
					s.d.cfg.Path = tt.path
				}
				if tt.fake == "mute" {
					s.d.patience = 1
				}
				if strings.HasPrefix(name, "folder") {
					s.req.Session.Cwd = "/there/is/no/folder"
				}
			})
			_, err := s.d.Open(t.Context(), s.req)
			if kindOf(err) != tt.want || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%v (%s)", err, kindOf(err))
			}
			if e := terret.AsError(err); tt.fake == "dead" && (e.ExitCode == nil || *e.ExitCode != 3 || !slices.Equal(e.Stderr, []string{"I do not feel well"})) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestOpenCanceled(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "mute")
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	s.d.cfg.Servers = map[string]MCPServer{"x": nil}
	go func() {
		s.awaitStart()
		cancel(mine)
	}()
	if _, err := s.d.Open(ctx, s.req); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

// TestReady holds that an agent is open, and takes a prompt, only once its process has
// answered the greeting: the first one, and one that later settings need.
func TestReady(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "held")
	hold := filepath.Join(filepath.Dir(s.record), "hold")
	if err := unix.Mkfifo(hold, 0o600); err != nil {
		t.Fatal(err)
	}
	// unlessReady does something that needs a process, and lets the process answer.
	unlessReady := func(do func()) {
		t.Helper()
		var answers atomic.Bool
		early := make(chan bool, 1)
		go func() {
			do()
			early <- !answers.Load()
		}()
		release, err := os.OpenFile(hold, os.O_WRONLY, 0) // blocks until it has been greeted
		if err != nil {
			t.Fatal(err)
		}
		answers.Store(true)
		if err := release.Close(); err != nil {
			t.Fatal(err)
		}
		if <-early {
			t.Error("it did not wait until the process was ready")
		}
	}
	var a terret.Agent
	unlessReady(func() { a, _ = s.d.Open(t.Context(), s.req) })
	if a == nil {
		t.Fatalf("it is not open:\n%s", s.log)
	}
	t.Cleanup(func() { s.close(a) })
	s.says(a, "hello", "You said hello ")
	unlessReady(func() {
		if err := a.Prompt(t.Context(), "turn_2", words("again"), terret.Settings{MaxTurns: 3}); err != nil {
			t.Errorf("prompt: %v\n%s", err, s.log)
		}
	})
	s.complete(s.end(1), "You said again ")
	if n := len(s.starts()); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// awaitStart waits until a process runs.
func (s *setup) awaitStart() {
	guardtest.Eventually(s.t, "process", func() bool { return len(s.starts()) > 0 })
}

func TestStaleResume(t *testing.T) {
	t.Parallel()
	lost := "0197a9d0-0000-7000-8000-000000000001"
	for _, native := range []string{lost, lost + "@", lost + "@0197a9d0-0000-7000-8000-000000000002"} {
		s := newSetup(t, "talk", but(func(s *terret.Session) { s.NativeID = terret.NullString(native) }))
		a := s.open()
		s.says(a, "hello", "You said hello ")
		ids := all[terret.SessionNativeID](s.host.said())
		if len(ids) != 1 || ids[0].Reason != "stale" || string(ids[0].Old) != native || !strings.Contains(ids[0].Error, "No conversation found") {
			t.Errorf("%+v", ids)
		}
		s.says(s.reopen(a), "session", ids[0].New)
	}
	s := newSetup(t, "talk", but(func(s *terret.Session) { s.NativeID = terret.NullString(lost) }), inForce(func(in *terret.Settings) { in.OnStale = terret.OnStaleError }))
	if _, err := s.d.Open(t.Context(), s.req); kindOf(err) != terret.CodeResumeFailed || !strings.Contains(err.Error(), lost) {
		t.Errorf("%v", err)
	}
}

// reopen closes the agent and opens the session again.
func (s *setup) reopen(a terret.Agent) *agent {
	s.t.Helper()
	s.close(a)
	return s.again()
}

func TestRelaunch(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", inForce(func(in *terret.Settings) { in.MaxTurns = 9 }))
	a := s.open()
	s.says(a, "hello", "You said hello ")
	less := func(in *terret.Settings) {
		*in = terret.Settings{
			Tools: []string{}, RemovedTools: []string{"Bash"}, ApprovedTools: []string{"Read", "Grep"}, Effort: "high", SystemAppend: "Be brief.", MaxTurns: 3,
		}
	}
	s.complete(s.turn(a, words("now with less"), less), "You said now with less")
	s.says(a, "size", "4")
	events := s.host.said()
	starts := s.starts()
	if len(starts) != 3 {
		t.Fatalf("%d processes", len(starts))
	}
	native := all[terret.SessionNativeID](events)[0].New
	for _, want := range []string{"--tools=", "--disallowedTools=Bash", "--allowedTools=Read,Grep", "--effort=high", "--max-turns=3", "--resume=" + native} {
		if !slices.Contains(starts[1].Args, want) {
			t.Errorf("%s is not in %q", want, starts[1].Args)
		}
	}
	if !slices.Contains(starts[2].Args, "--max-turns=9") || slices.ContainsFunc(starts[2].Args, func(a string) bool { return strings.HasPrefix(a, "--tools") }) {
		t.Errorf("the third process was started with %q", starts[2].Args)
	}
	var order []string
	for _, ev := range events {
		switch ev.Data.(type) {
		case terret.ProcessSpawn, terret.ProcessExit, terret.TurnComplete, terret.TurnError, terret.SessionEnd:
			order = append(order, string(ev.Kind()))
		}
	}
	want := []string{"process.spawn", "turn.complete", "process.exit", "process.spawn", "turn.complete", "process.exit", "process.spawn", "turn.complete"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestModelAndMode(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", but(func(s *terret.Session) { s.Model, s.PermissionMode = "opus", "acceptEdits" }))
	a := s.open()
	for _, step := range []struct {
		prompt, model, mode string
		want                string
	}{
		{"who", "haiku", "plan", "haiku plan"},
		{"who", "", "", "opus acceptEdits"},
		{"who", "", "dontAsk", "opus dontAsk"},
		{"who", "", "", "opus acceptEdits"},
	} {
		choose := func(in *terret.Settings) { in.Model, in.PermissionMode = step.model, step.mode }
		s.complete(s.turn(a, words(step.prompt), choose), step.want)
		if m, pm := sessionOf(s.host.said(), "opus", "acceptEdits"); m != "opus" && m != "resolved-opus" || pm != "acceptEdits" {
			t.Errorf("after %+v the log says that the session has model %s and mode %s", step, m, pm)
		}
	}
	if err := errors.Join(a.SetModel(t.Context(), "sonnet"), a.SetPermissionMode(t.Context(), "default")); err != nil {
		t.Error(err)
	}
	s.says(a, "who", "sonnet default")
	if n := len(s.starts()); n != 1 {
		t.Errorf("%d processes", n)
	}
	for name, err := range map[string]error{
		"model as a flag": a.SetModel(t.Context(), "--dangerously"), "unknown mode": a.SetPermissionMode(t.Context(), "bogus"),
		"no questions": a.SetPermissionMode(t.Context(), bypass),
	} {
		if kindOf(err) != terret.CodeInvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.SetModel(t.Context(), "forbidden"); kindOf(err) != terret.CodeConflict || !strings.Contains(err.Error(), "no such model") {
		t.Errorf("%v", err)
	}
	for _, in := range []terret.Settings{{PermissionMode: bypass}, {PermissionMode: "bogus"}, {Model: "-x"}, {Effort: "a\nb"}, {Tools: []string{"--x"}}} {
		if err := a.Prompt(t.Context(), "t", words("who"), in); kindOf(err) != terret.CodeInvalidRequest {
			t.Errorf("%+v: %v", in, err)
		}
	}
	s.says(s.reopen(a), "who", "opus acceptEdits") // the request says so
}

// sessionOf is what the log says of the session.
func sessionOf(events []terret.Event, model, mode string) (string, string) {
	for _, ev := range events {
		switch d := ev.Data.(type) {
		case terret.SessionStart:
			model, mode = d.Model, d.PermissionMode
		case terret.SessionUpdated:
			if d.Model != nil {
				model = *d.Model
			}
			if d.PermissionMode != nil {
				mode = *d.PermissionMode
			}
		}
	}
	return model, mode
}

func TestPlanApproved(t *testing.T) {
	t.Parallel()
	approve := func(next string) func(context.Context, terret.Ask) (terret.Decision, error) {
		return func(_ context.Context, q terret.Ask) (terret.Decision, error) {
			return terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: terret.BehaviorApprove, NextMode: next}, nil
		}
	}
	t.Run("of the session", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t, "talk", but(func(s *terret.Session) { s.PermissionMode = "plan" }))
		s.host.decide = approve("acceptEdits")
		a := s.open()
		s.turn(a, words("plan it"))
		s.says(a, "who", " acceptEdits")
		if _, mode := sessionOf(s.host.said(), "", ""); mode != "acceptEdits" {
			t.Errorf("the log says %s", mode)
		}
	})
	t.Run("of a turn", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t, "talk")
		s.host.decide = approve("")
		a := s.open()
		plan := func(in *terret.Settings) { in.PermissionMode = "plan" }
		s.turn(a, words("plan it"), plan)
		if _, mode := sessionOf(s.host.said(), "", ""); mode != "default" {
			t.Errorf("the log says %s", mode)
		}
		s.host.decide = approve("acceptEdits")
		s.turn(a, words("plan it"), plan)
		s.says(a, "who", " default")
	})
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	decide := func(d terret.Decision, err error) func(context.Context, terret.Ask) (terret.Decision, error) {
		return func(_ context.Context, q terret.Ask) (terret.Decision, error) {
			d.RequestID, d.Gate = "req_"+q.Key, q.Gate
			return d, err
		}
	}
	tests := map[string]struct {
		prompt string
		decide func(context.Context, terret.Ask) (terret.Decision, error)
		want   string
	}{
		"allow":  {"ask ls", decide(terret.Decision{Behavior: terret.BehaviorAllow}, nil), `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		"edit":   {"ask ls", decide(terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command":"pwd"}`)}, nil), `{"behavior":"allow","updatedInput":{"command":"pwd"}}`},
		"deny":   {"ask ls", decide(terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no", Interrupt: true}, nil), `{"behavior":"deny","interrupt":true,"message":"no"}`},
		"error":  {"ask ls", decide(terret.Decision{}, errors.New("broken")), `{"behavior":"deny","message":"it could not be decided"}`},
		"hook":   {"hook PreToolUse", decide(terret.Decision{}, errors.New("broken")), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"it could not be decided"}}`},
		"prompt": {"hook UserPromptSubmit", decide(terret.Decision{}, errors.New("broken")), `{}`},
		"block":  {"hook Stop", decide(terret.Decision{Behavior: terret.BehaviorBlock, Reason: "go on"}, nil), `{"decision":"block","reason":"go on"}`},
		"stop":   {"hook Stop", decide(terret.Decision{}, errors.New("broken")), `{}`},
		"note":   {"hook Notification", nil, `{}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			s.host.decide = tt.decide
			s.says(s.open(), tt.prompt, tt.want)
			var want []string
			switch {
			case strings.Contains(tt.want, "could not"):
			case strings.HasPrefix(tt.prompt, "ask"):
				want = []string{"req_r1"}
			case name == "block":
				want = []string{"req_h1"}
			}
			s.await("word that it was told", func(h *host) bool { return slices.Equal(h.delivered, want) })
		})
	}
}

func TestSeveralRequests(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	second := make(chan struct{})
	s.host.decide = func(_ context.Context, q terret.Ask) (terret.Decision, error) {
		d := terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorAllow}
		if q.Key == "r1" {
			<-second
			d = terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorDeny, Reason: "no"}
		} else {
			defer close(second)
		}
		return d, nil
	}
	s.says(s.open(), "ask-two", `[{"behavior":"deny","message":"no"},{"behavior":"allow","updatedInput":{"command":"two"}}]`)
}

// TestRequestsEnd is that requests of an agent that no longer waits are given up, and
// that this is told before the end of the turn.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]error{"withdraw": errWithdrawn, "die-asking": errEnded} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			cause := make(chan error, 1)
			s.host.decide = func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorDeny, Source: terret.ByAgentExit}, nil
			}
			a := s.open()
			s.turn(a, words(prompt))
			if err := <-cause; !errors.Is(err, want) {
				t.Errorf("given up because of %v", err)
			}
			events := s.host.said()
			decided := slices.IndexFunc(events, func(ev terret.Event) bool { _, ok := ev.Data.(terret.PermissionDecision); return ok })
			end := slices.IndexFunc(events, isEnd)
			if prompt == "die-asking" && (decided < 0 || decided > end) {
				t.Errorf("decided at %d, ended at %d", decided, end)
			}
			s.host.mu.Lock()
			defer s.host.mu.Unlock()
			if len(s.host.delivered) > 0 {
				t.Errorf("the agent was told of %q", s.host.delivered)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"hang", "late"} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			a := s.open()
			if err := a.Interrupt(t.Context(), "t"); err != nil { // nothing runs
				t.Error(err)
			}
			if err := a.Prompt(t.Context(), "t", words(prompt), terret.Settings{}); err != nil {
				t.Fatal(err)
			}
			if err := a.Interrupt(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			s.failed(s.end(0), terret.CodeInterrupted)
			s.says(a, "go on", "You said go on")
			if n := len(s.starts()); n != 1 {
				t.Errorf("%d processes", n)
			}
		})
	}
}

// TestInterruptTakesBack is that the agent does not go on with what waits in its
// queue.
func TestInterruptTakesBack(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	if err := a.Prompt(t.Context(), "t", words("hang"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	s.await("beginning", func(h *host) bool { return count[terret.MessageDelta](h.events) > 0 })
	if err := a.Steer(t.Context(), "t", words("use blue")); err != nil {
		t.Fatal(err)
	}
	if err := a.Interrupt(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	d := s.failed(s.end(0), terret.CodeInterrupted)
	if d.Text != "" && d.Text != "I begin" {
		t.Errorf("%+v", d)
	}
	s.says(a, "go on", "You said go on")
	if n := ends(s.host.said()); n != 2 {
		t.Errorf("%d turns ended", n)
	}
}

func TestAgentDies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code   int
		signal string
	}{"die": {code: 7}, "kill": {signal: "SIGKILL"}, "shut": {signal: "SIGTERM"}}
	for prompt, tt := range tests {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			a := s.open()
			d := s.failed(s.turn(a, words(prompt)), terret.CodeProcessFailed)
			if d.Error.Signal != tt.signal || tt.signal == "" && (d.Error.ExitCode == nil || *d.Error.ExitCode != tt.code) || !d.Error.Retryable {
				t.Errorf("%+v", d.Error)
			}
			if prompt == "die" && !slices.Equal(d.Error.Stderr, []string{"key is [redacted:ANTHROPIC_API_KEY]"}) {
				t.Errorf("%q", d.Error.Stderr)
			}
			if got := all[terret.DiagStderr](s.host.said()); prompt == "die" && (len(got) != 1 || got[0].Text != "key is [redacted:ANTHROPIC_API_KEY]") {
				t.Errorf("the log has %+v of what it wrote to stderr", got)
			}
			events := s.await("end of the agent", func(h *host) bool { return count[terret.SessionEnd](h.events) > 0 })
			if got := all[terret.SessionEnd](events)[0]; got.Reason != "agent_exit" {
				t.Errorf("%+v", got)
			}
			if n := ends(events); n != 1 {
				t.Errorf("%d ends", n)
			}
			s.says(a, "hello", "You said hello ") // with another process
			if got := s.starts(); len(got) != 2 || !slices.ContainsFunc(got[1].Args, func(a string) bool { return strings.HasPrefix(a, "--resume=") }) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLogFull(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	s.says(a, "hello", "You said hello ")
	p, err := a.process()
	if err != nil {
		t.Fatal(err)
	}
	s.host.note(func() { s.host.full = true })
	if err := a.Prompt(t.Context(), "t", words("hang"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	<-p.told // it was stopped
	if _, err := s.d.Open(t.Context(), s.req); !errors.Is(err, errLogFull) {
		t.Errorf("%v", err)
	}
	s.host.note(func() { s.host.full = false })
}

func TestOddOutput(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "garbled")
	a := s.open()
	s.says(a, "garbage", "that was garbage")
	events := s.host.said()
	if n, m := count[terret.DiagParseError](events), count[terret.Unknown](events); n != 4 || m != 2 {
		t.Errorf("%d and %d:\n%s", n, m, dump(events))
	}
	if d, ok := s.turn(a, words("long")).Data.(terret.TurnComplete); !ok || len(d.Text) != 3<<20/5*5 {
		t.Errorf("%d bytes", len(d.Text))
	}
	s.says(a, "size "+strings.Repeat("x", 3<<20), "3145733")
}

// TestStuckPrompt is that an agent which does not read holds up nobody for ever.
func TestStuckPrompt(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*agent) error{
		"kill":  func(a *agent) error { return a.Kill(context.Background()) },
		"close": func(a *agent) error { return a.Close(canceled()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			a := s.open()
			s.says(a, "deaf", "what?")
			prompted := make(chan error)
			go func() { prompted <- a.Prompt(t.Context(), "t", words(strings.Repeat("x", 3<<20)), terret.Settings{}) }()
			p, err := a.process()
			if err != nil {
				t.Fatal(err)
			}
			guardtest.Eventually(t, "write", func() bool { return !p.queueing() })
			// What waits behind it can be taken back.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := a.Steer(ctx, "t", words("never mind")); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if err := stop(a); err != nil {
				t.Error(err)
			}
			if err := <-prompted; kindOf(err) != terret.CodeProcessFailed {
				t.Errorf("%v", err)
			}
			s.failed(s.end(1), terret.CodeProcessFailed)
		})
	}
}

// queueing reports whether no large line is being written yet.
func (p *process) queueing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outMu.Lock()
	defer p.outMu.Unlock()
	return !p.t.turn.asked() || len(p.out) > 0 || len(p.wake) > 0
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestClosedInput is that an agent that cannot be told anything is replaced.
func TestClosedInput(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	s.says(a, "close-input", "closed")
	if err := a.Prompt(t.Context(), "t", words("hello"), terret.Settings{}); kindOf(err) != terret.CodeProcessFailed {
		t.Errorf("%v", err)
	}
	s.await("end of the agent", func(h *host) bool { return count[terret.SessionEnd](h.events) > 0 })
	s.says(a, "hello again", "You said hello again")
}

func TestStubborn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "stubborn")
	a := s.open()
	if err := a.Close(canceled()); err != nil {
		t.Error(err)
	}
	exit := all[terret.ProcessExit](s.host.said())
	if len(exit) != 1 || exit[0].Signal != "SIGKILL" {
		t.Errorf("%+v", exit)
	}
}

func TestKeyRefused(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	d := s.failed(s.turn(a, words("key")), terret.CodeNotAuthenticated)
	const hint = "Claude Code not authenticated. Run `claude auth login` in your terminal."
	if d.Error.HTTPStatus != 401 || d.Error.Message != hint || d.Error.Retryable {
		t.Errorf("%+v", d.Error)
	}
	if n := count[terret.Retry](s.host.said()); n != 2 {
		t.Errorf("%d retries were shown", n)
	}
	if err := a.Prompt(t.Context(), "t", words("hang"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Interrupt(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	s.failed(s.end(1), terret.CodeInterrupted)
}

// TestBackground is that the end of what the agent does by itself is not taken for
// the end of the turn.
func TestBackground(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	s.says(a, "background", "for now")
	s.await("work", func(h *host) bool { return count[terret.MessageComplete](h.events) > 1 })
	s.says(a, "and I", "now to you")
	if n := ends(s.host.said()); n != 2 {
		t.Errorf("%d ends", n)
	}
}

func TestWithoutPieces(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	s.turn(a, words("die"), func(in *terret.Settings) { in.WholeMessages = true })
	if n := count[terret.MessageDelta](s.host.said()); n != 0 {
		t.Errorf("%d pieces", n)
	}
}

func TestControls(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	models, err := a.Models(t.Context())
	if diff := cmp.Diff([]terret.Model{{ID: "opus", Name: "Opus", Efforts: []string{"low", "high"}}}, models); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	commands, err := a.Commands(t.Context())
	if diff := cmp.Diff([]terret.Command{{Name: "compact", Description: "Make it short", Hint: "<what>"}}, commands); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	usage, err := a.Context(t.Context())
	if diff := cmp.Diff(terret.ContextUsage{Used: 10, Max: 100, Parts: []terret.ContextPart{{Name: "Messages", Tokens: 7}}}, usage); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := a.Rename(t.Context(), "A title"); err != nil {
		t.Error(err)
	}
	if err := a.Rename(t.Context(), "refuse"); kindOf(err) != terret.CodeConflict || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
	if err := a.Compact(t.Context(), "t", "the colours", terret.Settings{}); err != nil {
		t.Error(err)
	}
	s.complete(s.end(0), "You said /compact the colours")
	if err := a.Command(t.Context(), "t", "no such name", "", terret.Settings{}); kindOf(err) != terret.CodeInvalidRequest {
		t.Errorf("%v", err)
	}
	s.says(a, "clear", "cleared")
	ids := all[terret.SessionNativeID](s.host.said())
	if len(ids) != 2 || ids[1].Reason != "clear" {
		t.Errorf("%+v", ids)
	}
	s.says(s.reopen(a), "session", ids[1].New)
}

type calculator struct{}

func (calculator) Serve(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(message), "tools/list") {
		return json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`), nil
	}
	return nil, nil
}

// TestUntestedVersion holds that a session says at its start that its agent's version was
// not tested, once, and works.
func TestUntestedVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"": "", newestTested: "", oldestTested: "", "9.1.0": "9.1.0 is newer", "2.1.9": "2.1.9 is older",
	} {
		s := newSetup(t, "talk", func(s *setup) { s.req.Env = append(s.req.Env, versionEnv+"="+version) })
		a := s.open()
		s.says(a, "hello", "You said hello ")
		s.says(a, "again", "You said again ")
		warned := all[terret.DiagWarning](s.host.said())
		if want == "" && len(warned) != 0 || want != "" && (len(warned) != 1 || !strings.Contains(warned[0].Text, want)) {
			t.Errorf("version %q: %+v", version, warned)
		}
	}
}

// TestRedoIsOurs holds that Claude Code is not said to go forward again itself: the
// driver remembers where it was.
func TestRedoIsOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name terret.Capability
		want terret.Provider
	}{{terret.CanUndo, terret.ByAgent}, {terret.CanRedo, terret.ByDriver}} {
		if got := capabilities().Abilities[c.name]; !got.OK || got.By != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "servers", inForce(func(in *terret.Settings) {
		in.MCP = terret.JSON(`{"mcpServers":{"web":{"type":"http","url":"http://x","headers":{"Authorization":"` + canary + `"}}}}`)
	}))
	s.d.cfg.Servers = map[string]MCPServer{"calc": calculator{}}
	a := s.open()
	s.says(a, "servers", `[{"request_id":"mcp-calc","response":{"mcp_response":{"id":1,"jsonrpc":"2.0","result":{"tools":[]}}},"subtype":"success"},`+
		`{"error":"there is no server \"unknown\"","request_id":"mcp-unknown","subtype":"error"},`+
		`{"request_id":"too-soon","response":{"behavior":"deny","message":"the session has not begun"},"subtype":"success"}]`)
	st := s.starts()[0]
	want := `{"mcpServers":{"calc":{"name":"calc","type":"sdk"},"web":{"type":"http","url":"http://x","headers":{"Authorization":"` + canary + `"}}}}`
	if st.Config != want || st.Secret != 0o600 {
		t.Errorf("%s, %v", st.Config, st.Secret)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	if _, err := a.Fork(t.Context(), ""); kindOf(err) != terret.CodeNotFound {
		t.Errorf("fork of nothing: %v", err)
	}
	prompts := []terret.Prompt{words("one"), words("two"), words("three")}
	for _, p := range prompts {
		s.turn(a, p)
	}
	trunk := all[terret.SessionNativeID](s.host.said())[0].New
	line := func(i int) string { return strings.TrimPrefix(prompts[i].MessageID, terret.PrefixMessage) }
	spoken := all[terret.MessageComplete](s.host.said())[1].MessageID
	for message, want := range map[string]string{
		"": trunk + "@", prompts[1].MessageID: trunk + "@" + line(1), spoken: trunk + "@" + strings.TrimPrefix(spoken, "msg_api_"),
		spoken + "#2": trunk + "@" + strings.TrimPrefix(spoken, "msg_api_"),
	} {
		if got, err := a.Fork(t.Context(), message); err != nil || got != want {
			t.Errorf("fork at %q is %q, not %q: %v", message, got, want, err)
		}
	}
	if _, err := a.Fork(t.Context(), "msg_unknown"); kindOf(err) != terret.CodeNotFound {
		t.Errorf("%v", err)
	}
	if err := a.Forward(t.Context()); kindOf(err) != terret.CodeConflict {
		t.Errorf("forward from the end: %v", err)
	}
	// Back over two turns, forward over one, over a restart.
	for _, i := range []int{2, 1} {
		if err := a.Rewind(t.Context(), prompts[i].MessageID); err != nil {
			t.Fatal(err)
		}
	}
	a = s.reopen(a)
	if err := a.Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = s.reopen(a)
	end := s.turn(a, words("session"))
	branch := s.newest()
	s.complete(end, branch)
	if branch == trunk {
		t.Fatalf("it is the same session")
	}
	if got := s.uuids(branch); len(got) < 4 || got[0] != line(0) || got[2] != line(1) || slices.Contains(got, line(2)) {
		t.Errorf("the copy holds %q, not %q and %q", got, line(0), line(1))
	}
	if got := s.uuids(trunk); len(got) != 6 {
		t.Errorf("the trunk was changed: %q", got)
	}
	if err := a.Forward(t.Context()); kindOf(err) != terret.CodeConflict {
		t.Errorf("forward after a prompt: %v", err)
	}
	// A prompt of the trunk, in the copy; and all of it.
	if err := a.Rewind(t.Context(), prompts[0].MessageID); err != nil {
		t.Fatal(err)
	}
	if s.newest() != branch+"@0" {
		t.Errorf("went back to %s", s.newest())
	}
	if got, err := a.Fork(t.Context(), ""); err != nil || got != branch+"@0" {
		t.Errorf("fork of nothing left: %q, %v", got, err)
	}
	s.complete(s.turn(a, words("session")), s.newest())
	if got := s.uuids(s.newest()); len(got) != 2 {
		t.Errorf("it does not begin anew: %q", got)
	}
	if err := a.Rewind(t.Context(), "msg_unknown"); kindOf(err) != terret.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// newest is the agent's own session as the log knows it.
func (s *setup) newest() string {
	ids := all[terret.SessionNativeID](s.host.said())
	return ids[len(ids)-1].New
}

// uuids are those of the lines in the record of a session.
func (s *setup) uuids(id string) (out []string) {
	s.t.Helper()
	home := filepath.Dir(s.record)
	b, err := os.ReadFile(filepath.Join(home, ".claude", "projects", "folder", id+".jsonl"))
	if err != nil {
		s.t.Error(err)
	}
	for line := range strings.Lines(string(b)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, r.UUID)
	}
	return out
}

func TestBefore(t *testing.T) {
	t.Parallel()
	at := func(kind, id, parent string) record { return record{Type: kind, UUID: id, Parent: parent} }
	tests := map[string]struct {
		records []record
		want    string
	}{
		"first":      {[]record{at("user", "p", "")}, fromNothing},
		"answer":     {[]record{at("assistant", "a", ""), at("attachment", "x", "a"), at("user", "p", "x")}, "a"},
		"compacted":  {[]record{at("assistant", "a", ""), at("system", "b", ""), at("user", "summary", "b"), at("user", "p", "summary")}, "summary"},
		"circle":     {[]record{at("attachment", "x", "y"), at("attachment", "y", "x"), at("user", "p", "y")}, fromNothing},
		"lost":       {[]record{at("user", "p", "gone")}, fromNothing},
		"itself":     {[]record{at("user", "p", "p")}, "p"},
		"no parents": {[]record{at("summary", "", ""), at("user", "p", "")}, fromNothing},
	}
	for name, tt := range tests {
		prompt, ok := find(tt.records, "p")
		if got := before(tt.records, prompt); !ok || got != tt.want {
			t.Errorf("%s: %q, not %q", name, got, tt.want)
		}
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", inForce(func(in *terret.Settings) {
		in.SystemAppend, in.Agents = "Talk like a pirate.", terret.JSON(`{"scout":{"description":"d","prompt":"p"}}`)
	}))
	end, ok := s.turn(s.open(), words("greeting")).Data.(terret.TurnComplete)
	var said struct {
		Hooks  map[string][]hookMatcher `json:"hooks"`
		Agents map[string]object        `json:"agents"`
		Append string                   `json:"appendSystemPrompt"`
	}
	if err := json.Unmarshal([]byte(end.Text), &said); err != nil || !ok {
		t.Fatalf("%v: %+v", err, end)
	}
	if said.Append != "Talk like a pirate." || said.Agents["scout"] == nil {
		t.Errorf("%+v", said)
	}
	for name, m := range said.Hooks {
		if len(m) != 1 || m[0].Timeout*1000 >= 1<<31 || m[0].Timeout < 7*24*60*60 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestHooksOnDemand is that a process reports only what somebody wants, and is
// replaced only if it reports too little.
func TestHooksOnDemand(t *testing.T) {
	t.Parallel()
	always := []string{
		"PreToolUse", "Notification", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange", "CwdChanged", "FileChanged",
		"InstructionsLoaded", "UserPromptExpansion",
	}
	s := newSetup(t, "talk")
	a := s.open()
	for _, step := range []struct {
		wanted    []terret.Gate
		hooks     []string // beside those
		processes int
	}{
		{nil, nil, 1},
		{[]terret.Gate{terret.GatePreTool, terret.GatePermission}, nil, 1}, // which need none of their own
		{[]terret.Gate{terret.GateStop}, []string{"Stop"}, 2},
		{nil, []string{"Stop"}, 2},
		{[]terret.Gate{terret.GateStop, terret.GatePrompt}, []string{"Stop", "UserPromptSubmit"}, 3},
		{[]terret.Gate{terret.GatePrompt}, []string{"Stop", "UserPromptSubmit"}, 3},
		{[]terret.Gate{terret.GateCompact, terret.GateSubagentStop}, []string{"PreCompact", "SubagentStop"}, 4},
	} {
		end, _ := s.turn(a, words("greeting"), func(in *terret.Settings) { in.Gates = step.wanted }).Data.(terret.TurnComplete)
		var said struct {
			Hooks map[string]any `json:"hooks"`
		}
		if err := json.Unmarshal([]byte(end.Text), &said); err != nil {
			t.Fatalf("%v: %+v", err, end)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(always, step.hooks))), slices.Sorted(maps.Keys(said.Hooks))); diff != "" {
			t.Errorf("%q: -want +got\n%s", step.wanted, diff)
		}
		if n := len(s.starts()); n != step.processes {
			t.Errorf("%q: %d processes", step.wanted, n)
		}
	}
	if n := count[terret.SessionNativeID](s.host.said()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}
