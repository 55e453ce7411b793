package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/terret-dev/terret/internal/test/agenttest"
)

// TestSeveralStories tells stories in which several real agents work on one thing:
// Claude Code, Codex, OpenCode and the native agent, all on one scripted model.
func TestSeveralStories(t *testing.T) {
	t.Parallel()
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skip("this runs the real agents: run `make conformance`, which installs them")
	}
	p := scripts(t, "testdata/several")
	common := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := common(e); err != nil {
			return err
		}
		url, err := scriptModel(t, filepath.Join(e.WorkDir, "model.yaml"), e.WorkDir)
		if err != nil {
			return err
		}
		home := e.Getenv("HOME")
		for _, name := range []string{"opencode", "codex", "claude"} {
			place, err := agenttest.Find(t, name).At(home, e.WorkDir, url)
			if err != nil {
				return err
			}
			for _, each := range place.Env {
				name, value, _ := strings.Cut(each, "=")
				if name == "PATH" {
					value = e.Getenv("PATH") + string(os.PathListSeparator) + value
				}
				e.Setenv(name, value)
			}
		}
		e.Setenv("ANTHROPIC_BASE_URL", url) // of Claude Code and of the native agent
		e.Setenv("TERRET_MODEL", "")
		e.Setenv("NATIVE_MODEL", "anthropic/claude-sonnet-4-5")
		if err := os.MkdirAll(e.Getenv("TERRET_HOME"), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(e.Getenv("TERRET_HOME"), "config.jsonc"), []byte(`{"agents": {"codex": {"env": ["FAKE_KEY"]}}}`), 0o600)
	}
	testscript.Run(t, p)
}
