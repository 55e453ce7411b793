package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret/internal/worktree"
)

// A Remove that was killed after it had moved the folder out of the way is finished by the
// next one, unless the branch has commits of its own.
func TestRemoveFinished(t *testing.T) {
	t.Parallel()
	for script, left := range map[string]string{"true": "", "echo x > sub/a.txt; git commit -qam two": "terret/one"} {
		r := newRepository(t)
		cwd := r.add("one", r.dir)
		r.sh(cwd, script)
		base := filepath.Dir(cwd)
		if err := os.Rename(cwd, cwd+".gone"); err != nil {
			t.Fatal(err)
		}
		if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept != "" || err != nil || exists(base) {
			t.Errorf("%s: kept %q, %v; the folder is there: %v", script, kept, err, exists(base))
		}
		if got := r.sh(r.dir, "git branch --list --format='%(refname:short)' 'terret/*'"); got != left {
			t.Errorf("%s: the branches are %q, want %q", script, got, left)
		}
	}
}

// A git that fails cuts Remove off. Whatever the repository is called, its folder is gone
// at once, and the next Remove does the rest.
func TestRemoveCutOff(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	usual := os.Getenv("PATH")
	failing := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *'worktree remove'*) exit 9;; esac\nexec '" + git + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(failing, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "gone", "x.gone", "origin"} {
		r := newRepository(t)
		dir := filepath.Join(filepath.Dir(r.dir), name)
		if err := os.Rename(r.dir, dir); err != nil {
			t.Fatal(err)
		}
		cwd := r.add("one", dir)
		t.Setenv("PATH", failing+string(os.PathListSeparator)+usual)
		if _, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); err == nil || exists(cwd) {
			t.Errorf("%s: cut off with %v; the folder is there: %v", name, err, exists(cwd))
		}
		t.Setenv("PATH", usual)
		if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept != "" || err != nil || exists(filepath.Dir(cwd)) {
			t.Errorf("%s: kept %q, %v; the folder is there: %v", name, kept, err, exists(filepath.Dir(cwd)))
		}
		if got := r.sh(dir, "git branch --list 'terret/*'; git worktree list --porcelain | grep -c ^worktree"); got != "1" {
			t.Errorf("%s: the repository still has %q", name, got)
		}
	}
}
