package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plant makes the folder a repository that runs a program at every chance that
// git gives it. The program leaves a canary.
func plant(f *folder, sub string) (canary string) {
	f.t.Helper()
	canary = filepath.Join(f.t.TempDir(), "canary")
	evil := filepath.Join(f.t.TempDir(), "evil")
	script := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\ncat\n", canary)
	if err := os.WriteFile(evil, []byte(script), 0o755); err != nil {
		f.t.Fatal(err)
	}
	f.sh(fmt.Sprintf(`mkdir -p %[1]q; cd %[1]q; git init -q .; echo 1 > tracked; git add tracked; git commit -qm 1
		for h in pre-commit post-index-change post-checkout reference-transaction pre-auto-gc fsmonitor-watchman; do cp %[2]s .git/hooks/$h; done
		git config core.fsmonitor %[2]s; git config core.hooksPath .git/hooks; git config core.pager %[2]s
		git config core.editor %[2]s; git config core.askPass %[2]s; git config core.sshCommand %[2]s
		git config core.alternateRefsCommand %[2]s; git config credential.helper %[2]s; git config diff.external %[2]s
		for k in clean smudge process; do git config filter.evil.$k %[2]s; done; git config filter.evil.required true
		for k in textconv command; do git config diff.evil.$k %[2]s; done; git config merge.evil.driver %[2]s
		git config alias.ls-files '!%[2]s'; git config core.worktree /; git config core.bare true
		git config core.excludesFile %[2]s; git config core.attributesFile %[2]s
		printf '* filter=evil diff=evil merge=evil ident text eol=crlf working-tree-encoding=UTF-16\n' > .gitattributes
		cp .gitattributes .git/info/attributes`, sub, evil))
	return canary
}

// exercise takes a folder through a turn, undo and redo.
func exercise(f *folder, p string) {
	f.t.Helper()
	f.write(p+"text", "one\r\ntwo\n")
	before := f.snapshot()
	f.write(p+"text", "one\n2\r\n")
	f.write(p+"new", "new")
	f.remove(p + "tracked")
	after := f.snapshot()
	if c := f.changes(before, after); len(c) != 3 {
		f.t.Errorf("changes: %v", c)
	}
	if _, err := f.Diff(f.t.Context(), before.ID, after.ID); err != nil {
		f.t.Error(err)
	}
	f.restore(after, before)
	f.restore(before, after)
	f.restore(after, before)
	if got := f.read(p + "text"); got != "one\r\ntwo\n" {
		f.t.Errorf("text is %q after undo", got)
	}
}

// Nothing that a hostile repository configures runs, and its .git is untouched.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{".", "nested", "nested/deep er"} {
		t.Run(sub, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			canary := plant(f, sub)
			git := filepath.Join(f.path(sub), ".git")
			os.Remove(canary) // planting may have set it off
			repo := contents(t, git)
			prefix := sub + "/"
			if sub == "." {
				prefix = ""
			}
			exercise(f, prefix)
			if ran, err := os.ReadFile(canary); err == nil {
				t.Errorf("the repository ran: %s", ran)
			}
			wantState(t, "the repository", repo, contents(t, git))

			// The canary sings for those who trust the repository.
			f.sh(fmt.Sprintf("cd %q; git config --unset core.bare; git config --unset core.worktree; git add . 2>&1 || true", sub))
			if !exists(canary) {
				t.Error("the trap does not work, so this test proves nothing")
			}
		})
	}
}

// Nothing of the user's environment and configuration reaches git. Not
// parallel: it changes the environment.
func TestHostileEnvironment(t *testing.T) {
	f := newFolder(t)
	canary := plant(f, ".")
	os.Remove(canary)
	home := t.TempDir()
	evil := t.TempDir() + "/evil"
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho $0 >> "+canary+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	global := fmt.Sprintf("[core]\n\tfsmonitor = %s\n\tautocrlf = true\n\texcludesFile = %s/ignore\n[diff]\n\texternal = %s\n", evil, home, evil)
	for name, content := range map[string]string{".gitconfig": global, "ignore": "*\n", "git/ignore": "*\n", "git/attributes": "* text\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wrong := t.TempDir()
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": home + "/.gitconfig",
		"GIT_DIR": wrong, "GIT_WORK_TREE": wrong, "GIT_INDEX_FILE": wrong + "/index", "GIT_OBJECT_DIRECTORY": wrong,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": wrong, "GIT_EXTERNAL_DIFF": evil, "GIT_PAGER": evil, "GIT_TRACE": wrong + "/trace",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": evil,
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor=" + evil + "'", "GIT_GLOB_PATHSPECS": "1", "GIT_DEFAULT_HASH": "sha256",
		"GIT_TEMPLATE_DIR": wrong, "GIT_EXEC_PATH": wrong, "GIT_NAMESPACE": "x", "GIT_CEILING_DIRECTORIES": f.dir,
	} {
		t.Setenv(k, v)
	}
	exercise(f, "")
	if ran, err := os.ReadFile(canary); err == nil {
		t.Errorf("the environment ran: %s", ran)
	}
	if entries, err := os.ReadDir(wrong); err != nil || len(entries) > 0 {
		t.Errorf("git wrote where the environment pointed: %v, %v", entries, err)
	}
}

