package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/internal/worktree"
)

// A commit holds exactly the files that are named, as they are in the folder: what else is
// staged or changed stays so, and nothing that the repository names runs.
func TestCommitFiles(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, `git config user.name Ada; git config user.email ada@example.org
		echo gone > gone; echo two > other; git add .; git commit -qm two
		mkdir -p hooks; for h in pre-commit commit-msg post-commit reference-transaction; do printf '#!/bin/sh\ntouch ran\nexit 1\n' > hooks/$h; done
		chmod +x hooks/*; git config core.hooksPath hooks; git config commit.gpgSign true; echo hooks > .git/info/exclude
		echo staged > other; git add other
		echo more >> sub/a.txt; echo new > sub/new.txt; echo left > sub/left.txt; rm gone`)
	commit, err := worktree.CommitFiles(t.Context(), r.dir, "Sell more\n\nBecause.\n", []string{"sub/a.txt", "sub/new.txt", "gone"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.sh(r.dir, "git log -1 --format='%H %an <%ae>%n%B' | sed '/^$/d'; git show --name-status --format="); got !=
		commit+" Ada <ada@example.org>\nSell more\nBecause.\nD\tgone\nM\tsub/a.txt\nA\tsub/new.txt" {
		t.Errorf("the commit is %s", got)
	}
	if got := r.sh(r.dir, "git status --porcelain"); got != "M  other\n?? sub/left.txt" {
		t.Errorf("what is left is %q", got)
	}
	if exists(filepath.Join(r.dir, "ran")) {
		t.Error("a hook ran")
	}
	// From a folder inside, with paths from there.
	r.sh(r.dir, "echo again >> sub/a.txt")
	if _, err := worktree.CommitFiles(t.Context(), filepath.Join(r.dir, "sub"), "again", []string{"a.txt"}); err != nil {
		t.Error(err)
	}
}

// A commit that has begun is made, although whoever asked for it has gone: one that was
// made, but counted as failed, would leave its new files staged for removal.
func TestCommitGoesOn(t *testing.T) {
	r := newRepository(t)
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	made, on := filepath.Join(bin, "made"), filepath.Join(bin, "on")
	for _, pipe := range []string{made, on} {
		r.sh(bin, "mkfifo "+pipe)
	}
	script := "#!/bin/sh\n" + program + " \"$@\" || exit\ncase \" $* \" in *' commit --quiet '*) echo >" + made + "; read line <" + on + ";; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r.sh(r.dir, "git config user.name Ada; git config user.email ada@example.org; echo new > new.txt")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(made)
		cancel()
		left <- errors.Join(err, os.WriteFile(on, []byte("go on\n"), 0o600))
	}()
	if _, err := worktree.CommitFiles(ctx, r.dir, "new", []string{"new.txt"}); err != nil {
		t.Error(err)
	}
	if got := r.sh(r.dir, program+" status --porcelain"); got != "" {
		t.Errorf("what is left is %q", got)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
}

func TestCommitFirst(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, "rm -rf .git; git init -q .; git config user.name Ada; git config user.email ada@example.org")
	if _, err := worktree.CommitFiles(t.Context(), r.dir, "first", []string{"sub/a.txt"}); err != nil {
		t.Error(err)
	}
	if got := r.sh(r.dir, "git show --name-only --format="); got != "sub/a.txt" {
		t.Errorf("it holds %q", got)
	}
}

// What cannot be committed is said, and changes nothing: not even what git knows of.
func TestCommitRefused(t *testing.T) {
	// The user's own configuration must not name anybody.
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", os.Getenv("HOME"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	who := "git config user.name Ada; git config user.email ada@example.org; "
	for name, c := range map[string]struct{ script, want string }{
		"nobody":        {"", "git config --global user.name"},
		"merge":         {who + "git rev-parse HEAD > .git/MERGE_HEAD", "a merge is in progress"},
		"rebase":        {who + "mkdir .git/rebase-merge", "a rebase is in progress"},
		"filter":        {who + "echo 'new filter=lfs' > .gitattributes", "filter lfs"},
		"locked":        {who + "touch .git/index.lock", "index.lock"},
		"locked branch": {who + "touch .git/refs/heads/main.lock", "git did not commit"},
		"no repository": {"rm -rf .git", "not in a git repository"},
		"nothing":       {who + "git add new; git commit -qm new", "git did not commit"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.sh(r.dir, "echo new > new; "+c.script)
			status := "git status --porcelain 2>&1 || true"
			before := r.sh(r.dir, status)
			_, err := worktree.CommitFiles(t.Context(), r.dir, "x", []string{"new"})
			if _, ok := errors.AsType[*worktree.RefusedError](err); !ok || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if d := cmp.Diff(before, r.sh(r.dir, status)); d != "" {
				t.Errorf("something changed: %s", d)
			}
		})
	}
}

// Line endings are stored as the user's own git stores them.
func TestCommitLineEndings(t *testing.T) {
	config := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = Ada\n\temail = ada@example.org\n[core]\n\tautocrlf = input\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	r := newRepository(t)
	r.sh(r.dir, `printf 'one\r\ntwo\r\n' > sub/a.txt`)
	if _, err := worktree.CommitFiles(t.Context(), r.dir, "x", []string{"sub/a.txt"}); err != nil {
		t.Fatal(err)
	}
	if got := r.sh(r.dir, "git cat-file blob HEAD:sub/a.txt | od -An -c | tr -d ' '; git status --porcelain"); got != `one\ntwo\n` {
		t.Errorf("it holds %s", got)
	}
}
