package claude

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// TestArguments holds the whole command line.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	s.says(a, "x", "You said x ")
	want := []string{
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--replay-user-messages", "--setting-sources=user", "--session-id=" + s.newest(),
	}
	st := s.starts()[0]
	if diff := cmp.Diff(want, st.Args); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if st.Dir != s.req.Session.Cwd {
		t.Errorf("it works in %s", st.Dir)
	}
	if spawn := all[terret.ProcessSpawn](s.host.said()); len(spawn) != 1 || !slices.Equal(spawn[0].Argv[1:], st.Args) || spawn[0].PID == 0 {
		t.Errorf("%+v", spawn)
	}
}

// TestLaunchOf is what each setting becomes at the start of a process, and that what is
// not set becomes nothing.
func TestLaunchOf(t *testing.T) {
	t.Parallel()
	d := New(Config{Args: []string{"--ours"}})
	env, r := []string{"A=b"}, terret.OpenRequest{Session: terret.Session{Cwd: "/p"}}
	want := launch{args: []string{"--setting-sources=user", "--ours"}, env: env, dir: "/p"}
	compare := cmp.AllowUnexported(launch{})
	if diff := cmp.Diff(want, d.launchOf(r, env, terret.Settings{}), compare); diff != "" {
		t.Errorf("nothing set: -want +got\n%s", diff)
	}
	r.Session.PermissionMode, r.Trusted = bypass, true
	in := terret.Settings{
		FallbackModel: "haiku", Effort: "low", Tools: []string{"Bash", "Read"}, RemovedTools: []string{"Write", "Edit"}, ApprovedTools: []string{"Bash(ls *)", "Read"},
		AddDirs: []string{"/a", "/b"}, OutputSchema: terret.JSON(`{"type":"object"}`), MaxTurns: 25, SettingSources: []string{"user", "local"},
		SystemAppend: "Talk like a pirate.", MCP: terret.JSON(`{"web":{}}`), Agents: terret.JSON(`{"scout":{}}`), Gates: []terret.Gate{terret.GateStop},
	}
	want = launch{
		args: []string{
			"--setting-sources=user,local", "--fallback-model=haiku", "--effort=low", "--tools=Bash,Read", "--disallowedTools=Write,Edit", "--allowedTools=Bash(ls *),Read",
			"--add-dir=/a", "--add-dir=/b", `--json-schema={"type":"object"}`, "--allow-dangerously-skip-permissions", "--max-turns=25", "--ours",
		},
		env: env, dir: "/p", append: "Talk like a pirate.", servers: in.MCP, agents: in.Agents, gates: in.Gates,
	}
	got := d.launchOf(r, env, in)
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if other := d.launchOf(r, env, terret.Settings{Tools: []string{}}); !slices.Contains(other.args, "--tools=") {
		t.Errorf("an empty list of tools: %q", other.args)
	}
}

