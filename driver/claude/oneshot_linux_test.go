package claude

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func (s *setup) openOneShot() *oneShot {
	s.t.Helper()
	s.req.Session.OneShot = true
	a, err := s.d.Open(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.close(a) })
	out, ok := a.(*oneShot)
	if !ok {
		s.t.Fatalf("it is a %T", a)
	}
	return out
}

// exited waits until so many processes have ended.
func (s *setup) exited(n int) []terret.Event {
	s.t.Helper()
	return s.await("end of the process", func(h *host) bool { return count[terret.ProcessExit](h.events) >= n })
}

func TestOneShot(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", but(func(s *terret.Session) {
		s.Model, s.PermissionMode = "opus", "dontAsk"
	}), inForce(func(in *terret.Settings) {
		*in = terret.Settings{
			SystemAppend: "Talk like a pirate.", Agents: terret.JSON(`{"scout":{}}`), MaxCostUSD: 2 * terret.USD, FallbackModel: "haiku",
			MCP: terret.JSON(`{"web":{"type":"http","url":"http://x","headers":{"Authorization":"` + canary + `"}}}`), AddDirs: []string{"/a", "/b"},
			Tools: []string{"Bash", "Read"}, RemovedTools: []string{"Write"}, ApprovedTools: []string{"Bash(ls *)"}, Effort: "low", OutputSchema: terret.JSON(`{"type":"object"}`), MaxTurns: 25,
		}
	}))
	a := s.openOneShot()
	s.says(a, "--hello", "You said --hello")
	s.exited(1)
	s.says(a, "again", "You said again")
	s.exited(2)
	starts := s.starts()
	if len(starts) != 2 {
		t.Fatalf("%d processes", len(starts))
	}
	file := func(st started, name string) string {
		i := slices.IndexFunc(st.Args, func(a string) bool { return strings.HasPrefix(a, name+"=") })
		return st.Args[i]
	}
	id := s.newest()
	for i, session := range []string{"--session-id=" + id, "--resume=" + id} {
		want := []string{
			"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--setting-sources=user", "--fallback-model=haiku", "--effort=low",
			"--tools=Bash,Read", "--disallowedTools=Write", "--allowedTools=Bash(ls *)", "--add-dir=/a", "--add-dir=/b", `--json-schema={"type":"object"}`, "--max-turns=25",
			session, "--model=opus", "--permission-mode=dontAsk", "--max-budget-usd=2", file(starts[i], "--append-system-prompt-file"), `--agents={"scout":{}}`,
			file(starts[i], "--mcp-config"), "--", []string{"--hello", "again"}[i],
		}
		if diff := cmp.Diff(want, starts[i].Args); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if starts[i].System != "Talk like a pirate." || starts[i].Secret != 0o600 || !strings.Contains(starts[i].Config, canary) {
			t.Errorf("%+v", starts[i])
		}
	}
	var order []terret.Kind
	for _, ev := range s.host.said() {
		switch ev.Data.(type) {
		case terret.ProcessSpawn, terret.ProcessExit, terret.TurnComplete, terret.SessionStart, terret.SessionNativeID:
			order = append(order, ev.Kind())
		}
	}
	want := []terret.Kind{
		"process.spawn", "session.start", "session.native_id", "turn.complete", "process.exit",
		"process.spawn", "session.start", "turn.complete", "process.exit",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestOneShotInput(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.openOneShot()
	s.says(a, strings.Repeat("x", 3<<20), "You said 3145728")
	s.exited(1)
	s.says(a, "NUL \x00 byte", "You said NUL \x00 byte")
	s.exited(2)
	secret := words("the key is " + canary)
	if err := a.Prompt(t.Context(), "t", secret, terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	s.exited(3)
	s.host.note(func() { s.host.events = nil }) // the fake has said it
	for _, st := range s.starts() {
		if slices.Contains(st.Args, "--") {
			t.Errorf("the prompt is in %.200q", st.Args)
		}
	}
	p := words("look")
	p.Blocks = append(p.Blocks, terret.Block{Type: terret.BlockImage, MediaType: "image/png", Bytes: []byte("png")})
	whole := func(in *terret.Settings) { in.WholeMessages, in.MaxTurns = true, 3 }
	if d, ok := s.turn(a, p, whole).Data.(terret.TurnComplete); !ok || !strings.Contains(d.Text, "look") {
		t.Errorf("%+v", d)
	}
	s.exited(1)
	st := s.starts()[3]
	if !slices.Contains(st.Args, "--input-format") || slices.Contains(st.Args, "--include-partial-messages") || !slices.Contains(st.Args, "--max-turns=3") {
		t.Errorf("%q", st.Args)
	}
	s.req.Settings.Agents = terret.JSON(`{"x":{"prompt":"` + canary + `"}}`)
	if err := s.openOneShot().Prompt(t.Context(), "t", words("x"), s.req.Settings); kindOf(err) != terret.CodeInvalidRequest {
		t.Errorf("a secret in the arguments: %v", err)
	}
}

func TestOneShotEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stop   func(*oneShot) error
		want   terret.ErrorCode
		code   int
		signal terret.NullString
	}{
		"early":  {nil, terret.CodeProcessFailed, 7, ""},
		"sigint": {func(a *oneShot) error { return a.Interrupt(context.Background(), "t") }, terret.CodeInterrupted, 0, ""},
		"sleep":  {func(a *oneShot) error { return a.Kill(context.Background()) }, terret.CodeProcessFailed, 0, "SIGTERM"},
	}
	for prompt, tt := range tests {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			a := s.openOneShot()
			if err := a.Interrupt(t.Context(), "t"); err != nil {
				t.Error(err)
			}
			if err := a.Prompt(t.Context(), "t", words(prompt), terret.Settings{}); err != nil {
				t.Fatal(err)
			}
			if tt.stop != nil {
				s.await("beginning", func(h *host) bool { return count[terret.SessionStart](h.events) > 0 })
				if err := tt.stop(a); err != nil {
					t.Error(err)
				}
			}
			d := s.failed(s.end(0), tt.want)
			events := s.exited(1)
			exit, ok := events[len(events)-1].Data.(terret.ProcessExit)
			if !ok || exit.Signal != tt.signal || tt.signal == "" && (exit.Code == nil || *exit.Code != tt.code) {
				t.Errorf("the last event is %+v", events[len(events)-1].Data)
			}
			if prompt == "early" && (d.Error.ExitCode == nil || *d.Error.ExitCode != 7 || !slices.Equal(d.Error.Stderr, []string{"no result"})) {
				t.Errorf("%+v", d.Error)
			}
		})
	}
}

