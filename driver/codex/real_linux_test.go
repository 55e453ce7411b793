package codex

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/test/agenttest"
	"github.com/terret-dev/terret/test/sim"
)

// These tests run the real Codex, as installed by `make conformance`. They are about what
// the suite of the drivers does not look at.

// script is a model that does what the prompt says.
const script = `
steps:
  - {match: {user: '/^run (?P<c>[^\n]+)/'}, anywhere: true, repeat: forever, answer: {tools: [{name: exec_command, input: {cmd: "{{c}}"}}]}}
  - {match: {user: '/^in (?P<d>\S+) run (?P<c>[^\n]+)/'}, anywhere: true, repeat: forever, answer: {tools: [{name: exec_command, input: {cmd: "{{c}}", workdir: "{{d}}"}}]}}
  - {match: {user: '/^outside run (?P<c>[^\n]+)/'}, anywhere: true, repeat: forever, answer: {tools: [{name: exec_command, input: {cmd: "{{c}}", sandbox_permissions: require_escalated, justification: because}}]}}
  - {match: {user: type}, anywhere: true, repeat: forever, answer: {tools: [{name: exec_command, input: {cmd: sh, tty: true, yield_time_ms: 250}}]}}
  - {match: {user: '/^start (?P<c>[^\n]+)/'}, anywhere: true, repeat: forever, answer: {tools: [{name: exec_command, input: {cmd: "{{c}}", yield_time_ms: 250}}]}}
  - {match: {user: '/^add (?P<f>\S+)/'}, anywhere: true, repeat: forever, answer: {tools: [{name: apply_patch, input: {input: "*** Begin Patch\n*** Add File: {{f}}\n+x\n*** End Patch"}}]}}
  - {match: {user: misfit}, anywhere: true, repeat: forever, answer: {tools: [{name: apply_patch, input: {input: "*** Begin Patch\n*** Update File: none\n@@\n-x\n+y\n*** End Patch"}}]}}
  - {match: {user: Review the current code changes}, anywhere: true, repeat: forever, answer: {text: '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"All good.","overall_confidence_score":0.9}'}}
  - {match: {tool_result: ""}, anywhere: true, repeat: forever, answer: {text: Done.}}
`