func TestSettingSources(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		asked   []string
		trusted bool
		want    string
		warned  bool
	}{
		"untrusted":         {nil, false, "user", false},
		"trusted":           {nil, true, "user,project,local", false},
		"none":              {[]string{}, true, "", false},
		"asked, untrusted":  {[]string{"project", "user"}, false, "user", true},
		"asked, trusted":    {[]string{"local"}, true, "local", false},
		"nothing remains":   {[]string{"project", "local"}, false, "", true},
		"none in untrusted": {[]string{}, false, "", false},
	}
	for name, tt := range tests {
		for _, oneShot := range []bool{false, true} {
			s := newSetup(t, "talk", but(func(s *terret.Session) { s.OneShot = oneShot }), inForce(func(in *terret.Settings) { in.SettingSources = tt.asked }))
			s.req.Trusted = tt.trusted
			if oneShot {
				s.says(s.openOneShot(), "x", "You said x")
				s.exited(1)
			} else {
				s.open()
			}
			if st := s.starts()[0]; !slices.Contains(st.Args, "--setting-sources="+tt.want) {
				t.Errorf("%s: %q", name, st.Args)
			}
			if warned := count[terret.DiagWarning](s.host.said()) > 0; warned != tt.warned {
				t.Errorf("%s: warned %v", name, warned)
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", func(s *setup) {
		s.d.cfg.Env = append(s.d.cfg.Env, "MY_*")
		s.req.Env = append(
			s.req.Env, "GITHUB_TOKEN=x", "DATABASE_URL=x", "TERRET_HOME=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_PROFILE=x", "STRIPE_LIVE=x", "MAX_THINKING_TOKENS=9", "MY_TOKEN=mine", "CLAUDE_CODE_OAUTH_TOKEN=oauth",
			"CLAUDE_CODE_ENTRYPOINT=cli", "PWD=/elsewhere", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=0", "LANG=C",
		)
	})
	s.open()
	st := s.starts()[0]
	for _, want := range []string{
		s.req.Env[slices.IndexFunc(s.req.Env, func(e string) bool { return strings.HasPrefix(e, "HOME=") })], // the agent's own login is there
		"ANTHROPIC_API_KEY=" + canary, "MY_TOKEN=mine", "MAX_THINKING_TOKENS=9", "CLAUDE_CODE_OAUTH_TOKEN=oauth", "PWD=" + s.req.Session.Cwd, "LANG=C",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "DISABLE_AUTOUPDATER=1",
	} {
		if !slices.Contains(st.Env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range []string{"TEST_SECRET_PASSWORD", "GITHUB_TOKEN", "DATABASE_URL", "TERRET_HOME", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "STRIPE_LIVE", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"} {
		if slices.ContainsFunc(st.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			t.Errorf("it sees %s", name)
		}
	}
	for provider, name := range map[string]string{"BEDROCK": "AWS_SECRET_ACCESS_KEY", "VERTEX": "GOOGLE_TOKEN", "FOUNDRY": "AZURE_API_KEY"} {
		got := s.d.environ([]string{"CLAUDE_CODE_USE_" + provider + "=1", name + "=x", "OTHER_TOKEN=y"}, "/")
		if !slices.Contains(got, name+"=x") || slices.Contains(got, "OTHER_TOKEN=y") {
			t.Errorf("%s: %q", provider, got)
		}
	}
}

func TestRefusedSessions(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*setup){
		"native_id":          but(func(s *terret.Session) { s.NativeID = "--dangerously-skip-permissions" }),
		"native_id ":         but(func(s *terret.Session) { s.NativeID = "0197a9d0-0000-7000-8000-000000000001@--x" }),
		"permission_mode":    but(func(s *terret.Session) { s.PermissionMode = "bogus" }),
		"setting_sources":    inForce(func(in *terret.Settings) { in.SettingSources = []string{"flag"} }),
		"model":              but(func(s *terret.Session) { s.Model = "--help" }),
		"fallback_model":     inForce(func(in *terret.Settings) { in.FallbackModel = "-x" }),
		"effort":             inForce(func(in *terret.Settings) { in.Effort = "a\x00b" }),
		"tools":              inForce(func(in *terret.Settings) { in.Tools = []string{"Bash", "--x"} }),
		"disallowed_tools":   inForce(func(in *terret.Settings) { in.RemovedTools = []string{"-"} }),
		"auto_approve_tools": inForce(func(in *terret.Settings) { in.ApprovedTools = []string{"\n"} }),
		"add_dirs":           inForce(func(in *terret.Settings) { in.AddDirs = []string{"-d"} }),
		"mcp":                inForce(func(in *terret.Settings) { in.MCP = terret.JSON(`[]`) }),
		"agents":             inForce(func(in *terret.Settings) { in.Agents = terret.JSON(`{`) }),
		"output_schema":      inForce(func(in *terret.Settings) { in.OutputSchema = terret.JSON(`null`) }),
	} {
		s := newSetup(t, "talk", change)
		_, err := s.d.Open(t.Context(), s.req)
		if e := terret.AsError(err); err == nil || e.Code != terret.CodeInvalidRequest || e.Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
		if len(s.starts()) != 0 {
			t.Errorf("%s: a process was started", field)
		}
		if s.d.WarmKey(s.req) != "" {
			t.Errorf("%s: it can be warm", field)
		}
	}
	if err := checkMode("bogus", terret.Session{}); !strings.HasSuffix(err.Error(), "; use one of "+strings.Join(permissionModes, ", ")) {
		t.Error(err)
	}
}

func TestBypass(t *testing.T) {
	t.Parallel()
	const flag = "--allow-dangerously-skip-permissions"
	s := newSetup(t, "talk", but(func(s *terret.Session) { s.PermissionMode = bypass }))
	a := s.open()
	if st := s.starts()[0]; !slices.Contains(st.Args, flag) || !slices.Contains(st.Args, "--permission-mode="+bypass) {
		t.Errorf("%q", st.Args)
	}
	if err := a.SetPermissionMode(t.Context(), "default"); err != nil {
		t.Error(err)
	}
	if err := a.SetPermissionMode(t.Context(), bypass); err != nil { // it was begun so
		t.Error(err)
	}
}

func TestWarm(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "garbled", but(func(s *terret.Session) { s.Model = "opus" }))
	host := s.req.Host
	s.req.Host = nil
	w, err := s.d.Prewarm(t.Context(), s.req)
	if err != nil {
		t.Fatal(err)
	}
	if !w.Alive() || w.Memory() <= 0 {
		t.Errorf("alive %v, %d bytes", w.Alive(), w.Memory())
	}
	s.req.Host, s.req.Warm = host, w
	a := s.open()
	s.says(a, "who", "opus default")
	if n := len(s.starts()); n != 1 {
		t.Errorf("%d processes", n)
	}
	events := s.host.said()
	if n := count[terret.DiagParseError](events); n != 2 || count[terret.ProcessSpawn](events) != 1 {
		t.Errorf("what it said before is lost:\n%s", dump(events))
	}
	s.req.Warm = nil
	s.says(s.reopen(a), "who", "opus default")
}

