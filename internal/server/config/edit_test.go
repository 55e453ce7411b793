package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

var mine = Agent{Path: "my-agent", Args: []string{"--acp", ""}, Env: []string{"MY_KEY"}, ACP: true}

// TestAddAgent holds that adding an agent changes nothing else in the file, whatever it
// looks like.
func TestAddAgent(t *testing.T) {
	t.Parallel()
	const said = `"mine": {"path": "my-agent", "args": ["--acp", ""], "env": ["MY_KEY"], "acp": true}`
	for name, c := range map[string]struct{ before, after string }{
		"empty":         {"", "{\n  \"agents\": {\n    " + said + "\n  }\n}\n"},
		"an object":     {"{}", "{\n  \"agents\": {\n    " + said + "\n  }\n}"},
		"one line":      {`{"model": "opus"}`, `{"model": "opus", "agents": {` + "\n    " + said + "\n  }}"},
		"with tabs":     {"{\n\t\"model\": \"opus\"\n}\n", "{\n\t\"model\": \"opus\",\n\t\"agents\": {\n\t\t" + said + "\n\t}\n}\n"},
		"comments":      {"// a\n{\n  // b\n  \"model\": \"opus\" // c\n  // d\n}\n// e\n", "// a\n{\n  // b\n  \"model\": \"opus\", // c\n  // d\n  \"agents\": {\n    " + said + "\n  }\n}\n// e\n"},
		"commas":        {"{\n  \"model\": \"opus\",\n}\n", "{\n  \"model\": \"opus\",\n  \"agents\": {\n    " + said + "\n  },\n}\n"},
		"others":        {"{\n  \"agents\": {\n    // it\n    \"claude\": {\"path\": \"c\"}\n  },\n  \"model\": \"opus\"\n}\n", "{\n  \"agents\": {\n    // it\n    \"claude\": {\"path\": \"c\"},\n    " + said + "\n  },\n  \"model\": \"opus\"\n}\n"},
		"others inline": {`{"agents": {"claude": {"path": "c"}}}`, `{"agents": {"claude": {"path": "c"}, ` + said + `}}`},
		"none left":     {"{\n\t\"agents\": {}\n}\n", "{\n\t\"agents\": {\n\t\t" + said + "\n\t}\n}\n"},
	} {
		path := user(t, c.before)
		if err := AddAgent(t.Context(), path, "mine", mine, nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.after)
		}
		if got, err := User(path, nil); err != nil || !reflect.DeepEqual(got.Agents["mine"], mine) {
			t.Errorf("%s: read %+v, %v", name, got, err)
		}
		if err := AddAgent(t.Context(), path, "mine", mine, nil); !errors.Is(err, ErrExists) {
			t.Errorf("%s: added twice: %v", name, err)
		}
	}
}

// TestRemoveAgent holds that the others stay, and the comments on them.
func TestRemoveAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after string
		removed       bool
	}{
		"no file":   {"", "", false},
		"no agents": {"{ /* x */ }", "{ /* x */ }", false},
		"others":    {"{\"agents\": {\"claude\": {}}} // x\n", "{\"agents\": {\"claude\": {}}} // x\n", false},
		"the last":  {"{\n  \"agents\": {\n    \"mine\": {\"path\": \"p\", \"acp\": true}\n  }\n}\n", "{\n  \"agents\": {}\n}\n", true},
		"the first": {"{\n  \"agents\": {\n    // about mine\n    \"mine\": {},\n    // about claude\n    \"claude\": {}\n  }\n}\n", "{\n  \"agents\": {\n    // about claude\n    \"claude\": {}\n  }\n}\n", true},
		"behind":    {"{\n  \"agents\": {\n    \"claude\": {}, // his\n    \"mine\": {}\n  }\n}\n", "{\n  \"agents\": {\n    \"claude\": {} // his\n  }\n}\n", true},
		"commas":    {"{\n  \"agents\": {\n    \"claude\": {},\n    \"mine\": {},\n  },\n}\n", "{\n  \"agents\": {\n    \"claude\": {},\n  },\n}\n", true},
	} {
		path := user(t, c.before)
		removed, err := RemoveAgent(t.Context(), path, "mine", nil)
		got, readErr := os.ReadFile(path)
		if err != nil || readErr != nil || removed != c.removed || string(got) != c.after {
			t.Errorf("%s: %v, %v, %v\n%s\nwant\n%s", name, removed, err, readErr, got, c.after)
		}
	}
}

// TestAddAgentRefuses holds that a file that cannot be read stays as it is, and that
// what could not be read back is not written.
func TestAddAgentRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, agent string
		a             Agent
		want          string
	}{
		"broken":      {`{"model": `, "mine", mine, "config.jsonc:1:"},
		"unknown key": {`{"modell": "x"}`, "mine", mine, "did you mean"},
		"not objects": {`{"agents": []}`, "mine", mine, "must be an object"},
		"a flag":      {`{}`, "-x", mine, "is not a name"},
		"a path":      {`{}`, "../x", mine, "is not a name"},
		"nothing":     {`{}`, "", mine, "must not be empty"},
		"no program":  {`{}`, "mine", Agent{ACP: true}, "must not be empty"},
		"a variable":  {`{}`, "mine", Agent{Path: "p", Env: []string{"A B"}}, "is not a variable name"},
	} {
		path := user(t, c.before)
		err := AddAgent(t.Context(), path, c.agent, c.a, nil)
		if got, readErr := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), c.want) || readErr != nil || string(got) != c.before {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}

// TestAddAgentLink holds that a file elsewhere, to which a link leads, is the one that
// changes.
func TestAddAgentLink(t *testing.T) {
	t.Parallel()
	real := user(t, "{}")
	link := filepath.Join(t.TempDir(), "config.jsonc")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := AddAgent(t.Context(), link, "mine", mine, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if got, err := User(real, nil); err != nil || got.Agents["mine"].Path == "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAddAgentsAtOnce holds that nobody's agent gets lost, and that a folder is made.
func TestAddAgentsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "config.jsonc")
	names := []string{"a", "b", "c", "d", "e", "f"}
	var wait sync.WaitGroup
	for _, name := range names {
		wait.Go(func() {
			if err := AddAgent(t.Context(), path, name, mine, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got, err := User(path, nil); err != nil || len(got.Agents) != len(names) {
		t.Errorf("%+v, %v", got, err)
	}
}
