package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/test/guardtest"
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
	hold := s.holds()
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

// TestCloseWhileStarting is that closing an agent does not wait for a process that is
// still starting.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "held")
	if err := os.WriteFile(s.hold(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := s.open()
	if err := os.Remove(s.hold()); err != nil {
		t.Fatal(err)
	}
	hold := s.holds()
	failed := make(chan error, 1)
	go func() { failed <- a.Prompt(t.Context(), "turn_1", words("hello"), terret.Settings{MaxTurns: 3}) }()
	var held *os.File // nobody writes to it, so the second process never answers
	guardtest.Eventually(t, "second process", func() bool {
		var err error
		held, err = os.OpenFile(hold, os.O_WRONLY|unix.O_NONBLOCK, 0)
		return err == nil
	})
	defer held.Close()
	s.close(a)
	if err := <-failed; !errors.Is(err, seat.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestLongLine is that a line which is too long is skipped, and the agent goes on.
func TestLongLine(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	s.says(s.open(), "shout", "That was loud.")
	if n := count[terret.DiagWarning](s.host.said()); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// TestPromptTwice is that a prompt never gets the id of an earlier one: the agent would
// drop it.
func TestPromptTwice(t *testing.T) {
	t.Parallel()
	p := &process{t: newTranslator(options{}), used: map[string]bool{}}
	first, second := p.announce("msg_x", nil), p.announce("msg_x", nil)
	if first == second {
		t.Errorf("both are %s", first)
	}
	p.retract(first)
	if again := p.announce("msg_x", nil); again != first { // it was never written
		t.Errorf("%s, not %s", again, first)
	}
}

// hold is the file that a fake reads before it goes on.
func (s *setup) hold() string { return filepath.Join(filepath.Dir(s.record), "hold") }

// holds makes fakes wait there until somebody writes to that file and closes it.
func (s *setup) holds() string {
	s.t.Helper()
	if err := unix.Mkfifo(s.hold(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.hold()
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
