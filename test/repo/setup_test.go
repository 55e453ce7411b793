package repo_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSetup is scripts/setup.sh for somebody who may install nothing: it says what is
// missing and how to get it, and its code tells whether the tests can do without.
func TestSetup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no bubblewrap for this system")
	}
	script, err := filepath.Abs("scripts/setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	variants := []string{"dash", "zsh", "bwrap", "gh", "rg", "systemd-analyze"}
	for _, c := range []struct {
		has  []string
		code int
		says []string
	}{
		{nil, 1, []string{"curl", "dash", "zsh", "bubblewrap", "ripgrep", "setup: run: sudo apt-get install --no-install-recommends curl ca-certificates dash"}},
		{[]string{"curl"}, 3, []string{"dash", "zsh", "bubblewrap", "ripgrep", "setup: run: sudo apt-get install --no-install-recommends dash zsh bubblewrap gh ripgrep systemd"}},
		{append([]string{"curl"}, variants...), 0, nil},
	} {
		bin := t.TempDir()
		for _, name := range []string{"dirname", "uname", "grep"} {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range append([]string{"id", "apt-get"}, c.has...) {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho 1000\n"), 0o700); err != nil { // a program
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", script, "curl", "variants")
		cmd.Env = []string{"PATH=" + bin}
		said, err := cmd.CombinedOutput()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		if code != c.code || (len(said) == 0) != (c.says == nil) {
			t.Errorf("with %s: code %d, want %d: %s", c.has, code, c.code, said)
		}
		for _, words := range c.says {
			if !strings.Contains(string(said), words) {
				t.Errorf("with %s: no %q in %s", c.has, words, said)
			}
		}
	}
}