// The user's index, HEAD, refs, stash, objects and ignored files stay as they
// are, down to the times of the files.
func TestUserRepositoryUntouched(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.sh(`git init -q .; echo '*.log' > .gitignore; echo 1 > a; echo 1 > b; git add .; git commit -qm 1
		echo stashed > a; git stash -q; git tag v1; git branch other; git gc -q
		echo staged > b; git add b; echo 2 > c; git add c; echo worktree > b; echo loose > d; echo x > x.log`)
	repo := contents(t, f.path(".git"))
	before := f.snapshot()
	f.write("a", "2")
	f.remove("b")
	f.write("new", "2")
	f.write("x.log", "ignored, changed")
	f.write("y.log", "ignored, new")
	after := f.snapshot()
	res := f.restore(after, before)
	if len(res.Restored) != 3 || f.read("b") != "worktree\n" {
		t.Errorf("undo: %+v", res)
	}
	if f.read("x.log") != "ignored, changed" || f.read("y.log") != "ignored, new" {
		t.Error("undo touched ignored files")
	}
	wantState(t, "the repository", repo, contents(t, f.path(".git")))
}

// A symbolic link that appears in the way is never written through.
func TestSymlinkEscape(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, link string // link is made to point outside, in place of what is there
	}{
		{"parent", "d"},
		{"grandparent", "top"},
		{"file", "d/changed"},
		{"file that undo brings back", "d/gone"},
		{"parent that undo brings back", "lost"},
	}
	for _, tt := range tests {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, force %v", tt.name, force), func(t *testing.T) {
				t.Parallel()
				f := newFolder(t)
				outside := t.TempDir()
				for _, p := range []string{"changed", "gone", "d/changed"} {
					if err := os.MkdirAll(filepath.Dir(filepath.Join(outside, p)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(outside, p), []byte("2"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				for _, p := range []string{"d/changed", "d/gone", "top/d/changed", "lost/gone"} {
					f.write(p, "1")
				}
				before := f.snapshot()
				f.write("d/changed", "2")
				f.remove("d/gone")
				f.write("d/new", "2")
				f.write("top/d/changed", "2")
				f.remove("lost")
				after := f.snapshot()
				wantOutside := contents(t, outside)
				f.remove(tt.link)
				f.symlink(outside, tt.link)

				_, err := f.Restore(t.Context(), after.ID, before.ID, RestoreOptions{Force: force})
				if _, conflict := errors.AsType[*ConflictError](err); conflict == force {
					t.Errorf("force %v: %v", force, err)
				}
				wantState(t, "outside", wantOutside, contents(t, outside))
				if force && (f.read("d/changed") != "1" || f.read("d/gone") != "1" || f.read("lost/gone") != "1" || exists(f.path("d/new"))) {
					t.Errorf("forced undo: %v", contents(t, f.dir))
				}
			})
		}
	}
}

// A tree with paths into .git, which git itself would not write, is not
// restored there.
func TestRefusesGitPaths(t *testing.T) {
	t.Parallel()
	for _, p := range []string{".git/config", "a/.git/hooks/x", ".GIT/config", "a/.Git", "git~1/config", ".git /x", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x", "../x", "/abs", "a/../x", "a//b", ""} {
		if safePath(p) {
			t.Errorf("safePath(%q) = true", p)
		}
	}
	for _, p := range []string{"a", ".gitignore", "a/.github/x", "x.git/config", "git", "-x", ":x", "..a/b", "git~2"} {
		if !safePath(p) {
			t.Errorf("safePath(%q) = false", p)
		}
	}
	f := newFolder(t)
	f.sh(`git init -q .; mkdir -p sub/.GIT; echo x > sub/.GIT/config; ln -s x .gitmodules; mkfifo pipe; echo ok > ok`)
	s := f.snapshot()
	var left []string
	for _, l := range s.LeftOut {
		left = append(left, l.Path)
	}
	if got := strings.Join(left, " "); got != ".gitmodules sub/.GIT/config" {
		t.Errorf("left out: %s", got)
	}
}

// Not parallel: it changes the environment.
func TestGitMissingOrOld(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	fake := func(content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n"+content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		_, err := Open(t.Context(), t.TempDir(), t.TempDir(), Limits{})
		off, ok := errors.AsType[*DisabledError](err)
		if !ok || !strings.Contains(off.Reason, want) || !strings.Contains(off.Reason, "install git") {
			t.Errorf("got %v, want a reason with %q", err, want)
		}
	}
	check("git is not installed")
	fake("echo git version 2.31.9")
	check("git 2.31 is too old")
	fake("echo hello")
	check("not a git version")
	fake("exit 3")
	check("git does not run")
	fake("echo git version 2.32.0 '(Apple Git-132)'")
	if _, err := Open(t.Context(), t.TempDir(), t.TempDir(), Limits{}); err != nil {
		t.Error(err)
	}
	if _, err := exec.LookPath("sh"); err == nil {
		t.Error("PATH was not replaced")
	}
}
