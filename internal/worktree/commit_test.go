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

// commit commits files as they are now.
func (r repository) commit(ctx context.Context, dir, message string, paths ...string) (string, error) {
	r.t.Helper()
	return worktree.CommitFiles(ctx, dir, message, r.head(), r.seen(dir, paths...))
}

// head is the commit that is checked out, if there is one.
func (r repository) head() string {
	r.t.Helper()
	return r.sh(r.dir, "git rev-parse --quiet --verify HEAD 2>/dev/null || true")
}

// seen looks at files.
func (r repository) seen(dir string, paths ...string) (out []worktree.Seen) {
	r.t.Helper()
	for _, p := range paths {
		s := worktree.Seen{Path: p}
		switch info, err := os.Lstat(filepath.Join(dir, p)); {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			s.Mode, s.ID = "120000", r.sh(dir, "printf %s \"$(readlink "+p+")\" | git hash-object --stdin")
		case info.Mode()&0o100 != 0:
			s.Mode, s.ID = "100755", r.sh(dir, "git hash-object --no-filters "+p)
		default:
			s.Mode, s.ID = "100644", r.sh(dir, "git hash-object --no-filters "+p)
		}
		out = append(out, s)
	}
	return out
}

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
	commit, err := r.commit(t.Context(), r.dir, "Sell more\n\nBecause.\n", "sub/a.txt", "sub/new.txt", "gone")
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
	if _, err := r.commit(t.Context(), filepath.Join(r.dir, "sub"), "again", "a.txt"); err != nil {
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
	script := "#!/bin/sh\n" + program + " \"$@\" || exit\ncase \" $* \" in *' update-ref '*) echo >" + made + "; read line <" + on + ";; esac\n"
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
	if _, err := r.commit(ctx, r.dir, "new", "new.txt"); err != nil {
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
	if _, err := r.commit(t.Context(), r.dir, "first", "sub/a.txt"); err != nil {
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
			_, err := r.commit(t.Context(), r.dir, "x", "new")
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
	if _, err := r.commit(t.Context(), r.dir, "x", "sub/a.txt"); err != nil {
		t.Fatal(err)
	}
	if got := r.sh(r.dir, "git cat-file blob HEAD:sub/a.txt | od -An -c | tr -d ' '; git status --porcelain"); got != `one\ntwo\n` {
		t.Errorf("it holds %s", got)
	}
}

// What is no longer as it was seen is refused, and nothing is committed.
func TestCommitChanged(t *testing.T) {
	t.Parallel()
	const more, changed, moved = "echo more >> sub/a.txt", "sub/a.txt has changed", "another commit is checked out"
	for name, c := range map[string]struct{ before, between, want string }{
		"content":        {more, "echo again >> sub/a.txt", changed},
		"line endings":   {`git config core.autocrlf input; printf 'one\r\nmore\r\n' > sub/a.txt`, `printf 'one\r\nother\r\n' > sub/a.txt`, changed},
		"mode":           {more, "chmod +x sub/a.txt", changed},
		"gone":           {more, "rm sub/a.txt", changed},
		"a folder":       {more, "rm sub/a.txt; mkdir sub/a.txt; echo x > sub/a.txt/x", "sub/a.txt"},
		"back":           {"rm sub/a.txt", "echo back > sub/a.txt", changed},
		"another commit": {more, "git commit -q --allow-empty -m other", moved},
		"no commit":      {more, "git update-ref -d HEAD", moved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.sh(r.dir, "git config user.name Ada; git config user.email ada@example.org; "+c.before)
			head, seen := r.head(), r.seen(r.dir, "sub/a.txt")
			r.sh(r.dir, c.between)
			const state = "git rev-parse HEAD 2>&1 || true; git status --porcelain; git ls-files -s"
			before := r.sh(r.dir, state)
			commit, err := worktree.CommitFiles(t.Context(), r.dir, "x", head, seen)
			if _, ok := errors.AsType[*worktree.RefusedError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("commit %q, error %v", commit, err)
			}
			if d := cmp.Diff(before, r.sh(r.dir, state)); d != "" {
				t.Errorf("something changed: %s", d)
			}
		})
	}
}

// Files become folders, links and programs, and the other way round.
func TestCommitKinds(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, `git config user.name Ada; git config user.email ada@example.org
		echo 1 > file; mkdir folder moved; echo 2 > folder/x; echo 3 > moved/y; git add .; git commit -qm two
		rm file; mkdir file; echo 4 > file/in; rm -r folder; echo 5 > folder; chmod +x folder
		mv moved elsewhere; ln -s elsewhere moved`)
	files := r.seen(r.dir, "file/in", "folder", "moved", "elsewhere/y")
	for _, gone := range []string{"file", "folder/x", "moved/y"} {
		files = append(files, worktree.Seen{Path: gone})
	}
	if _, err := worktree.CommitFiles(t.Context(), r.dir, "kinds", r.head(), files); err != nil {
		t.Fatal(err)
	}
	if got := r.sh(r.dir, "git status --porcelain; git ls-tree -r --format='%(objectmode) %(path)' HEAD"); got !=
		"100644 .gitignore\n100644 elsewhere/y\n100644 file/in\n100755 folder\n120000 moved\n100644 sub/a.txt" {
		t.Errorf("it holds %s", got)
	}
}
