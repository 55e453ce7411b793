package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/terret-dev/terret/internal/test/agenttest"
)

// TestAgentStories tells one story over HTTP with every agent.
func TestAgentStories(t *testing.T) {
	t.Parallel()
	names := map[string]string{"claude-agent-acp": "claude-acp"} // where ours is another
	for _, a := range agenttest.All() {
		name := a.Name
		if other := names[name]; other != "" {
			name = other
		}
		if name == "opencode-anthropic" || name == "codex-patch" {
			continue // the same agent with another model
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("TERRET_CONFORMANCE") == "" {
				t.Skip("this runs the real agents: run `make conformance`, which installs them")
			}
			p := scripts(t, "testdata/agents")
			common := p.Setup
			p.Setup = func(e *testscript.Env) error {
				if err := common(e); err != nil {
					return err
				}
				if name == "codex-acp" {
					if err := leaveSandbox(filepath.Join(e.WorkDir, "model.yaml")); err != nil {
						return err
					}
				}
				url, err := scriptModel(t, filepath.Join(e.WorkDir, "model.yaml"), e.WorkDir)
				if err != nil {
					return err
				}
				place := a.Prepare(t, url)
				for _, each := range place.Env {
					name, value, _ := strings.Cut(each, "=")
					if name == "PATH" {
						value = e.Getenv("PATH") + string(os.PathListSeparator) + value
					}
					e.Setenv(name, value)
				}
				e.Setenv("TERRET_HOME", filepath.Join(place.Home, "terret"))
				e.Setenv("TERRET_MODEL", "")
				e.Setenv("AGENT", name)
				return nil
			}
			testscript.Run(t, p)
		})
	}
}

// leaveSandbox changes the steps of a model for an agent that runs commands in a sandbox
// of its own, and asks only when one is to leave it.
func leaveSandbox(path string) error {
	model, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	call := regexp.MustCompile(`\{do: shell, input: \{command: (.*?)\}\}`)
	out := call.ReplaceAll(model, []byte("{name: exec_command, input: {cmd: $1, sandbox_permissions: require_escalated, justification: It must write.}}"))
	return os.WriteFile(path, out, 0o600)
}

// TestRegistryByAddress reads a registry over HTTP, as far as it may be large.
func TestRegistryByAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/registry.json":
			_, _ = io.WriteString(w, `{"agents": [{"id": "mine", "distribution": {"npx": {"package": "mine"}}}]}`)
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	r, err := readRegistry(t.Context(), server.URL+"/registry.json")
	if err != nil || len(r.Agents) != 1 || r.Agents[0].Distribution.NPX == nil {
		t.Errorf("%+v, %v", r, err)
	}
	for path, want := range map[string]string{"/endless": "larger than 8 MB", "/gone": "404"} {
		if _, err := readRegistry(t.Context(), server.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
