package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/terret-dev/terret/test/sim"
)

// TestClaudeScripts runs terret as people do, with the real Claude Code and the model
// that the script holds. `make conformance` installs the agent.
func TestClaudeScripts(t *testing.T) {
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skip("this runs the real Claude Code: run `make conformance`, which installs it")
	}
	bin, err := filepath.Abs("../../agents/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "claude")); err != nil {
		t.Fatalf("Claude Code is not installed: %v", err)
	}
	p := scripts(t, "testdata/claude")
	common := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := common(e); err != nil {
			return err
		}
		url, err := scriptModel(t, filepath.Join(e.WorkDir, "model.yaml"), e.WorkDir)
		if err != nil {
			return err
		}
		e.Setenv("PATH", e.Getenv("PATH")+string(os.PathListSeparator)+bin)
		e.Setenv("TERRET_MODEL", "")
		e.Setenv("ANTHROPIC_BASE_URL", url)
		e.Setenv("ANTHROPIC_API_KEY", "sk-canary-6f1d")
		e.Setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
		e.Setenv("CLAUDE_CODE_MAX_RETRIES", "1")
		return nil
	}
	testscript.Run(t, p)
}

// scriptModel serves the model of a script and returns its address.
func scriptModel(t *testing.T, path, dir string) (string, error) {
	s, err := sim.Load(path)
	if err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil { // the agent must not see it
		return "", err
	}
	server, err := sim.NewServer(s, sim.Options{Vars: map[string]string{"dir": dir}})
	if err != nil {
		return "", err
	}
	running, err := server.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = running.Close() })
	return running.URL(), nil
}
