package httpapi_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/workfiles"
)

// git runs a script in the fixture's folder.
func (f *fixture) git(script string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "sh", "-ec", script)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "HOME="+f.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func inTree(b map[string]any) { b["worktree"] = true }

// TestWorktree holds that a session can work in a worktree of its own, which is
// outside the roots, and that it can be looked at there.
func TestWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Text: "ok"}))
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "worktree": true}).problem(422, terret.CodeInvalidRequest, "worktree")
	f.git("git init -q -b main . && echo one > a.txt && git add . && git commit -qm one")
	s := f.session(inTree)
	if !strings.HasPrefix(s.Cwd, filepath.Join(f.home, "worktrees")) || !s.Options.Worktree {
		t.Fatalf("session %+v", s)
	}
	f.prompt(s.ID, "go")
	f.wait(s.ID, "turn.complete")
	var list struct{ Items []struct{ Name string } }
	f.do("GET", "/v1/files?session="+s.ID, nil).want(200, &list)
	if len(list.Items) != 1 || list.Items[0].Name != "a.txt" {
		t.Errorf("files %+v", list)
	}
	f.do("GET", "/v1/personas?cwd="+url.QueryEscape(s.Cwd), nil).want(200, nil)
	f.do("DELETE", "/v1/sessions/"+s.ID, nil).want(204, nil)
	if _, err := os.Stat(s.Cwd); err == nil {
		t.Error("the worktree is still there")
	}

	changed := f.session(inTree)
	if err := os.WriteFile(filepath.Join(changed.Cwd, "b.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var left struct{ Worktree, Kept string }
	f.do("DELETE", "/v1/sessions/"+changed.ID, nil).want(200, &left)
	if left.Worktree != changed.Cwd || !strings.Contains(left.Kept, "uncommitted") {
		t.Errorf("%+v", left)
	}
	f.do("GET", "/v1/sessions/"+changed.ID, nil).problem(404, terret.CodeSessionNotFound, "")

	// The other folders of Terret stay closed, and so are worktrees of folders that
	// this server may not open.
	for _, dir := range []string{f.home, filepath.Join(f.home, "worktrees"), filepath.Dir(changed.Cwd)} {
		f.do("POST", "/v1/sessions", map[string]any{"cwd": dir}).problem(403, terret.CodeForbidden, "cwd")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(changed.Cwd), "origin"), []byte("/elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/v1/sessions", map[string]any{"cwd": changed.Cwd}).problem(403, terret.CodeForbidden, "cwd")
	if err := os.Remove(filepath.Join(filepath.Dir(changed.Cwd), "origin")); err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/v1/sessions", map[string]any{"cwd": changed.Cwd}).problem(403, terret.CodeForbidden, "cwd")
}

// A link in a worktree does not lead out of it.
func TestWorktreeLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("git init -q -b main . && ln -s / out && git add . && git commit -qm one")
	s := f.session(inTree)
	roots, err := workfiles.NewRoots([]string{f.root}, f.home)
	if err != nil {
		t.Fatal(err)
	}
	if real, err := roots.Resolve(s.Cwd); err != nil || real != s.Cwd {
		t.Errorf("%s, %v", real, err)
	}
	if real, err := roots.Resolve(filepath.Join(s.Cwd, "out")); terret.AsError(err).Code != terret.CodeForbidden {
		t.Errorf("%s, %v", real, err)
	}
}

// TestCommit commits what a person chose of the changes, and says why it does not.
func TestCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Text: "hm"}, mock.Step{Hang: true}))
	s := f.session()
	at := "/v1/sessions/" + s.ID + "/commit"
	file := func(path, state string) map[string]any {
		return map[string]any{"message": " Sell more ", "files": []any{map[string]any{"path": path, "state": state}}}
	}
	f.do("POST", at, file("a.txt", "x")).problem(501, terret.CodeUnsupported, "")
	f.git("git init -q -b main . && echo one > a.txt && git add . && git commit -qm one && git config user.name Ada && git config user.email ada@example.org && echo two > a.txt && echo b > b.txt")
	var c workfiles.Changes
	f.do("GET", "/v1/sessions/"+s.ID+"/changes", nil).want(200, &c)
	if len(c.Items) != 2 || c.Items[0].Path != "a.txt" {
		t.Fatalf("changes %+v", c)
	}
	f.do("POST", at, map[string]any{"message": " \n", "files": []any{map[string]any{"path": "a.txt", "state": "x"}}}).problem(422, terret.CodeInvalidRequest, "message")
	f.do("POST", at, file("a.txt", c.Items[1].State)).problem(409, terret.CodeConflict, "")
	f.do("POST", at, file("../a.txt", c.Items[0].State)).problem(409, terret.CodeConflict, "")
	f.git("git rev-parse HEAD > .git/MERGE_HEAD")
	f.do("POST", at, file("a.txt", c.Items[0].State)).problem(409, terret.CodeConflict, "")
	f.git("rm .git/MERGE_HEAD")
	var done struct {
		Commit string
		Files  int
	}
	f.do("POST", at, file("a.txt", c.Items[0].State)).want(200, &done)
	f.git(`test "$(git log -1 --format='%H %an %s')" = "` + done.Commit + ` Ada Sell more" && test "$(git status --porcelain)" = "?? b.txt"`)
	f.prompt(s.ID, "go")
	f.wait(s.ID, terret.KindMessageComplete)
	f.do("POST", at, file("b.txt", c.Items[1].State)).problem(409, terret.CodeSessionBusy, "")
}

// A file that changes between the look at it and the commit is not committed: not even
// the part of it that somebody has seen.
func TestCommitChangedMeanwhile(t *testing.T) {
	f := newFixture(t, script())
	s := f.session()
	f.git("git init -q -b main . && echo one > a.txt && git add . && git commit -qm one && git config user.name Ada && git config user.email ada@example.org && echo two > a.txt")
	var c workfiles.Changes
	f.do("GET", "/v1/sessions/"+s.ID+"/changes", nil).want(200, &c)
	meddle(t, "check-attr", "echo unseen > a.txt") // which runs when the states have been compared
	f.do("POST", "/v1/sessions/"+s.ID+"/commit", map[string]any{"message": "x", "files": []any{map[string]any{"path": "a.txt", "state": c.Items[0].State}}}).
		problem(409, terret.CodeConflict, "")
	f.git(`test "$(git log --format=%s)" = one && test "$(git status --porcelain)" = " M a.txt"`)
}

// meddle has a command of git's run a script first, in the folder it runs in.
func meddle(t *testing.T, command, script string) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	text := "#!/bin/sh\ncase \" $* \" in *' " + command + " '*) " + script + ";; esac\nexec " + program + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
