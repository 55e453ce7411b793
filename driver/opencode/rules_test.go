package opencode

import (
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// build is how the real agent lists the rules of its usual role, with a person's own
// rules and ours.
var build = []rule{
	{"*", "*", "allow"},
	{"doom_loop", "*", "ask"},
	{"external_directory", "*", "ask"},
	{"question", "*", "allow"},
	{"read", "*", "allow"},
	{"read", "*.env", "ask"},
	{"bash", "rm *", "deny"},
	{"webfetch", "*", "deny"},
	{"*", "*", "ask"},
	{"external_directory", "*", "allow"},
}

// verdict is what the agent makes of rules: the last one that fits counts.
func verdict(rules []rule, permission, pattern string) string {
	for _, r := range slices.Backward(rules) {
		if wild(r.Permission, permission) && wild(r.Pattern, pattern) {
			return r.Action
		}
	}
	return actionAsk
}

func TestSessionRules(t *testing.T) {
	t.Parallel()
	tools := []string{"bash", "read", "edit", "write", "apply_patch", "webfetch", "of_a_plugin"}
	for _, c := range []struct {
		name                string
		in                  terret.Settings
		permission, pattern string
		want                string
	}{
		{"all is asked", terret.Settings{}, "bash", "ls", "ask"},
		{"what was asked is asked", terret.Settings{}, "read", "a/.env", "ask"},
		{"what was allowed is asked", terret.Settings{}, "read", "a.txt", "ask"},
		{"a tool of a server too", terret.Settings{}, "parrot_repeat", "*", "ask"},
		{"their denial stays", terret.Settings{}, "bash", "rm -rf /", "deny"},
		{"of a whole tool too", terret.Settings{}, "webfetch", "http://x", "deny"},
		{"places outside are no question", terret.Settings{}, "external_directory", "/etc/*", "allow"},
		{"a plugin's tool is denied", terret.Settings{}, "of_a_plugin", "*", "deny"},
		{"unless it is approved", terret.Settings{ApprovedTools: []string{"of_a_plugin"}}, "of_a_plugin", "*", "ask"},
		{"a tool that is taken away", terret.Settings{RemovedTools: []string{"Bash"}}, "bash", "ls", "deny"},
		{"a rule is no tool", terret.Settings{RemovedTools: []string{"Bash(ls *)"}}, "bash", "ls", "ask"},
		{"a tool that is not there", terret.Settings{Tools: []string{"read"}}, "bash", "ls", "deny"},
		{"one editor keeps the permission", terret.Settings{Tools: []string{"write"}}, "edit", "a.txt", "ask"},
		{"no editor", terret.Settings{Tools: []string{"read"}}, "edit", "a.txt", "deny"},
		{"none at all", terret.Settings{Tools: []string{}}, "read", "a.txt", "deny"},
		{"all of them", terret.Settings{Tools: []string{allTools}}, "read", "a.txt", "ask"},
	} {
		gone := names{}.missing(tools, c.in)
		rules := sessionRules(build, gone, func(tool string) bool { return slices.Contains(tools, tool) && !slices.Contains(gone, tool) })
		if got := verdict(rules, c.permission, c.pattern); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestSubagents(t *testing.T) {
	t.Parallel()
	if !watched(build) {
		t.Error("it asks about everything")
	}
	if watched(append(slices.Clone(build), rule{"bash", "*", "allow"})) || watched([]rule{{"*", "*", "allow"}}) {
		t.Error("it may act without asking")
	}
	if !denied(build, "bash", []string{"ls", "rm x"}) || denied(build, "bash", []string{"ls"}) {
		t.Error("what it may not do by its own rules")
	}
	if !allowed(build, "read", []string{"a.txt"}) || allowed(build, "read", []string{"a.txt", "a/.env"}) || allowed(build, "webfetch", []string{"http://x"}) || allowed(nil, "read", []string{"a.txt"}) {
		t.Error("what it may do by its own rules")
	}
}

func TestWild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "x", false},
		{"a*c", "abbc", true},
		{"a*c", "abb", false},
		{"*.env", "a/.env", true},
		{"ls *", "ls", true},
		{"ls *", "ls -l", true},
		{"ls *", "lsof", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"**", "x", true},
	} {
		if got := wild(c.pattern, c.text); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.text, got)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := newNames([]string{"git", "git hub"})
	for tool, want := range map[string]string{
		"bash": "bash", "git_log": "mcp__git__log", "git_hub_issue": "mcp__git hub__issue", "of_a_plugin": "of_a_plugin", "git_": "git_",
	} {
		if got := n.ours(tool); got != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if n.custom("git_log") || n.custom("bash") || !n.custom("of_a_plugin") {
		t.Error("which tools are of plugins")
	}
	if !listed([]string{"mcp__git__*"}, "mcp__git__log") || !listed([]string{"mcp__git"}, "mcp__git__log") || listed([]string{"mcp__gi__*"}, "mcp__git__log") {
		t.Error("tools of a server")
	}
	for tool, want := range map[string]terret.ToolClass{"bash": terret.ClassExecute, "mcp__git__log": terret.ClassMCP, "of_a_plugin": terret.ClassOther} {
		if got := classOf(tool); got != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
	a := about{names: n, tools: []string{"bash", "invalid", "git_log", "of_a_plugin"}}
	for _, c := range []struct {
		in               terret.Settings
		offered, unasked []string
	}{
		{terret.Settings{}, []string{"bash", "mcp__git__log"}, []string{"of_a_plugin"}},
		{terret.Settings{ApprovedTools: []string{"of_a_plugin"}}, []string{"bash", "mcp__git__log", "of_a_plugin"}, nil},
		{terret.Settings{Tools: []string{"bash"}}, []string{"bash"}, nil},
	} {
		if offered, unasked := a.offered(c.in), a.unasked(c.in); !slices.Equal(offered, c.offered) || !slices.Equal(unasked, c.unasked) {
			t.Errorf("%+v: offered %v, not offered because they would not ask %v", c.in, offered, unasked)
		}
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"source":"env","env":["K"]}`:                             true,
		`{"source":"config","env":["K"]}`:                          false,
		`{"source":"config","env":["K"],"key":""}`:                 false,
		`{"source":"config","env":["K"],"key":"k"}`:                true,
		`{"source":"config","env":["K"],"options":{"apiKey":"k"}}`: true,
		`{"source":"config"}`:                                      true,
	} {
		var p provider
		if !seat.Decode([]byte(text), &p) || p.usable() != want {
			t.Errorf("%s: %v", text, p.usable())
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	d := New(Config{Env: []string{"MY_TOKEN"}, Environ: []string{}})
	env, err := d.environ([]string{
		"HOME=/h", "OTHER_TOKEN=secret", "MY_TOKEN=mine", "ANTHROPIC_API_KEY=k", "OPENCODE_SERVER_PASSWORD=old", "PWD=/elsewhere",
		permissionVar + `={"bash":"deny"}`, configVar + `={"model":"a/b","mcp":{"one":{"type":"local"}}}`,
	}, false, terret.Settings{MCP: terret.JSON(`{"mcpServers":{"two":{"command":"x","args":["y"],"env":{"A":"b"}},"three":{"url":"http://x"}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(env, "\n")
	for _, want := range []string{
		"HOME=/h", "MY_TOKEN=mine", "ANTHROPIC_API_KEY=k", "PWD=/\n", projectVar + "=1",
		permissionVar + `={"bash":"deny","*":"ask","external_directory":"allow","doom_loop":"allow"}`,
		`"snapshot":false`, `"model":"a/b"`, `"one":{"type":"local"}`, `"command":["x","y"]`, `"type":"remote"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %s in\n%s", want, all)
		}
	}
	for _, odd := range []string{"OTHER_TOKEN", "PASSWORD=old", "elsewhere"} {
		if strings.Contains(all, odd) {
			t.Errorf("there is %s", odd)
		}
	}
	if _, err := d.environ([]string{configVar + "={broken"}, true, terret.Settings{}); err == nil {
		t.Error("settings that cannot be read are passed over")
	}
	if _, err := d.environ([]string{permissionVar + `=["x"]`}, true, terret.Settings{}); err == nil {
		t.Error("permissions that cannot be read are passed over")
	}
}

func TestLaunches(t *testing.T) {
	t.Parallel()
	d := New(Config{Environ: []string{}})
	key := func(r terret.OpenRequest) string {
		l, err := d.launchOf(r, r.Settings)
		if err != nil {
			t.Fatal(err)
		}
		return l.key()
	}
	plain := terret.OpenRequest{Trusted: true}
	other := plain
	other.Session.Cwd, other.Settings.SystemAppend, other.Settings.Tools = "/elsewhere", "x", []string{"read"}
	if key(plain) != key(other) {
		t.Error("sessions that could share a server do not")
	}
	untrusted, served := plain, plain
	untrusted.Trusted, served.Settings.MCP = false, terret.JSON(`{"mcpServers":{"a":{"command":"x"}}}`)
	if key(plain) == key(untrusted) || key(plain) == key(served) {
		t.Error("sessions share a server that should not")
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for _, in := range []terret.Settings{
		{FallbackModel: "x"}, {Model: "-x"}, {Effort: "a\nb"}, {MCP: terret.JSON("[]")}, {Agents: terret.JSON("1")}, {OutputSchema: terret.JSON(`"x"`)},
	} {
		if checkSettings(in) == nil {
			t.Errorf("%+v is accepted", in)
		}
	}
	for _, id := range []string{"x", "ses_../../x", "ses_1?x"} {
		if checkSession(terret.Session{NativeID: terret.NullString(id)}) == nil {
			t.Errorf("%s is accepted", id)
		}
	}
}

func TestChooseModel(t *testing.T) {
	t.Parallel()
	a := about{model: "one/a", models: map[string]map[string]modelInfo{"one": {"a": {}, "b": {}}, "two": {"c/d": {}}}}
	for name, want := range map[string]string{"": "one/a", "one/b": "one/b", "b": "one/b", "c/d": "two/c/d", "two/c/d": "two/c/d"} {
		if got, err := a.choose(name); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for name, want := range map[string]terret.ErrorCode{"one/x": terret.CodeModelNotFound, "x": terret.CodeModelNotFound, "three/x": terret.CodeNotAuthenticated} {
		if _, err := a.choose(name); terret.AsError(err) == nil || terret.AsError(err).Code != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (about{}).choose(""); terret.AsError(err).Code != terret.CodeNotAuthenticated {
		t.Errorf("%v", err)
	}
}

// TestHivesEight is that OpenCode itself can do all eight things that Hive asks of an agent.
func TestHivesEight(t *testing.T) {
	t.Parallel()
	for _, name := range []terret.Capability{
		terret.CanUndo, terret.CanRedo, terret.CanCommands, terret.CanPermissions, terret.CanQuestions, terret.CanSelectModel, terret.CanReconnect, terret.CanStream,
	} {
		if got := capabilities().Abilities[name]; !got.OK || got.By != terret.ByAgent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		status    int
		message   string
		want      terret.ErrorCode
		retryable bool
	}{
		{"APIError", 401, "", terret.CodeNotAuthenticated, false},
		{"ProviderAuthError", 0, "x", terret.CodeNotAuthenticated, false},
		{"APIError", 404, "x", terret.CodeModelNotFound, false},
		{"UnknownError", 0, "Model not found: x", terret.CodeModelNotFound, false},
		{"APIError", 429, "x", terret.CodeRateLimited, true},
		{"APIError", 529, "x", terret.CodeOverloaded, true},
		{"APIError", 500, "x", terret.CodeModelError, true},
		{"APIError", 400, "x", terret.CodeModelError, false},
		{"APIError", 0, "Cannot connect to API: x", terret.CodeConnectionFailed, true},
		{"Other", 0, "", terret.CodeExecutionError, false},
		{"StructuredOutputError", 0, "x", terret.CodeMaxStructured, false},
		{"ContextOverflowError", 0, "x", terret.CodeModelError, false},
		{"APIError", 402, "x", terret.CodeBilling, false},
		{"APIError", 0, "x", terret.CodeModelError, false},
	} {
		f := &failure{Name: c.name}
		f.Data.StatusCode, f.Data.Message = c.status, c.message
		if got := failureOf(f); got.Code != c.want || got.Retryable != c.retryable || got.Message == "" || got.HTTPStatus != c.status {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestPasswordIsNotPassedOn(t *testing.T) {
	t.Parallel()
	c := &client{password: "ABCDEF234567"}
	if got := string(c.without([]byte(`{"output":"OPENCODE_SERVER_PASSWORD=ABCDEF234567\n"}`))); strings.Contains(got, c.password) || !strings.Contains(got, "SERVER_PASSWORD=[redacted]") {
		t.Error(got)
	}
}