// TestSources is how a session begins, by its native id: a copy counts its original's
// cost, so its budget is watched by the engine alone.
func TestSources(t *testing.T) {
	t.Parallel()
	const id, message = "0197a9d0-0000-7000-8000-000000000001", "0197a9d0-0000-7000-8000-000000000002"
	for native, want := range map[string]string{"": "new", id: "resume", id + "@": "fork", id + "@" + message: "fork", id + "@" + fromNothing: "new"} {
		n, err := nativeOf(native)
		if err != nil {
			t.Fatal(err)
		}
		if _, o := n.args(); o.source != want {
			t.Errorf("%q: %s, want %s", native, o.source, want)
		}
	}
}

// TestWarmKeepsRaw is that a process keeps the agent's own messages if it was warmed for
// a session that wants them.
func TestWarmKeepsRaw(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", inForce(func(in *terret.Settings) { in.KeepRaw = true }))
	w, err := s.d.Prewarm(t.Context(), s.req)
	if err != nil {
		t.Fatal(err)
	}
	s.req.Warm = w
	s.says(s.open(), "hello", "You said hello ")
	kept := slices.ContainsFunc(s.host.said(), func(ev terret.Event) bool { return strings.Contains(string(ev.Raw), `"type":"result"`) })
	if n := len(s.starts()); n != 1 || !kept {
		t.Errorf("%d processes, kept: %t", n, kept)
	}
}

// TestPrimed is that a warm process prepares its first turn, where it does so without
// asking the model's API.
func TestPrimed(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"": "<nil>", "2.1.324": "<nil>", primedSince: "summary", "3.0.0": "summary"} {
		s := newSetup(t, "talk", func(s *setup) { s.req.Env = append(s.req.Env, versionEnv+"="+version) })
		w, err := s.d.Prewarm(t.Context(), s.req)
		if err != nil {
			t.Fatal(err)
		}
		s.req.Warm = w
		a := s.open()
		s.says(a, "primed", want)
		s.says(a, "again", "You said again ")
		if n := count[terret.Unknown](s.host.said()); n != 0 {
			t.Errorf("%d unknown events", n)
		}
	}
}

// TestWarmUnused is that a warm process which does not fit is replaced, and gone.
func TestWarmUnused(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*setup, terret.Warm){
		"dead": func(s *setup, w terret.Warm) {
			if err := w.Close(s.t.Context()); err != nil || w.Alive() {
				s.t.Errorf("%v", err)
			}
		},
		"model":    func(s *setup, _ terret.Warm) { s.req.Session.Model = "haiku" },
		"trust":    func(s *setup, _ terret.Warm) { s.req.Trusted = true },
		"resume":   func(s *setup, _ terret.Warm) { s.req.Session.NativeID = "0197a9d0-0000-7000-8000-000000000001" },
		"one-shot": func(s *setup, _ terret.Warm) { s.req.Session.OneShot = true },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			w, err := s.d.Prewarm(t.Context(), s.req)
			if err != nil {
				t.Fatal(err)
			}
			s.req.Warm = w
			change(s, w)
			if name == "one-shot" {
				s.openOneShot()
			} else {
				s.says(s.open(), "x", "You said x ")
			}
			if w.Alive() {
				t.Error("it is still there")
			}
		})
	}
	s := newSetup(t, "talk", but(func(s *terret.Session) { s.Model = "--x" }))
	if _, err := s.d.Prewarm(t.Context(), s.req); kindOf(err) != terret.CodeUnsupported {
		t.Errorf("%v", err)
	}
	s = newSetup(t, "dead")
	if _, err := s.d.Prewarm(t.Context(), s.req); kindOf(err) != terret.CodeProcessFailed {
		t.Errorf("%v", err)
	}
}

