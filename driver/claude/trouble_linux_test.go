package claude

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

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
	p, err := a.Occupied()
	if err != nil {
		t.Fatal(err)
	}
	s.host.note(func() { s.host.full = true })
	if err := a.Prompt(t.Context(), "t", words("hang"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	<-p.Told() // it was stopped
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
			p, err := a.Occupied()
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
	if p.writing.TryLock() {
		p.writing.Unlock()
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outMu.Lock()
	defer p.outMu.Unlock()
	return !p.t.turn.asked() || len(p.out) > 0
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestClosedInput is that an agent that cannot be told anything is replaced. It runs alone:
// between fork and exec a process of another test would hold the input open, too.
func TestClosedInput(t *testing.T) {
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
