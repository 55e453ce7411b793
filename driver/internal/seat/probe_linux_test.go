package seat

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// script writes a program that does that, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does, auth string
		found      bool
		version    string
		tested     terret.Tested
		fix        string // a part of it; "-" means none
	}{
		"as tested":     {does: "echo 1.2.3", auth: "ok", found: true, version: "1.2.3", tested: terret.TestedYes, fix: "-"},
		"by its name":   {does: "echo @scope/agent-cli 1.2.3", auth: "ok", found: true, version: "1.2.3", tested: terret.TestedYes, fix: "-"},
		"on stderr":     {does: "echo 'Agent CLI v1.2.3.' >&2", auth: "ok", found: true, version: "1.2.3", tested: terret.TestedYes, fix: "-"},
		"older":         {does: "echo 1.1.9", auth: "ok", found: true, version: "1.1.9", tested: terret.TestedOlder, fix: "older than the tested ones (1.2.0 to 1.10.0); update it with `get agent`"},
		"newer":         {does: "echo 1.11.0", auth: "ok", found: true, version: "1.11.0", tested: terret.TestedNewer, fix: "if something fails, go back with `get agent`"},
		"not signed in": {does: "echo 1.2.3", auth: "missing", found: true, version: "1.2.3", tested: terret.TestedYes, fix: "sign in"},
		"another":       {does: "echo hello", fix: "does not answer like Agent; reinstall it with `get agent`"},
		"fails":         {does: "echo 1.2.3; exit 3", version: "1.2.3", fix: "does not answer like Agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Program{
				Title: "Agent", Path: script(t, c.does), Env: []string{"PATH=/usr/bin:/bin"}, Install: "get agent",
				Oldest: "1.2.0", Newest: "1.10.0", SignIn: "sign in",
			}
			asked := false
			got, err := p.Probe(t.Context(), terret.Probe{Agent: "a"}, func(context.Context) string {
				asked = true
				return c.auth
			})
			if err != nil || got.Found != c.found || got.Version != c.version || got.Tested != c.tested || got.Auth != c.auth || got.Agent != "a" || got.Path != p.Path {
				t.Errorf("%+v, %v", got, err)
			}
			if asked != c.found {
				t.Errorf("asked who is signed in: %v", asked)
			}
			if c.fix == "-" && got.Fix != "" || c.fix != "-" && !strings.Contains(got.Fix, c.fix) {
				t.Errorf("fix %q", got.Fix)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	p := Program{Title: "Agent", Path: "/nowhere/agent"}
	got, err := p.Probe(t.Context(), terret.Probe{}, nil)
	if err != nil || got.Found || got.Fix != "/nowhere/agent was not found" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A program that nobody tested need not say a version.
func TestUntested(t *testing.T) {
	t.Parallel()
	p := Program{Title: "Agent", Path: script(t, "echo hello"), Env: []string{"PATH=/usr/bin:/bin"}}
	got, err := p.Probe(t.Context(), terret.Probe{}, func(context.Context) string { return "unknown" })
	if err != nil || !got.Found || got.Version != "" || got.Tested != "" || got.Fix != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestVersionIn(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"2.1.325 (Claude Code)": "2.1.325", "codex-cli 0.166.0\n": "0.166.0", "v26.1.0": "26.1.0",
		"0.166.0 (Debian 12.0.0; x86_64) unknown": "0.166.0", "no version\n1.2.3": "", "": "",
	} {
		if got := VersionIn(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