func TestWarmKey(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	keys := map[string]string{}
	for name, change := range map[string]func(*terret.OpenRequest){
		"plain": func(*terret.OpenRequest) {}, "model": func(r *terret.OpenRequest) { r.Session.Model = "opus" },
		"mode": func(r *terret.OpenRequest) { r.Session.PermissionMode = "plan" }, "trust": func(r *terret.OpenRequest) { r.Trusted = true },
		"dir": func(r *terret.OpenRequest) { r.Session.Cwd = "/" }, "env": func(r *terret.OpenRequest) { r.Env = append(slices.Clone(r.Env), "LANG=C") },
		"append": func(r *terret.OpenRequest) { r.Settings.SystemAppend = "x" }, "mcp": func(r *terret.OpenRequest) { r.Settings.MCP = terret.JSON(`{"x":{}}`) },
		"agents": func(r *terret.OpenRequest) { r.Settings.Agents = terret.JSON(`{"x":{}}`) }, "raw": func(r *terret.OpenRequest) { r.Settings.KeepRaw = true },
		"turns": func(r *terret.OpenRequest) { r.Settings.MaxTurns = 2 }, "tools": func(r *terret.OpenRequest) { r.Settings.Tools = []string{} },
		"gates": func(r *terret.OpenRequest) { r.Settings.Gates = []terret.Gate{terret.GateStop} },
	} {
		r := s.req
		change(&r)
		key := s.d.WarmKey(r)
		if other, ok := keys[key]; ok || key == "" {
			t.Errorf("%s and %s have the key %q", name, other, key)
		}
		keys[key] = name
	}
	r := s.req
	r.Session.ID, r.Session.Title, r.Session.State = "other", "other", terret.SessionBusy
	if keys[s.d.WarmKey(r)] != "plain" {
		t.Error("the key holds what does not matter")
	}
	r.Settings.MaxCostUSD = terret.USD
	if s.d.WarmKey(r) != "" {
		t.Error("a budget counts from the start")
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want terret.Probe
		fix  string
	}{
		"version 2.1.325": {terret.Probe{Found: true, Version: "2.1.325", Tested: terret.TestedYes, Auth: "ok"}, ""},
		"version 2.1.100": {terret.Probe{Found: true, Version: "2.1.100", Tested: terret.TestedOlder, Auth: "ok"}, "npm install"},
		"version 3.0.0":   {terret.Probe{Found: true, Version: "3.0.0", Tested: terret.TestedNewer, Auth: "ok"}, "newer"},
		"version 9.0.0":   {terret.Probe{Found: true, Version: "9.0.0", Tested: terret.TestedNewer, Auth: "missing"}, "claude auth login"},
		"garbage":         {terret.Probe{}, "does not answer like Claude Code"},
		"missing":         {terret.Probe{}, "was not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, name)
			if name == "missing" {
				s.d.cfg.Path = "/there/is/none"
			}
			got, err := s.d.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (got.Fix == "") != (tt.fix == "") || !strings.Contains(got.Fix, tt.fix) {
				t.Errorf("fix: %q", got.Fix)
			}
			if got.Agent != Name || !got.Capabilities.Has(terret.CanPermissions) || (got.Path == "") != (name == "missing") {
				t.Errorf("%+v", got)
			}
			got.Agent, got.Path, got.Fix, got.Capabilities = "", "", "", terret.Capabilities{}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t, "silent")
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			defer close(done)
			if _, err := s.d.Probe(ctx); err == nil {
				t.Error("it waited for an answer")
			}
		}()
		guardtest.Eventually(t, "start that asks who is signed in", func() bool {
			b, _ := os.ReadFile(s.record)
			return bytes.Count(b, []byte("\n")) == 2
		})
		cancel()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("it still waits")
		}
	})
}

func TestListing(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	models, err := s.d.Models(t.Context())
	if err != nil || len(models) != 1 {
		t.Errorf("%+v, %v", models, err)
	}
	commands, err := s.d.Commands(t.Context())
	if err != nil || len(commands) != 1 {
		t.Errorf("%+v, %v", commands, err)
	}
	if st := s.starts()[0]; !slices.Contains(st.Args, "--no-session-persistence") || !slices.Contains(st.Args, "--setting-sources=user") {
		t.Errorf("%q", st.Args)
	}
}
