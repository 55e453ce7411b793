package pi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

func completed(t *testing.T, end terret.Data) string {
	t.Helper()
	d, ok := end.(terret.TurnComplete)
	if !ok {
		t.Fatalf("the turn ended with %+v", end)
	}
	return d.Text
}

func failed(t *testing.T, end terret.Data, want terret.ErrorCode) terret.Error {
	t.Helper()
	d, ok := end.(terret.TurnError)
	if !ok || d.Error.Code != want {
		t.Fatalf("the turn ended with %+v", end)
	}
	return d.Error
}

// TestTurns holds that turns end once, however Pi takes a prompt.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	a := s.open()
	if got := completed(t, s.run(a, "hello", terret.Settings{})); got != "hello" {
		t.Errorf("it said %q", got)
	}
	if got := completed(t, s.run(a, "handled", terret.Settings{})); got != "" {
		t.Errorf("it said %q", got)
	}
	failed(t, s.run(a, "refuse", terret.Settings{}), terret.CodeNotAuthenticated)
	if got := completed(t, s.run(a, "/terret {}", terret.Settings{})); got != " /terret {}" {
		t.Errorf("a person may not talk to the extension: %q", got)
	}
	if n := len(s.host.ends()); n != 4 {
		t.Errorf("%d ends of 4 turns", n)
	}
}

// TestDies holds that a turn ends with the process, in the middle of a line and a tool,
// and that the session goes on.
func TestDies(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	a := s.open()
	if err := failed(t, s.run(a, "die", terret.Settings{}), terret.CodeProcessFailed); err.ExitCode == nil || *err.ExitCode != 3 {
		t.Errorf("%+v", err)
	}
	said := dump(s.host.said())
	if !strings.Contains(said, "tool.failure") || !strings.Contains(said, "diag.parse_error") {
		t.Errorf("%s", said)
	}
	completed(t, s.run(a, "hello", terret.Settings{}))
}

// TestHangs holds that a Pi which hears nothing can be ended.
func TestHangs(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	a := s.open()
	if err := a.Prompt(t.Context(), "turn", terret.Prompt{Blocks: []terret.Block{terret.Text("hang")}}, terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Interrupt(t.Context(), "turn"); err != nil { // it returns at once
		t.Fatal(err)
	}
	if err := a.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.host.ends()); n != 1 {
		t.Errorf("%d ends", n)
	}
}

// TestNonsense holds that lines of no meaning are kept, and change nothing.
func TestNonsense(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	a := s.open()
	completed(t, s.run(a, "nonsense", terret.Settings{}))
	said := dump(s.host.said())
	if strings.Count(said, "diag.parse_error") != 4 || !strings.Contains(said, "of_a_later_version") {
		t.Errorf("%s", said)
	}
	if got := completed(t, s.run(a, "long", terret.Settings{})); len(got) != 3<<20 {
		t.Errorf("of a long line %d bytes are left", len(got))
	}
}

