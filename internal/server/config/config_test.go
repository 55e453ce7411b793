package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write puts a file in a new folder and returns the folder.
func write(t *testing.T, name, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func user(t *testing.T, text string) string {
	t.Helper()
	return filepath.Join(write(t, "config.jsonc", text), "config.jsonc")
}

const everything = `// Comments are fine.
{
	"$schema": "https://example.com/config.schema.json",
	"agent": "claude",
	"model": "opus",
	"policy": "accept-edits",
	"sandbox": "workspace-write",
	"record": true,
	"product_name": "Acme",
	"data": "/srv/terret",
	"store": "postgres://me@db.example.com/terret",
	"node": "builder-1",
	"idle_after": "1h30m",
	"silent_after": "3h",
	"interrupt_grace": "5s",
	"timeouts": {"permission": "10m", "question": "never"},
	"unattended": true,
	"undo": {"off": false, "max_files": 10, "max_bytes": 20},
	"pool": {"size": 2, "keys": 3, "max_memory": 4},
	"worktree": {"setup": "make", "copy": [".env"]},
	"team": {"max_hops": 5, "max_per_minute": 6, "max_cost_usd": 7},
	"nesting": {"depth": 3, "sessions": 4, "max_cost_usd": 5},
	"log_level": "debug",
	"keep_deltas": "never",
	"keep_sessions": "90d",
	"rules": {"allow": ["Bash(git status)"], "deny": ["Bash(rm *)"]},
	"agents": {"claude": {"path": "bin/claude", "env": ["ANTHROPIC_API_KEY", "AWS_*"], "args": ["--x", ""]}},
	"providers": {"lab": {"base_url": "http://127.0.0.1:8000/v1", "key_env": "LAB_KEY"}},
	"prices": "prices.json",
	"roots": ["/a", "~/b", "c"],
	"releases": "/r.json", "addr": "[::1]:0", // and so are trailing commas
}
`

func TestEveryKey(t *testing.T) {
	t.Parallel()
	file := user(t, everything)
	dir := filepath.Dir(file)
	got, err := Load(Sources{User: file, Environ: []string{"HOME=/home/me"}})
	if err != nil {
		t.Fatal(err)
	}
	want := Loaded{Files: []string{file}, Config: Config{
		Agent: "claude", Model: "opus", Policy: "accept-edits", Sandbox: "workspace-write", Record: true, ProductName: "Acme", Data: "/srv/terret", Store: "postgres://me@db.example.com/terret", Node: "builder-1",
		IdleAfter: Duration(90 * time.Minute), SilentAfter: Duration(3 * time.Hour), InterruptGrace: Duration(5 * time.Second),
		Timeouts:   map[string]Duration{"permission": Duration(10 * time.Minute), "question": Never},
		Unattended: true, Undo: Undo{MaxFiles: 10, MaxBytes: 20}, Pool: Pool{Size: 2, Keys: 3, MaxMemory: 4}, Team: Team{MaxHops: 5, MaxPerMinute: 6, MaxCostUSD: 7}, Nesting: Nesting{Depth: 3, Sessions: 4, MaxCostUSD: 5}, Worktree: Worktree{Setup: "make", Copy: []string{".env"}}, LogLevel: "debug", KeepDeltas: Never, KeepSessions: Duration(2160 * time.Hour),
		Rules: Rules{Allow: []string{"Bash(git status)"}, Deny: []string{"Bash(rm *)"}},
		Agents: map[string]Agent{"claude": {
			Path: filepath.Join(dir, "bin/claude"), Env: []string{"ANTHROPIC_API_KEY", "AWS_*"}, Args: []string{"--x", ""},
		}},
		Providers: map[string]Provider{"lab": {BaseURL: "http://127.0.0.1:8000/v1", KeyEnv: "LAB_KEY"}},
		Prices:    filepath.Join(dir, "prices.json"),
		Roots:     []string{"/a", "/home/me/b", filepath.Join(dir, "c")}, Addr: "[::1]:0", Releases: "/r.json",
	}}
	for key, from := range got.From {
		if from != file {
			t.Errorf("%s comes from %s", key, from)
		}
	}
	got.From = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range reflect.TypeFor[Config]().NumField() {
		if f := reflect.TypeFor[Config]().Field(i); reflect.ValueOf(got.Config).Field(i).IsZero() {
			t.Errorf("this test does not set %s", f.Name)
		}
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	file := user(t, `{"agent": "claude", "model": "a", "policy": "ask", "rules": {"deny": ["A", "B"], "allow": ["X"]},
		"agents": {"claude": {"path": "/old", "args": ["1"]}, "codex": {"path": "codex"}}, "timeouts": {"plan": "1m"}, "roots": ["/a"]}`)
	project := write(t, projectFile, `{"model": "b", "policy": "plan", "rules": {"deny": ["B", "C"], "allow": ["Y"]},
		"agents": {"claude": {"path": "./new"}}, "timeouts": {"stop": "1s"}, "roots": ["."]}`)
	got, err := Load(Sources{
		User: file, Project: project, Trusted: true,
		Environ: []string{"TERRET_POLICY=rules", "TERRET_POLICY=ask", "TERRET_HOME=/h", "TERRET_OWNER=x", "TERRET_MODEL="},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Agent, want.Model, want.Policy, want.Data = "claude", "b", "ask", "/h"
	want.Rules = Rules{Allow: []string{"X", "Y"}, Deny: []string{"A", "B", "C"}}
	want.Agents = map[string]Agent{
		"claude": {Path: filepath.Join(project, "new"), Args: []string{"1"}}, "codex": {Path: "codex"},
	}
	want.Timeouts = map[string]Duration{"plan": Duration(time.Minute), "stop": Duration(time.Second)}
	want.Roots = []string{project}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Error(diff)
	}
	if len(got.Ignored) > 0 || len(got.Files) != 2 {
		t.Errorf("ignored %q, files %q", got.Ignored, got.Files)
	}
	theirs := filepath.Join(project, projectFile)
	for key, want := range map[string]string{
		"agent": file, "model": theirs, "policy": "TERRET_POLICY", "data": "TERRET_HOME", "rules.deny": file + ", " + theirs,
		"agents.claude.path": theirs, "agents.claude.args": file, "timeouts.plan": file, "timeouts.stop": theirs, "addr": "",
	} {
		if got.From[key] != want {
			t.Errorf("%s comes from %q, want %q", key, got.From[key], want)
		}
	}
}

// TestSettings lists all keys: those that are not set too, but of agents only what is set.
func TestSettings(t *testing.T) {
	t.Parallel()
	file := user(t, `{"record": false, "timeouts": {"plan": "never"}, "agents": {"b": {}, "a": {"acp": true}}, "undo": {"max_files": 0}}`)
	got, err := Load(Sources{User: file, Environ: []string{"TERRET_HOME=/h"}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Setting{}
	for _, s := range got.Settings() {
		all[s.Key] = s
	}
	want := []Setting{
		{"agent", nil, "default"},
		{"record", false, file},
		{"unattended", false, "default"},
		{"timeouts.plan", Never, file},
		{"agents.a.acp", true, file},
		{"data", "/h", "TERRET_HOME"},
		{"addr", "127.0.0.1:7433", "default"},
		{"undo.max_files", 0, file},
		{"undo.max_bytes", nil, "default"},
		{"rules.deny", nil, "default"},
	}
	for _, w := range want {
		if diff := cmp.Diff(w, all[w.Key]); diff != "" {
			t.Error(diff)
		}
	}
	for _, k := range Keys() {
		_, listed := all[k.Path]
		if free := strings.Contains(k.Path, ".NAME") || strings.Contains(k.Path, ".GATE"); listed == free {
			t.Errorf("%s is listed: %t", k.Path, listed)
		}
	}
	if n := len(Keys()) - 9 + 2; len(all) != n { // no NAME, no GATE; timeouts.plan, agents.a.acp
		t.Errorf("%d settings, want %d", len(all), n)
	}
}

// TestCheckFindsAll finds every problem of both files and the variables, in one go.
func TestCheckFindsAll(t *testing.T) {
	t.Parallel()
	file := user(t, "{\"modell\": 1,\n\"undo\": {\"off\": 1, \"of\": 2},\n\"roots\": [1, \"/a\", 2], \"rules\": {\"allow\": [\"bad\", \"good\"]},\n\"addr\": \"x\", \"addr\": \"y\"}")
	project := write(t, projectFile, `{"providers": {"a": {"api": "antropic"}}}`)
	files, problems := Check(Sources{
		User: file, Project: project, Environ: []string{"TERRET_POLICY=x", "TERRET_UNDO_OFF=y"},
		Rule: func(pattern string) error {
			if pattern == "bad" {
				return errors.New("not a rule")
			}
			return nil
		},
	})
	theirs := filepath.Join(project, projectFile)
	if want := []string{file, theirs}; !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
	want := []string{
		file + `:1:2: unknown key "modell"`, file + ":2:17: undo.off must be true or false", file + `:2:20: unknown key "undo.of"`,
		file + ":3:11: roots[0]", file + ":3:20: roots[2]", file + ":3:44: rules.allow[0]: not a rule", file + ":4:9: addr: ", file + `:4:14: "addr" is set twice`,
		theirs + ":1:29: providers.a.api: there is no", "TERRET_POLICY: ", "TERRET_UNDO_OFF: ",
	}
	if len(problems) != len(want) {
		t.Fatalf("%d problems, want %d: %v", len(problems), len(want), problems)
	}
	for i, p := range problems {
		if !strings.HasPrefix(p.Error(), want[i]) {
			t.Errorf("problem %v, want %s", p, want[i])
		}
	}
	if files, problems := Check(Sources{User: user(t, "{"), Project: t.TempDir()}); len(files) != 1 || len(problems) != 1 {
		t.Errorf("a broken file: %v, %v", files, problems)
	}
	if _, problems := Check(Sources{User: user(t, `{"pool": {"size": -1}}`)}); len(problems) > 0 {
		t.Errorf("no agents in the pool: %v", problems)
	}
	if _, problems := Check(Sources{User: user(t, everything), Environ: []string{"HOME=/h"}}); len(problems) > 0 {
		t.Error(problems)
	}
}

// The repository is data: of a project that is not trusted only denials act.
func TestUntrustedProject(t *testing.T) {
	t.Parallel()
	project := write(t, projectFile, everything)
	got, err := Load(Sources{User: user(t, `{"rules": {"deny": ["A"]}}`), Project: project, Environ: []string{"HOME=/home/me"}})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Data = DataDir([]string{"HOME=/home/me"})
	want.Rules.Deny = []string{"A", "Bash(rm *)"}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Error(diff)
	}
	wantIgnored := strings.Fields(`agent model policy sandbox record product_name data store node idle_after silent_after interrupt_grace timeouts.permission timeouts.question
		unattended undo.off undo.max_files undo.max_bytes pool.size pool.keys pool.max_memory worktree.setup worktree.copy team.max_hops team.max_per_minute team.max_cost_usd nesting.depth nesting.sessions nesting.max_cost_usd log_level keep_deltas keep_sessions rules.allow
		agents.claude.path agents.claude.env agents.claude.args providers.lab.base_url providers.lab.key_env prices roots releases addr`)
	if diff := cmp.Diff(wantIgnored, got.Ignored); diff != "" {
		t.Error(diff)
	}
	if broken(Sources{Project: write(t, projectFile, `{"addr": 1}`)}) == nil {
		t.Error("what is ignored is not checked")
	}
}

func TestEveryFieldStatesItsClass(t *testing.T) {
	t.Parallel()
	var restricts []string
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for f := range typ.Fields() {
			inner := f.Type
			if inner.Kind() == reflect.Map {
				inner = inner.Elem()
			}
			class := f.Tag.Get("class")
			switch {
			case inner.Kind() == reflect.Struct:
				if class != "inside" {
					t.Errorf("%s.%s holds fields, its class is %q", typ.Name(), f.Name, class)
				}
				visit(inner)
			case class == "restricts":
				restricts = append(restricts, f.Name)
			case class != "grants":
				t.Errorf("%s.%s has class %q", typ.Name(), f.Name, class)
			}
			if !strings.HasSuffix(f.Tag.Get("json"), ",omitzero") || f.Tag.Get("jsonschema") == "" {
				t.Errorf("%s.%s lacks a tag", typ.Name(), f.Name)
			}
			if inner.Kind() == reflect.String && f.Tag.Get("check") == "" {
				t.Errorf("%s.%s takes any text", typ.Name(), f.Name)
			}
		}
	}
	visit(reflect.TypeFor[Config]())
	// Whoever adds to this list says that a stranger may set it.
	if want := []string{"Deny"}; !slices.Equal(restricts, want) {
		t.Errorf("fields that act without trust: %q, want %q", restricts, want)
	}
}

func TestWordsAreThoseOfTheVocabulary(t *testing.T) {
	t.Parallel()
	var policies []string
	for _, p := range terret.Policies() {
		policies = append(policies, string(p))
	}
	if diff := cmp.Diff(policies, Words("policy")); diff != "" {
		t.Error(diff)
	}
	gates := []terret.Gate{
		terret.GatePermission, terret.GatePreTool, terret.GatePrompt, terret.GateQuestion, terret.GatePlan,
		terret.GateStop, terret.GateSubagentStop, terret.GateCompact, terret.GateTrust,
	}
	var names []string
	for _, g := range gates {
		names = append(names, string(g))
	}
	if diff := cmp.Diff(names, Words("gate")); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {"{\n  \"modell\": 1}", `2:3: unknown key "modell"; did you mean "model"?`},
		"after é":           {"{/* é */ \"polcy\": 1}", `1:10: unknown key "polcy"; did you mean "policy"?`},
		"nothing like it":   {`{"colour": 1}`, `1:2: unknown key "colour"; the keys here are agent, model, `},
		"inner unknown key": {"{\"undo\": {\n\n\"max_file\": 1}}", `3:1: unknown key "undo.max_file"; did you mean "max_files"?`},
		"key of an agent":   {`{"agents": {"x": {"paht": 1}}}`, `1:19: unknown key "agents.x.paht"; did you mean "path"?`},
		"unknown gate":      {`{"timeouts": {"permision": "1s"}}`, `1:15: unknown key "timeouts.permision"; did you mean "permission"?`},
		"wrong type":        {"{\"model\": 7}", `1:11: model must be a string, not 7`},
		"null":              {`{"model": null}`, `1:11: model must be a string, not null`},
		"a list":            {`{"undo": []}`, `1:10: undo must be an object, not a list`},
		"in a list":         {"{\"roots\": [\n\"/a\",\n1]}", `3:1: roots[1] must be a string, not 1`},
		"fraction":          {`{"undo": {"max_files": 1.5}}`, `1:24: undo.max_files must be a whole number, zero or more, not 1.5`},
		"negative":          {`{"undo": {"max_files": -1}}`, `not -1`},
		"huge":              {`{"undo": {"max_bytes": 99999999999999999999}}`, `not 99999999999999999999`},
		"not a bool":        {`{"unattended": "yes"}`, `1:16: unattended must be true or false, not a string`},
		"twice":             {"{\"model\": \"a\",\n\"agent\": \"x\",\n\"model\": \"b\"}", `3:1: "model" is set twice; first in line 1`},
		"bad duration":      {`{"idle_after": "10 minutes"}`, `1:16: idle_after: "10 minutes" is not a duration; write it like "90s", "30m", "1h30m", "90d" or "never"`},
		"part of a day":     {`{"keep_sessions": "1.5d"}`, `"1.5d" is not a duration`},
		"no days":           {`{"keep_sessions": "0d"}`, `"0d" is not a duration`},
		"too many days":     {`{"keep_sessions": "200000d"}`, `is not a duration`},
		"negative duration": {`{"idle_after": "-1s"}`, `is not a duration`},
		"no duration":       {`{"idle_after": 10}`, `1:16: idle_after must be a string such as "30m", not 10`},
		"never is too long": {`{"interrupt_grace": "never"}`, `1:21: interrupt_grace: "never" is not possible here`},
		"bad policy":        {`{"policy": "accept-edit"}`, `1:12: policy: there is no "accept-edit"; did you mean "accept-edits"?`},
		"bad level":         {`{"log_level": "chatty!"}`, `1:15: log_level: there is no "chatty!"; use one of debug, info, warn, error`},
		"bad API":           {`{"providers": {"a": {"base_url": "localhost:80"}}}`, `providers.a.base_url: it is not the address of an API`},
		"API with password": {`{"providers": {"a": {"base_url": "http://u:p@h"}}}`, `must not hold a password`},
		"bad address":       {`{"addr": "7433"}`, `1:10: addr: "7433" is not an address`},
		"bad variable":      {`{"agents": {"x": {"env": ["A=B"]}}}`, `1:27: agents.x.env[0]: "A=B" is not a variable name`},
		"flag as a name":    {`{"agents": {"-x": {}}}`, `1:13: agents.-x: "-x" is not a name`},
		"empty":             {`{"data": ""}`, `1:10: data: must not be empty`},
		"control character": {`{"model": "a\u001bb"}`, `contains control characters`},
		"no home":           {`{"data": "~/x"}`, `the home folder is unknown`},
		"garbage after":     {"{}\n{}", `2:1: invalid character '{' after top-level value`},
		"cut off":           {"{\n\"model\": \"a", `the file ends too early`},
		"open comment":      {"{} /*", `the file ends too early`},
		"not an object":     {`[]`, `1:1: the file must be an object, not a list`},
		"no JSON":           {`model = "a"`, `1:1: `},
		"not UTF-8":         {"{\n\"model\": \"\xff\"}", `2:11: the file must be UTF-8`},
	} {
		file := user(t, c.text)
		_, err := Load(Sources{User: file})
		if err == nil || !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%s: error of type %T", name, err)
		}
	}
}

func TestEmptyFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", "\uFEFF", "\uFEFF{}", "{}", "{ /* nothing */ }"} {
		got, err := Load(Sources{User: user(t, text)})
		if err != nil || !cmp.Equal(got.Config, defaults()) {
			t.Errorf("%q: %+v, error %v", text, got, err)
		}
	}
	got, err := Load(Sources{User: filepath.Join(t.TempDir(), "none"), Project: filepath.Join(t.TempDir(), "none")})
	if err != nil || got.Files != nil {
		t.Errorf("files %q, error %v", got.Files, err)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	list := strings.Join([]string{"/a", "/b"}, string(filepath.ListSeparator))
	got, err := Load(Sources{Environ: []string{
		"HOME=/home/me", "TERRET_AGENT=codex", "TERRET_MODEL=m", "TERRET_POLICY=plan", "TERRET_PRODUCT_NAME=Acme", "TERRET_HOME=~/t", "TERRET_IDLE_AFTER=never", "TERRET_SILENT_AFTER=1h",
		"TERRET_INTERRUPT_GRACE=1s", "TERRET_UNATTENDED=1", "TERRET_UNDO_OFF=true", "TERRET_LOG_LEVEL=warn",
		"TERRET_KEEP_DELTAS=48h", "TERRET_KEEP_SESSIONS=7d", "TERRET_ROOTS=" + list, "TERRET_ADDR=localhost:1", "TERRET_UNHEARD_OF=1", "TERRET_OWNER=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Agent: "codex", Model: "m", Policy: "plan", ProductName: "Acme", Data: "/home/me/t", IdleAfter: Never, SilentAfter: Duration(time.Hour), InterruptGrace: Duration(time.Second),
		Unattended: true, Undo: Undo{Off: true}, LogLevel: "warn", KeepDeltas: Duration(48 * time.Hour), KeepSessions: Duration(168 * time.Hour),
		Roots: []string{"/a", "/b"}, Addr: "localhost:1",
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Error(diff)
	}
	for entry, want := range map[string]string{
		"TERRET_IDLE_AFTER=soon":   `TERRET_IDLE_AFTER: "soon" is not a duration`,
		"TERRET_POLICY=yolo":       `TERRET_POLICY: there is no "yolo"`,
		"TERRET_UNATTENDED=maybe":  `TERRET_UNATTENDED: "maybe" is neither true nor false`,
		"TERRET_AGENT=--x":         `TERRET_AGENT: "--x" is not a name`,
		"TERRET_INTERRUPT_GRACE=0": `TERRET_INTERRUPT_GRACE: "0" is not a duration`,
	} {
		if _, err := Load(Sources{Environ: []string{entry}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", entry, err, want)
		}
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ goos, environ, data, file string }{
		{"linux", "HOME=/h", "/h/.local/share/terret", "/h/.config/terret/config.jsonc"},
		{"linux", "HOME=/h XDG_DATA_HOME=/d XDG_CONFIG_HOME=/c", "/d/terret", "/c/terret/config.jsonc"},
		{"linux", "HOME=/h XDG_DATA_HOME=d XDG_CONFIG_HOME=c", "/h/.local/share/terret", "/h/.config/terret/config.jsonc"},
		{"darwin", "HOME=/h XDG_DATA_HOME=/d", "/h/Library/Application Support/terret", "/h/Library/Application Support/terret/config.jsonc"},
		{"linux", "HOME=/h TERRET_HOME=/t XDG_DATA_HOME=/d", "/t", "/t/config.jsonc"},
		{"darwin", "TERRET_HOME=/t/", "/t", "/t/config.jsonc"},
		{"windows", "LocalAppData=/l AppData=/r", "/l/terret", "/r/terret/config.jsonc"},
		{"linux", "", "", ""},
		{"windows", "", "", ""},
	} {
		environ := strings.Fields(c.environ)
		if got := dataDir(c.goos, environ); got != c.data {
			t.Errorf("%s %q: data in %q, want %q", c.goos, c.environ, got, c.data)
		}
		if got := userFile(c.goos, environ); got != c.file {
			t.Errorf("%s %q: file %q, want %q", c.goos, c.environ, got, c.file)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := DataDir([]string{"TERRET_HOME=rel"}), filepath.Join(wd, "rel"); got != want {
		t.Errorf("relative: %q, want %q", got, want)
	}
}

func TestDurationText(t *testing.T) {
	t.Parallel()
	for _, d := range []Duration{Never, Duration(time.Second), Duration(90 * time.Minute)} {
		text, err := d.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Duration
		if err := back.UnmarshalText(text); err != nil || back != d {
			t.Errorf("%s became %v, error %v", text, back, err)
		}
	}
}