// newReal is a driver of the real Codex with the scripted model.
func newReal(t *testing.T) (*setup, agenttest.Place) {
	t.Helper()
	scenario, err := sim.Parse("script", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s := &setup{t: t, host: &host{changed: make(chan struct{})}}
	server, err := sim.NewServer(scenario, sim.Options{Record: func(r sim.Recorded) error {
		s.host.note(func() { s.sent = string(r.Body) })
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	model, err := server.Start(context.WithoutCancel(t.Context()), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	place := agenttest.Find(t, "codex-patch").Prepare(t, model.URL())
	bin, _, _ := strings.Cut(seat.Lookup(place.Env, "PATH"), string(os.PathListSeparator))
	s.d = New(Config{Path: filepath.Join(bin, "codex"), Env: []string{"FAKE_KEY"}})
	temp := filepath.Join(place.Home, "tmp") // not around Codex's home: with some versions of bubblewrap its sandbox does not work there
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	s.req = terret.OpenRequest{
		Session: terret.Session{ID: "s", Cwd: place.Dir}, Host: s.host, Log: slog.New(slog.DiscardHandler),
		Env: append(place.Env, "TMPDIR="+temp),
	}
	return s, place
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestRealApprovals is what Codex makes of each answer where no hook asks us.
func TestRealApprovals(t *testing.T) {
	t.Parallel()
	s, place := newReal(t)
	s.d.noHooks = true
	var decision terret.Decision
	s.host.decide = func(terret.Ask) terret.Decision { return decision }
	a := s.open()
	for _, c := range []struct {
		prompt   string
		decision terret.Decision
		file     string
		made     bool
		code     terret.ErrorCode
	}{
		{"run touch a", terret.Decision{Behavior: terret.BehaviorAllow}, "a", true, ""},
		{"run touch b", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no"}, "b", false, ""},
		{"run touch c", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no", Interrupt: true}, "c", false, terret.CodeInterrupted},
		{"add d", terret.Decision{Behavior: terret.BehaviorAllow}, "d", true, ""},
		{"add e", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no"}, "e", false, ""},
		{"run touch f", terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeSession}, "f", true, ""},
	} {
		decision = c.decision
		var code terret.ErrorCode
		end := s.run(a, c.prompt, terret.Settings{})
		if failed, ok := end.(terret.TurnError); ok {
			code = failed.Error.Code
		}
		if made := exists(filepath.Join(place.Dir, c.file)); made != c.made || code != c.code {
			t.Errorf("%s: made %v, %+v", c.prompt, made, end)
		}
	}
	asked := len(s.host.asked)
	s.run(a, "run touch f", terret.Settings{})
	if n := len(s.host.asked); n != asked+1 {
		t.Error("Codex did not ask again, so that no rule of ours could have a say")
	}
	if failures := all[terret.ToolFailure](s.host.said()); len(failures) != 3 || slices.ContainsFunc(failures, func(f terret.ToolFailure) bool { return !f.Denied || f.Error != "no" }) {
		t.Errorf("%+v", failures)
	}
}

// TestRealRules is that what Codex's own rules allow still passes us, and that a command
// in another folder is decided as such.
func TestRealRules(t *testing.T) {
	t.Parallel()
	s, place := newReal(t)
	rules := filepath.Join(place.Home, ".codex", "rules")
	if err := os.MkdirAll(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rules, "default.rules"), []byte(`prefix_rule(pattern=["touch"], decision="allow")`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.host.decide = func(q terret.Ask) terret.Decision {
		r, ok := q.Event.Data.(terret.PermissionRequest)
		if q.Gate == terret.GatePreTool || ok && !strings.Contains(string(r.Input), "touch a") && !strings.Contains(string(r.Input), "workdir") {
			return terret.Decision{Behavior: terret.BehaviorPassthrough}
		}
		return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no"}
	}
	a := s.open()
	s.run(a, "run touch a", terret.Settings{})
	if exists(filepath.Join(place.Dir, "a")) {
		t.Error("Codex's rules were enough")
	}
	s.host.decide = func(q terret.Ask) terret.Decision {
		if r, ok := q.Event.Data.(terret.PermissionRequest); ok && strings.Contains(string(r.Input), "workdir") {
			return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not there"}
		}
		return terret.Decision{Behavior: terret.BehaviorAllow}
	}
	s.run(a, "in "+place.Home+" run mkdir b", terret.Settings{})
	if exists(filepath.Join(place.Home, "b")) {
		t.Error("it ran in another folder, and nobody was asked about that")
	}
}

// TestRealTyping is that nothing can be typed into a command that runs: that would pass
// neither hooks nor approvals.
func TestRealTyping(t *testing.T) {
	t.Parallel()
	s, _ := newReal(t)
	s.run(s.open(), "type", terret.Settings{})
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if !strings.Contains(s.sent, "TTY execution is disabled") {
		t.Error("the model got a terminal")
	}
}

// TestRealSandbox is that a sandbox holds commands back, and leaves nothing behind in the
// temporary folder.
func TestRealSandbox(t *testing.T) {
	t.Parallel()
	s, place := newReal(t)
	s.req.Session.PermissionMode = readOnly
	a := s.open()
	s.run(a, "run touch a; cat /proc/self/cgroup", terret.Settings{})
	if exists(filepath.Join(place.Dir, "a")) {
		t.Error("it could write")
	}
	if err := a.(*agent).SetPermissionMode(t.Context(), workspaceWrite); err != nil {
		t.Fatal(err)
	}
	// Twice: Codex runs an approved command again, outside, if the sandbox held it back.
	for _, prompt := range []string{"run touch b; touch " + place.Home + "/c", "outside run touch " + place.Home + "/c"} {
		s.run(a, prompt, terret.Settings{})
	}
	if b, c := exists(filepath.Join(place.Dir, "b")), exists(filepath.Join(place.Home, "c")); !b || c {
		t.Errorf("wrote in its folder: %t, at home: %t\n%s", b, c, dump(s.host.said()))
	}
	s.host.decide = func(q terret.Ask) terret.Decision {
		if q.Gate != terret.GateQuestion {
			return terret.Decision{Behavior: terret.BehaviorAllow}
		}
		question := q.Event.Data.(terret.QuestionRequest).Questions[0]
		if !strings.Contains(question.Text, "because") || !strings.Contains(question.Text, "/d") {
			t.Errorf("%+v", question)
		}
		return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{question.ID: {question.Options[1].Label}}}
	}
	s.run(a, "outside run touch "+place.Home+"/d", terret.Settings{})
	if !exists(filepath.Join(place.Home, "d")) {
		t.Errorf("a person let it out, and it stayed:\n%s", dump(s.host.said()))
	}
	for _, dir := range []string{place.Home, os.TempDir(), place.Dir} {
		for _, name := range []string{".git", ".agents"} {
			if exists(filepath.Join(dir, name)) {
				t.Errorf("%s is left in %s", name, dir)
			}
		}
	}
}

// TestRealNoSandbox is a machine on which Codex's sandbox does not start: nobody takes that
// for a command that went well, and the probe says it.
func TestRealNoSandbox(t *testing.T) {
	t.Parallel()
	s, place := newReal(t)
	bin := t.TempDir()
	old := "#!/bin/sh\ncase $* in --help) echo --as-pid-1 --perms ;; */true) ;; *) echo 'bwrap: execvp codex-linux-sandbox: No such file or directory' >&2; exit 1 ;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "bwrap"), []byte(old), 0o700); err != nil { // a program
		t.Fatal(err)
	}
	path := bin + string(os.PathListSeparator) + seat.Lookup(place.Env, "PATH")
	env := func(temp, path string) []string {
		others := slices.DeleteFunc(slices.Clone(place.Env), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") || strings.HasPrefix(v, "PATH=") })
		return append(others, "TMPDIR="+temp, "PATH="+path)
	}
	s.req.Env = env(place.Home, path) // around its home Codex makes no links to itself, which an old bubblewrap needs
	s.req.Session.PermissionMode = readOnly
	s.run(s.open(), "run touch a", terret.Settings{})
	failures, posts := all[terret.ToolFailure](s.host.said()), all[terret.ToolPost](s.host.said())
	if len(posts) != 0 || len(failures) != 1 || failures[0].Denied || failures[0].Error != neverBegan[shellTool] {
		t.Errorf("%+v, %+v", failures, posts)
	}
	for _, c := range []struct {
		env  []string
		want []string
	}{
		{env(place.Home, path), []string{"CODEX_HOME", "execvp"}},
		{env("/nowhere", path), []string{noSandbox, "/nowhere"}},
		{env(filepath.Join(place.Home, "tmp"), seat.Lookup(place.Env, "PATH")), nil},
	} {
		s.d.cfg.Environ = c.env
		found, err := s.d.Probe(t.Context())
		if err != nil || !found.Usable() || (found.Fix == "") != (c.want == nil) {
			t.Errorf("%+v, %v", found, err)
		}
		for _, words := range c.want {
			if !strings.Contains(found.Fix, words) {
				t.Errorf("%q does not say %q", found.Fix, words)
			}
		}
	}
}

// TestRealMisfit is a patch that cannot be applied.
func TestRealMisfit(t *testing.T) {
	t.Parallel()
	s, _ := newReal(t)
	s.run(s.open(), "misfit", terret.Settings{})
	failures, posts := all[terret.ToolFailure](s.host.said()), all[terret.ToolPost](s.host.said())
	if len(posts) != 0 || len(failures) != 1 || failures[0].Error != neverBegan[patchTool] {
		t.Errorf("%+v, %+v", failures, posts)
	}
}

// TestRealBackground is a command that goes on after its turn.
func TestRealBackground(t *testing.T) {
	t.Parallel()
	s, place := newReal(t)
	a := s.open()
	if end, ok := s.run(a, "start until test -e go; do sleep 0.1; done; touch gone", terret.Settings{}).(terret.TurnComplete); !ok || end.Text != "Done." {
		t.Errorf("%+v", end)
	}
	if starts := all[terret.TaskStart](s.host.said()); len(starts) != 1 {
		t.Fatalf("%+v\n%s", starts, dump(s.host.said()))
	}
	if err := os.WriteFile(filepath.Join(place.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.await("the end of the command", func() bool { return len(all[terret.TaskEnd](s.host.said())) == 1 })
	if len(s.host.ends()) != 1 {
		t.Error("another turn has begun")
	}
}

func TestRealModels(t *testing.T) {
	t.Parallel()
	s, _ := newReal(t)
	models, err := s.open().(*agent).Models(t.Context())
	if err != nil || len(models) == 0 || models[0].ID == "" || !slices.Contains(models[0].Efforts, "high") {
		t.Errorf("%+v, %v", models, err)
	}
}

// TestRealReview is that a review is a turn, with one end.
func TestRealReview(t *testing.T) {
	t.Parallel()
	s, place := newReal(t)
	if err := os.WriteFile(filepath.Join(place.Dir, "a"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", place.Dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := s.open()
	if err := a.(*agent).Command(t.Context(), "turn", reviewCommand, "", terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	s.await("the end of the review", func() bool { return len(s.host.ends()) == 1 })
	if end, ok := s.host.ends()[0].(terret.TurnComplete); !ok || end.Text != "All good." {
		t.Errorf("%+v", s.host.ends())
	}
	s.run(a, "run touch b", terret.Settings{})
	if !exists(filepath.Join(place.Dir, "b")) {
		t.Error("the session does not go on")
	}
}