func TestOneShotStale(t *testing.T) {
	t.Parallel()
	lost := terret.NullString("0197a9d0-0000-7000-8000-000000000001")
	s := newSetup(t, "talk", but(func(s *terret.Session) { s.NativeID = lost }))
	a := s.openOneShot()
	s.says(a, "hello", "You said hello")
	events := s.exited(2)
	ids := all[terret.SessionNativeID](events)
	if len(ids) != 1 || ids[0].Old != lost || ids[0].Reason != "stale" || ends(events) != 1 {
		t.Errorf("%+v\n%s", ids, dump(events))
	}
	s.says(a, "go on", "You said go on")
	s.exited(3)
	if st := s.starts()[2]; !slices.Contains(st.Args, "--resume="+string(ids[0].New)) {
		t.Errorf("%q does not go on with %s", st.Args, ids[0].New)
	}
	s = newSetup(t, "talk", but(func(s *terret.Session) { s.NativeID = lost }), inForce(func(in *terret.Settings) { in.OnStale = terret.OnStaleError }))
	s.failed(s.turn(s.openOneShot(), words("hello")), terret.CodeResumeFailed)
	s.exited(1)
}

// TestOneShotSecrets holds that a key stays out of what the process wrote to stderr.
func TestOneShotSecrets(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	d := s.failed(s.turn(s.openOneShot(), words("die")), terret.CodeProcessFailed)
	want := []string{"key is [redacted:ANTHROPIC_API_KEY]"}
	if !slices.Equal(d.Error.Stderr, want) {
		t.Errorf("the error has %q", d.Error.Stderr)
	}
	if got := all[terret.DiagStderr](s.exited(1)); len(got) != 1 || got[0].Text != want[0] {
		t.Errorf("the log has %+v", got)
	}
}

func TestOneShotOtherID(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.openOneShot()
	s.says(a, "other-id", "You said other-id")
	s.exited(1)
	if n := count[terret.DiagWarning](s.host.said()); n != 1 {
		t.Errorf("%d warnings", n)
	}
	s.says(a, "go on", "You said go on")
	s.exited(2)
	if st := s.starts()[1]; !slices.Contains(st.Args, "--resume="+s.newest()) {
		t.Errorf("%q does not go on with %s", st.Args, s.newest())
	}
}

func TestOneShotRefuses(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.openOneShot()
	for name, err := range map[string]error{
		"bypass of a turn": a.Prompt(t.Context(), "t", words("x"), terret.Settings{PermissionMode: bypass}), "bypass": a.SetPermissionMode(t.Context(), bypass), "flag": a.SetModel(t.Context(), "-x"),
	} {
		if kindOf(err) != terret.CodeInvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.SetModel(t.Context(), "haiku"); err != nil {
		t.Error(err)
	}
	s.host.note(func() { s.host.full = true })
	if err := a.Prompt(t.Context(), "t", words("sleep"), terret.Settings{}); kindOf(err) == "" {
		t.Error("a turn began that cannot be logged")
	}
	s.host.note(func() { s.host.full = false })
	s.d.cfg.Path = "/there/is/none"
	if err := a.Prompt(t.Context(), "t", words("x"), terret.Settings{}); kindOf(err) != terret.CodeAgentNotFound {
		t.Errorf("%v", err)
	}
	s.close(a)
	if err := a.Prompt(t.Context(), "t", words("x"), terret.Settings{}); kindOf(err) != terret.CodeSessionClosed {
		t.Errorf("%v", err)
	}
	if c := a.Capabilities(); c.Has(terret.CanPermissions) || c.Has(terret.CanSteer) || !c.Has(terret.CanOneShot) {
		t.Errorf("%+v", c)
	}
}
