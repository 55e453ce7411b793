package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/keys"
	"github.com/terret-dev/terret/internal/server/setup"
)

// machine is what a fixture sets up.
type machine struct {
	file string // the user's
	bin  string // where its programs are

	setup  *setup.Setup
	agents *assemble.Agents
	log    lockedBuffer
}

// lockedBuffer may be written to by many at once.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// settable makes a fixture whose machine can be set up, in an empty folder.
func settable(t *testing.T, m *machine, change ...func(*setup.Options)) option {
	t.Helper()
	return func(c *httpapi.Config, _ *engine.Config) {
		m.file = filepath.Join(c.Home, "config.jsonc")
		m.bin = filepath.Join(c.Home, "bin")
		if err := os.MkdirAll(m.bin, 0o700); err != nil {
			t.Fatal(err)
		}
		path := "PATH=" + m.bin + string(filepath.ListSeparator) + os.Getenv("PATH")
		h, err := assemble.New(assemble.Options{
			Env: []string{path, "HOME=" + c.Home}, UserFile: m.file,
			Config: config.Config{Agents: map[string]config.Agent{"pi": {Path: filepath.Join(m.bin, "pi")}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Agents.Close)
		m.agents = h.Agents
		c.Log = slog.New(slog.NewTextHandler(&m.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o := setup.Options{
			Keys: keys.Open(c.Home).With(nil), MCPTokens: keys.OpenMCP(c.Home).With(nil), UserFile: m.file, Agents: h.Agents, Log: c.Log,
			Environ: []string{path, "HOME=" + c.Home}, Dir: c.Home,
		}
		for _, f := range change {
			f(&o)
		}
		m.setup = setup.New(o)
		c.Setup = m.setup
		t.Cleanup(c.Setup.Close)
	}
}

// npm makes a package manager of a shell script.
func (m *machine) npm(t *testing.T, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, "npm"), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
}

// TestKeys keeps a key, which then nobody gets to see: not whoever asks, not whoever gets it
// wrong, not the log, not the event log.
func TestKeys(t *testing.T) {
	t.Parallel()
	const secret = "sk-9e1f-very-secret"
	var m machine
	f := newFixture(t, settable(t, &m))
	var said []byte
	do := func(method, path string, body any) answer {
		t.Helper()
		a := f.do(method, path, body)
		said = append(said, a.body...)
		return a
	}
	var one setup.Kept
	do("POST", "/v1/keys", map[string]any{"name": "openai", "key": secret}).want(201, &one)
	if one != (setup.Kept{Name: "openai", Where: "file"}) {
		t.Errorf("%+v", one)
	}
	do("POST", "/v1/keys", map[string]any{"name": "openai", "key": secret + "2"}).problem(409, terret.CodeConflict, "")
	do("POST", "/v1/keys", map[string]any{"name": "a/b", "key": secret}).problem(422, terret.CodeInvalidRequest, "name")
	do("POST", "/v1/keys", map[string]any{"name": "x", "key": secret + "\n" + secret}).problem(422, terret.CodeInvalidRequest, "key")
	for _, bad := range []any{map[string]any{"name": "x", "key": []string{secret}}, map[string]any{"name": "x", "key": strings.Repeat(secret, 1000)}, map[string]any{"name": "x", "key": map[string]any{secret: secret}}, `{"name": "x", "key": "` + secret + `}`, `"` + secret + `"`} {
		if a := do("POST", "/v1/keys", bad); a.status < 400 || a.status > 422 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	var list terret.Page[setup.Kept]
	do("GET", "/v1/keys", nil).want(200, &list)
	if diff := cmp.Diff([]setup.Kept{one}, list.Items); diff != "" {
		t.Error(diff)
	}
	if got, err := keys.Open(f.home).With(nil).Get("openai"); err != nil || got != secret {
		t.Errorf("kept %q, %v", got, err)
	}
	do("GET", "/v1/providers", nil).want(200, nil)
	do("DELETE", "/v1/keys/openai", nil).want(204, nil)
	do("DELETE", "/v1/keys/openai", nil).problem(404, terret.CodeNotFound, "")
	if got, err := keys.Open(f.home).With(nil).Get("openai"); err != nil || got != "" {
		t.Errorf("still kept: %v", err)
	}
	for name, text := range map[string]string{"an answer": string(said), "the log": m.log.String()} {
		if strings.Contains(text, secret[:8]) {
			t.Errorf("%s has the key: %s", name, text)
		}
	}
	if !strings.Contains(m.log.String(), "a key was kept") {
		t.Error("nobody can see in the log who keeps keys")
	}
}

// TestKeysUnreadable is a file of keys that others can read: nothing of it is used.
func TestKeysUnreadable(t *testing.T) {
	t.Parallel()
	var m machine
	f := newFixture(t, settable(t, &m))
	if err := os.WriteFile(filepath.Join(f.home, "keys.json"), []byte(`{}`), 0o644); err != nil { //nolint:gosec // that is the point
		t.Fatal(err)
	}
	f.do("GET", "/v1/keys", nil).problem(503, terret.CodeStartupRefused, "")
	f.do("POST", "/v1/keys", map[string]any{"name": "openai", "key": "x"}).problem(503, terret.CodeStartupRefused, "")
	f.do("DELETE", "/v1/keys/openai", nil).problem(503, terret.CodeStartupRefused, "")
}

// TestProviders adds a server with models by its address, sees its models, and removes it,
// in a file in which somebody has written comments.
func TestProviders(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer the-key" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"llama-9"}]}`))
	}))
	t.Cleanup(api.Close)
	var m machine
	f := newFixture(t, settable(t, &m))
	const mine = "{\n  // what I like\n  \"agent\": \"claude\", // best\n}\n"
	if err := os.WriteFile(m.file, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	lab := map[string]any{"name": "lab", "base_url": api.URL + "/v1", "key_env": "LAB_KEY"}
	var p setup.Provider
	f.do("POST", "/v1/providers", lab).want(201, &p)
	if !p.Added || p.Key != "missing" || p.API != "chat" {
		t.Errorf("%+v", p)
	}
	f.do("POST", "/v1/providers", lab).problem(409, terret.CodeConflict, "")
	f.do("GET", "/v1/providers/lab/models", nil).problem(424, terret.CodeNotAuthenticated, "")
	f.do("POST", "/v1/keys", map[string]any{"name": "lab", "key": "wrong"}).want(201, nil)
	if p := f.do("GET", "/v1/providers/lab/models", nil).problem(502, terret.CodeConnectionFailed, ""); !strings.Contains(p.Detail, "401") || strings.Contains(p.Detail, "wrong") {
		t.Errorf("%+v", p)
	}
	f.do("DELETE", "/v1/keys/lab", nil).want(204, nil)
	f.do("POST", "/v1/keys", map[string]any{"name": "lab", "key": "the-key"}).want(201, nil)
	var models terret.Page[terret.Model]
	f.do("GET", "/v1/providers/lab/models", nil).want(200, &models)
	if len(models.Items) != 1 || models.Items[0].ID != "lab/llama-9" {
		t.Errorf("%+v", models)
	}
	for _, bad := range []map[string]any{
		{"name": "x", "base_url": "ftp://x"},
		{"name": "x", "base_url": "http://a:b@c"},
		{"name": "../x", "base_url": "http://x"},
		{"name": "x", "base_url": "http://x", "key_env": "a b"},
		{"name": "x", "base_url": "http://x", "api": "soap"},
	} {
		if a := f.do("POST", "/v1/providers", bad); a.status != 422 {
			t.Errorf("%v: %d %s", bad, a.status, a.body)
		}
	}
	var list terret.Page[setup.Provider]
	f.do("GET", "/v1/providers", nil).want(200, &list)
	if last := list.Items[len(list.Items)-1]; last.Name != "lab" || last.Key != "kept" {
		t.Errorf("%+v", last)
	}
	f.do("DELETE", "/v1/providers/lab", nil).want(204, nil)
	f.do("DELETE", "/v1/providers/lab", nil).problem(404, terret.CodeNotFound, "")
	f.do("GET", "/v1/providers/lab/models", nil).problem(404, terret.CodeNotFound, "")
	f.do("DELETE", "/v1/providers/openai", nil).problem(404, terret.CodeNotFound, "")
	if got, err := os.ReadFile(m.file); err != nil || !strings.HasPrefix(string(got), mine[:len(mine)-2]) {
		t.Errorf("the file has changed: %v\n%s", err, got)
	}
	if err := os.WriteFile(m.file, []byte(`{"providers": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do("GET", "/v1/providers", nil).problem(422, terret.CodeInvalidRequest, "")
}

// TestConfig edits the configuration as text: comments stay, faults are refused with their
// lines, what must not be shown is not, a file that somebody else has changed is not
// overwritten, and what needs a restart is said.
func TestConfig(t *testing.T) {
	t.Parallel()
	var m machine
	f := newFixture(t, settable(t, &m, func(o *setup.Options) {
		o.Environ = append(o.Environ, "SOME_API_KEY=sk-secret-variable")
		o.Reload = func() (config.Loaded, error) { return config.Load(config.Sources{User: o.UserFile}) }
		var err error
		if o.Started, err = o.Reload(); err != nil {
			t.Error(err)
		}
	}))
	get := func() (c setup.Configuration) {
		t.Helper()
		a := f.do("GET", "/v1/config", nil).want(200, &c)
		if strings.Contains(string(a.body), "sk-secret") || strings.Contains(string(a.body), "pass-word") {
			t.Errorf("a secret is shown: %s", a.body)
		}
		return c
	}
	put := func(text, hash string) answer {
		t.Helper()
		return f.do("PUT", "/v1/config", map[string]any{"text": text, "hash": hash})
	}
	c := get()
	if c.There || c.Text != "" || c.Path != m.file || len(c.Settings) < 30 || len(c.Restart) > 0 {
		t.Fatalf("%+v", c)
	}
	const first = "{\n  // mine\n  \"store\": \"postgres://me:pass-word@host/db\",\n  \"product_name\": \"a sk-secret-variable b\",\n  \"providers\": {\"lab\": {\"base_url\": \"http://x/v1\", \"headers\": {\"X-Key\": \"sk-secret-header\"}}}, // the lab\n}\n"
	if err := os.WriteFile(m.file, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	put("{}", c.Hash).problem(409, terret.CodeConflict, "")
	c = get()
	if c.Hidden != 3 || !strings.Contains(c.Text, "// mine") || !strings.Contains(c.Text, `"X-Key": "[hidden 3]"`) || len(c.Faults) > 0 {
		t.Fatalf("%+v", c)
	}
	if diff := cmp.Diff([]string{"product_name", "store"}, c.Restart); diff != "" {
		t.Error(diff)
	}
	for _, s := range c.Settings {
		if s.Key == "providers.lab.headers.X-Key" && (s.Value != "[hidden]" || s.From != m.file || s.Restart || !strings.Contains(s.About, "Headers")) || s.Key == "policy" && (len(s.Words) == 0 || s.Variable != "TERRET_POLICY" || s.From != "default") {
			t.Errorf("%+v", s)
		}
	}

	// What is wrong is said with its line, and not written.
	bad := strings.Replace(c.Text, `"store"`, `"polcy"`, 1)
	var faults httpapi.ConfigFaults
	f.do("POST", "/v1/config/check", map[string]any{"text": bad}).want(200, &faults)
	if len(faults.Faults) != 1 || faults.Faults[0].Line != 3 || !strings.Contains(faults.Faults[0].Message, "[hidden 1] does not stand for a value of this key") {
		t.Errorf("%+v", faults)
	}
	// A value that is not shown cannot be moved to where it would be shown.
	moved := strings.Replace(c.Text, `"product_name": "[hidden 2]"`, `"model": "[hidden 3]"`, 1)
	if p := put(moved, c.Hash).problem(422, terret.CodeInvalidRequest, "text"); !strings.Contains(p.Detail, "line 4, column 12") {
		t.Errorf("%+v", p)
	}
	p := put("{\n  \"agnt\": \"x\",\n  \"rules\": {\"allow\": [\"Bash(\"]}\n}", c.Hash).problem(422, terret.CodeInvalidRequest, "text")
	if !strings.Contains(p.Detail, `line 2, column 3: unknown key "agnt"; did you mean "agent"?`) || len(p.Errors) != 2 || !strings.HasPrefix(p.Errors[1].Message, "line 3") {
		t.Errorf("%+v", p)
	}
	put("{", c.Hash).problem(422, terret.CodeInvalidRequest, "text")
	if got, err := os.ReadFile(m.file); err != nil || string(got) != first {
		t.Errorf("it was written: %v\n%s", err, got)
	}

	// What is right is written, with the values that were not shown.
	put(strings.Replace(c.Text, "// mine\n", "// mine\n  \"policy\": \"ask\",\n", 1), c.Hash).want(200, &c)
	if got, err := os.ReadFile(m.file); err != nil || string(got) != strings.Replace(first, "// mine\n", "// mine\n  \"policy\": \"ask\",\n", 1) {
		t.Errorf("%v\n%s", err, got)
	}
	if diff := cmp.Diff([]string{"policy", "product_name", "store"}, c.Restart); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(m.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}

	// A file that cannot be read is not shown: secrets cannot be told from the rest.
	if err := os.WriteFile(m.file, []byte("{\n \"X-Key\": \"sk-secret-header\""), 0o600); err != nil {
		t.Fatal(err)
	}
	c = get()
	if c.Text != "" || len(c.Faults) != 1 || c.Faults[0].Line != 2 {
		t.Errorf("%+v", c)
	}
	if strings.Contains(m.log.String(), "sk-secret") || !strings.Contains(m.log.String(), "the configuration was changed") {
		t.Errorf("the log: %s", m.log.String())
	}
}

// TestSetupScope is that nobody but an admin sets up anything, or sees how it is set up.
func TestSetupScope(t *testing.T) {
	t.Parallel()
	var m machine
	f := newFixture(t, settable(t, &m))
	s := f.session()
	n := 0
	for _, g := range []*fixture{f.holding("view", access.View, ""), f.holding("decide", access.Decide, ""), f.holding("one", access.Decide, s.ID)} {
		for _, op := range newDescription(t).operations {
			if !isSetup(op) {
				continue
			}
			n++
			if g.do(op.Method, target{}.fill(op.Path), target{}.body(op)).problem(403, terret.CodeForbidden, ""); op.Scope != access.Admin {
				t.Errorf("%s needs only %s", op.ID, op.Scope)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d were tried", n)
	}
	if _, err := config.User(m.file, nil); err != nil {
		t.Error(err)
	}
}

func isSetup(op *described) bool { return len(op.Tags) == 1 && op.Tags[0] == "setup" }
