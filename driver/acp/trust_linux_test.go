package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestUntrustedSettings has a folder with settings that an agent would follow.
func TestUntrustedSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tested  string
		follows []string
		file    string
		trusted bool
		refused bool
	}{
		"never tried":         {file: ".mcp.json", refused: true},
		"never tried, plain":  {file: "README.md"},
		"never tried, trust":  {file: ".mcp.json", trusted: true},
		"follows it":          {tested: "1", follows: []string{".agents/plugins/"}, file: ".agents/plugins/x/hooks.json", refused: true},
		"follows a file":      {tested: "1", follows: []string{".mcp.json"}, file: ".mcp.json", refused: true},
		"follows another":     {tested: "1", follows: []string{".agents/plugins/"}, file: ".agents/skills/x.md"},
		"follows none":        {tested: "1", file: ".mcp.json"},
		"in the folder above": {tested: "1", follows: []string{".codex/"}, file: "../.codex/config.toml", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			dir := filepath.Join(repo, "work")
			path := filepath.Join(dir, filepath.FromSlash(c.file))
			for _, d := range []string{filepath.Join(repo, ".git"), dir, filepath.Dir(path)} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{path, filepath.Join(repo, ".git", "HEAD")} {
				if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := newSetup(t, "fair", func(s *setup) {
				s.d.p.Tested, s.d.p.Follows = c.tested, c.follows
				s.req.Session.Cwd, s.req.Trusted = dir, c.trusted
			})
			if !c.refused {
				a := s.open()
				s.says(a, "hello", "You said hello")
				s.close(a)
				return
			}
			if err := s.refused(terret.CodeStartupRefused); !strings.Contains(err.Message, filepath.Base(c.file)) || !strings.Contains(err.Message, "`terret trust`") {
				t.Errorf("it does not say what to do: %s", err.Message)
			}
		})
	}
}