// TestNeverReady holds that a process which does not do its part gets no prompt.
func TestNeverReady(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"bare": "has not loaded Terret's extension", "silent": "did not answer"} {
		s := newSetup(t, name)
		if name == "silent" {
			s.d.patience = 200 * time.Millisecond
		}
		_, err := s.d.Open(t.Context(), s.req)
		if e := terret.AsError(err); err == nil || e.Code != terret.CodeStartupRefused || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTool holds that a tool runs only if that is decided, and with the input that is.
func TestTool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pre, permission terret.Decision
		want            string
	}{
		"allowed by a rule": {terret.Decision{Behavior: terret.BehaviorAllow}, terret.Decision{}, `{"allow":true}`},
		"denied by a rule":  {terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no"}, terret.Decision{}, `{"allow":false,"reason":"no"}`},
		"blocked":           {terret.Decision{Behavior: terret.BehaviorBlock, Reason: "no"}, terret.Decision{}, `{"allow":false,"reason":"no"}`},
		"allowed by a person": {
			terret.Decision{Behavior: terret.BehaviorAsk},
			terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command":"true"}`)},
			`{"allow":true,"input":{"command":"true"}}`,
		},
		"denied by a person": {
			terret.Decision{Behavior: terret.BehaviorPassthrough}, terret.Decision{Behavior: terret.BehaviorDeny}, `{"allow":false,"reason":"denied"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "usual")
			s.host.decide = func(q terret.Ask) terret.Decision {
				if q.Gate == terret.GatePreTool {
					return c.pre
				}
				return c.permission
			}
			end := s.run(s.open(), "tool", terret.Settings{})
			if got := completed(t, end); got != c.want {
				t.Errorf("the extension was told %s, want %s", got, c.want)
			}
			denied := strings.Contains(c.want, "false")
			if d := end.(terret.TurnComplete).Denials; len(d) != 0 != denied {
				t.Errorf("the turn tells of %+v", d)
			}
			if said := dump(s.host.said()); strings.Contains(said, "tool.failure") != denied || strings.Count(said, "tool.pre ") != 1 {
				t.Errorf("%s", said)
			}
		})
	}
}

// TestQuestion holds that what another extension asks is put to a person.
func TestQuestion(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	s.host.decide = func(terret.Ask) terret.Decision {
		return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"answer": {"Yes"}}}
	}
	if got := completed(t, s.run(s.open(), "question", terret.Settings{})); got != "true" {
		t.Errorf("it was told %s", got)
	}
}

// TestRewind holds what is remembered to go forward, also across processes.
func TestRewind(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	a := s.open()
	if err := a.Rewind(t.Context(), "nowhere"); terret.AsError(err).Code != terret.CodeNotFound {
		t.Errorf("%v", err)
	}
	if err := a.Rewind(t.Context(), "m1"); err != nil {
		t.Fatal(err)
	}
	if got := seat.ReadCursor(s.host.cursor).Undone; !slices.Equal(got, []string{"leaf-m1"}) {
		t.Errorf("%v", got)
	}
	if err := a.Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Forward(t.Context()); terret.AsError(err).Code != terret.CodeConflict {
		t.Errorf("%v", err)
	}
}

// TestAskedMeanwhile holds that a question outside the turn leaves the process alone, also
// when the next turn needs another one.
func TestAskedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	a := s.open()
	before, _ := a.Occupied()
	if err := a.SetModel(t.Context(), "a/other"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Commands(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := a.Occupied(); now != before {
		t.Error("the process was replaced")
	}
	if err := a.Steer(t.Context(), "turn", terret.Prompt{Blocks: []terret.Block{terret.Text("blue")}}); terret.AsError(err).Code != terret.CodeConflict {
		t.Errorf("a message for no turn: %v", err)
	}
	completed(t, s.run(a, "hello", terret.Settings{}))
	if now, _ := a.Occupied(); now == before {
		t.Error("the process was not replaced")
	}
}

// TestLost holds that a session which Pi has lost begins anew, or is an error.
func TestLost(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "lost")
	s.req.Session.NativeID = terret.NullString(strings.Replace(fakeSession, "01a1", "02b2", 1))
	s.open()
	if said := dump(s.host.said()); !strings.Contains(said, `"reason":"stale"`) {
		t.Errorf("%s", said)
	}
	s.req.Settings.OnStale = terret.OnStaleError
	if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err).Code != terret.CodeResumeFailed {
		t.Errorf("%v", err)
	}
}

// TestUntrusted holds that nothing of a folder that nobody trusts is loaded, that the
// user's own things are, and that Pi is not started where it would not heed that.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "usual")
	home := seat.Lookup(s.req.Env, "HOME")
	own := filepath.Join(home, ".pi", "agent", "extensions")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "mine.ts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := s.d.launchOf(s.req, "", terret.Settings{})
	if err != nil || !slices.Contains(l.args, "--no-extensions") || !slices.Contains(l.args, filepath.Join(own, "mine.ts")) {
		t.Errorf("%v, %v", l.args, err)
	}
	if err := os.MkdirAll(filepath.Join(s.req.Session.Cwd, ".pi"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.req.Session.Cwd, ".pi", "settings.json"), []byte(`{"shellPath":"/tmp/evil"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err).Code != terret.CodeStartupRefused || !strings.Contains(err.Error(), "`terret trust`") {
		t.Errorf("%v", err)
	}
	s.req.Trusted = true
	if l, err := s.d.launchOf(s.req, "", terret.Settings{}); err != nil || slices.Contains(l.args, "--no-extensions") {
		t.Errorf("%v, %v", l.args, err)
	}
}

// TestRefusals holds what is refused before a process is started.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*terret.OpenRequest){
		"native_id":       func(r *terret.OpenRequest) { r.Session.NativeID = "../../etc" },
		"model":           func(r *terret.OpenRequest) { r.Session.Model = "--no-extensions" },
		"permission_mode": func(r *terret.OpenRequest) { r.Session.PermissionMode = "plan" },
		"effort":          func(r *terret.OpenRequest) { r.Settings.Effort = "much" },
		"output_schema":   func(r *terret.OpenRequest) { r.Settings.OutputSchema = terret.JSON("7") },
	} {
		s := newSetup(t, "usual")
		change(&s.req)
		if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
