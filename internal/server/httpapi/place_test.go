package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// servedRepository serves a git repository over HTTP and returns its address.
func servedRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "work"},
		{"-C", "work", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
		{"clone", "-q", "--bare", "work", "tool.git"},
		{"-C", "tool.git", "update-server-info"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	hs := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(hs.Close)
	return hs.URL + "/tool.git"
}

// TestRepo begins a session from a repository on a single machine.
func TestRepo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	repo := servedRepository(t)
	var s terret.Session
	f.do("POST", "/v1/sessions", map[string]any{"repo": repo}).want(201, &s)
	if filepath.Dir(s.Cwd) != f.root || !strings.HasPrefix(filepath.Base(s.Cwd), "tool-") {
		t.Errorf("it works in %s", s.Cwd)
	}
	if _, err := os.Stat(filepath.Join(s.Cwd, ".git", "HEAD")); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"/etc", "file:///etc", "ext::sh -c id", "-u x", "--upload-pack=x", "https://me:secret@host/x", "https://-x/y", "x"} {
		p := f.do("POST", "/v1/sessions", map[string]any{"repo": wrong}).problem(422, terret.CodeInvalidRequest, "repo")
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("%s: %s", wrong, p.Detail)
		}
	}
	f.do("POST", "/v1/sessions", map[string]any{"repo": strings.Replace(repo, "tool", "none", 1)}).problem(422, terret.CodeInvalidRequest, "repo")
	f.do("POST", "/v1/sessions", map[string]any{"repo": repo, "cwd": f.dir}).problem(422, terret.CodeInvalidRequest, "cwd")
	f.do("POST", "/v1/sessions", map[string]any{}).problem(422, terret.CodeInvalidRequest, "cwd")
	f.do("POST", "/v1/sessions", map[string]any{"repo": repo, "agent": "nobody"}).problem(503, terret.CodeAgentNotFound, "")
	entries, err := os.ReadDir(f.root)
	if err != nil || len(entries) != 1 {
		t.Errorf("failed clones are left: %v, %v", entries, err)
	}
	secret, _, err := f.tokens.Create(t.Context(), access.Spec{Name: "program", Scope: access.Prompt})
	if err != nil {
		t.Fatal(err)
	}
	f.token = secret
	f.do("POST", "/v1/sessions", map[string]any{"repo": repo}).problem(403, terret.CodeForbidden, "")
}

// TestPlacement begins sessions from a repository in a fleet: they go to the node with
// the fewest, by labels and limits.
func TestPlacement(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}))
	newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{Labels: []string{"gpu", "eu"}, Max: 2}))
	repo := servedRepository(t)
	var got []string
	for _, labels := range [][]string{nil, nil, {"gpu"}, nil} {
		var s terret.Session
		a.do("POST", "/v1/sessions", map[string]any{"repo": repo, "labels": labels}).want(201, &s)
		got = append(got, s.Node)
	}
	if want := "a b b a"; strings.Join(got, " ") != want {
		t.Errorf("they went to %v, not %s", got, want)
	}
	a.do("POST", "/v1/sessions", map[string]any{"repo": repo, "labels": []string{"eu"}}).problem(409, terret.CodeConflict, "")
	a.do("POST", "/v1/sessions", map[string]any{"repo": strings.Replace(repo, "tool", "none", 1), "labels": []string{}}).problem(422, terret.CodeInvalidRequest, "repo")
}

// TestRepoDeleted deletes sessions that were begun from a repository: their clones go with
// them, unless something would be lost.
func TestRepoDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	repo := servedRepository(t)
	begin := func(script string) terret.Session {
		t.Helper()
		var s terret.Session
		f.do("POST", "/v1/sessions", map[string]any{"repo": repo}).want(201, &s)
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir, cmd.Env = s.Cwd, append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return s
	}
	gone := func(s terret.Session) bool {
		_, err := os.Stat(s.Cwd)
		return os.IsNotExist(err)
	}
	kept := func(s terret.Session, why string) {
		t.Helper()
		var d assemble.Deleted
		f.do("DELETE", "/v1/sessions/"+s.ID, nil).want(200, &d)
		if d.Worktree != s.Cwd || !strings.Contains(d.Kept, why) || gone(s) {
			t.Errorf("%+v, want %q", d, why)
		}
	}
	clean := begin("true")
	f.do("DELETE", "/v1/sessions/"+clean.ID, nil).want(204, nil)
	if !gone(clean) {
		t.Error("the clone is still there")
	}
	kept(begin("echo more >>file"), "uncommitted")
	kept(begin("git commit -q --allow-empty -m more"), "not pushed")
	kept(begin("git checkout -q -b side && git commit -q --allow-empty -m more && git checkout -q -"), "not pushed")
	kept(begin("git commit -q --allow-empty -m more && git tag here && git reset -q --hard HEAD^"), "not pushed")
	kept(begin("echo more >file && git add file && git stash -q"), "not pushed")

	shared := begin("mkdir below")
	var other terret.Session
	f.do("POST", "/v1/sessions", map[string]any{"cwd": filepath.Join(shared.Cwd, "below")}).want(201, &other)
	kept(shared, other.ID+" works in it too")
	f.do("DELETE", "/v1/sessions/"+other.ID, nil).want(204, nil)
	if gone(shared) {
		t.Error("the folder above a session's is gone")
	}

	moved := begin("true")
	if err := os.RemoveAll(moved.Cwd); err != nil {
		t.Fatal(err)
	}
	f.do("DELETE", "/v1/sessions/"+moved.ID, nil).want(204, nil)
}
