package forge_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/forge"
	"github.com/terret-dev/terret/internal/worktree"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "terret-forge-")
	if err != nil {
		panic(err)
	}
	// Git and gh read only what is here, also where they are asked what the person has set.
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GIT_CONFIG_NOSYSTEM": "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	config := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(home)
		os.Exit(code)
	}))
}

// project is a repository with a commit, a remote that a real git serves over HTTP, and
// another branch checked out.
type project struct {
	t      *testing.T
	folder forge.Folder
	bare   string
	server *httptest.Server
}

// newProject makes one. Around, if set, stands before git's own server.
func newProject(t *testing.T, around func(http.Handler) http.Handler) project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := project{t: t, bare: filepath.Join(base, "served", "ada", "shop.git")}
	p.folder = forge.Folder{Dir: filepath.Join(base, "shop"), Home: filepath.Join(base, "terret"), Env: os.Environ()}
	p.sh(base, "mkdir -p shop terret served/ada; git init -q --bare -b main served/ada/shop.git; git -C served/ada/shop.git config http.receivepack true")
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	var h http.Handler = &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Join(base, "served"), "GIT_HTTP_EXPORT_ALL=1"},
	}
	if around != nil {
		h = around(h)
	}
	p.server = httptest.NewServer(h)
	t.Cleanup(p.server.Close)
	p.in("git init -q; echo one > a.txt; git add .; git commit -qm one; git remote add origin " + p.server.URL + "/ada/shop.git; git push -q " + p.bare + " main; git update-ref refs/remotes/origin/main main; git switch -qc fix")
	return p
}

func (p project) sh(dir, script string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// in runs a script in the folder.
func (p project) in(script string) string {
	p.t.Helper()
	return p.sh(p.folder.Dir, script)
}

const change = "echo two > b.txt; git add .; git commit -qm two"

func isRefused(err error, why string) bool {
	refused, ok := errors.AsType[*worktree.RefusedError](err)
	return ok && strings.Contains(refused.Reason, why)
}

// TestPush pushes a branch to a real server, again, and after a rebase.
func TestPush(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.in(change)
	s, err := p.folder.Status(t.Context())
	if err != nil || s.Branch != "fix" || s.Upstream != nil || s.Base == nil || *s.Base != (forge.Distance{Branch: "origin/main", Ahead: 1}) || s.Remote != "origin" || s.Project != "ada/shop" {
		t.Fatalf("%+v %+v: %v", s, s.Base, err)
	}
	done, err := p.folder.Push(t.Context(), false)
	if err != nil || done.Branch != "fix" || !strings.HasSuffix(done.Link, "/ada/shop/compare/main...fix?expand=1") {
		t.Fatalf("%+v: %v", done, err)
	}
	if got := p.sh(p.bare, "git log --format=%s fix"); got != "two\none" {
		t.Errorf("the remote has %q", got)
	}
	if s, err = p.folder.Status(t.Context()); err != nil || s.Upstream == nil || *s.Upstream != (forge.Distance{Branch: "origin/fix"}) {
		t.Errorf("%+v: %v", s.Upstream, err)
	}
	p.in("git commit -q --amend -m better")
	if _, err := p.folder.Push(t.Context(), false); !isRefused(err, "replace what you pushed") {
		t.Errorf("pushed over it: %v", err)
	}
	if _, err := p.folder.Push(t.Context(), true); err != nil {
		t.Error(err)
	}
	// Somebody else has pushed since.
	p.sh(filepath.Dir(p.folder.Dir), "git clone -q "+p.bare+" other; cd other; git switch -q fix; echo x > x.txt; git add .; git commit -qm theirs; git push -q")
	p.in("git commit -q --amend -m best")
	if _, err := p.folder.Push(t.Context(), true); !isRefused(err, "somebody else has pushed") {
		t.Errorf("replaced what others did: %v", err)
	}
	if got := p.sh(p.bare, "git log -1 --format=%s fix"); got != "theirs" {
		t.Errorf("the remote has %q", got)
	}
}

// TestPushRefused says in plain words why nothing was pushed.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, why string }{
		"no commits":         {"git switch -q --orphan none", "no commit yet"},
		"detached head":      {change + "; git switch -q --detach", "no branch is checked out"},
		"rebase in progress": {change + "; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i HEAD~1", "a rebase is in progress"},
		"no remote":          {change + "; git remote remove origin", "no remote to push to"},
		"not there":          {change + "; git remote set-url origin $(git remote get-url origin | sed s/shop/gone/)", "does not have this repository"},
		"unreachable":        {change + "; git remote set-url origin http://127.0.0.1:1/ada/shop.git", "cannot be reached"},
		"a hook refuses":     {change + "; printf '#!/bin/sh\\necho not today >&2; exit 1' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push", "not today"},
		"an option":          {change + "; git update-ref refs/heads/--mirror HEAD; git symbolic-ref HEAD refs/heads/--mirror", "begins with a dash"},
		"a tag's name":       {change + "; git tag x; git symbolic-ref HEAD refs/tags/x", "no branch is checked out"},
		"an address":         {change + "; git config branch.fix.pushRemote http://127.0.0.1:1/other.git", "branch.fix.pushRemote = http://127.0.0.1:1/other.git"},
		"another program":    {change + "; git remote set-url origin 'ext::sh -c touch% pwned'", "nothing was pushed"},
		"a bare repository":  {"rm -rf ./* .git; git init -q --bare .", "is a bare repository"},
		"no repository":      {"rm -rf .git", "is not in a git repository"},
		"a deleted folder":   {"rm -rf \"$PWD\"", "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, nil)
			p.in(c.script)
			if _, err := p.folder.Push(t.Context(), false); !isRefused(err, c.why) {
				t.Errorf("%v, want %q", err, c.why)
			}
			if _, err := os.Stat(filepath.Join(p.folder.Dir, "pwned")); err == nil {
				t.Error("a program ran that the address of the remote names")
			}
		})
	}
}

// TestPushAtServer says what the server says, and asks nobody for a password.
func TestPushAtServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		why    string
	}{
		"asks for a password": {http.StatusUnauthorized, "asks who you are"},
		"forbids it":          {http.StatusForbidden, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("WWW-Authenticate", "Basic realm=shop")
					w.WriteHeader(c.status)
				})
			})
			p.in(change)
			if _, err := p.folder.Push(t.Context(), false); !isRefused(err, c.why) {
				t.Errorf("%v, want %q", err, c.why)
			}
		})
	}
	t.Run("a hook there refuses", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, nil)
		p.in(change)
		p.sh(p.bare, "printf '#!/bin/sh\\necho main is frozen; exit 1' > hooks/pre-receive; chmod +x hooks/pre-receive")
		if _, err := p.folder.Push(t.Context(), false); !isRefused(err, "main is frozen") {
			t.Error(err)
		}
	})
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{}, 10)
		p := newProject(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
			})
		})
		p.in(change)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() {
			<-asked
			cancel(enough)
		}()
		if _, err := p.folder.Push(ctx, false); !errors.Is(err, enough) {
			t.Error(err)
		}
	})
}

// TestCommit commits exactly what is named, with the hooks, and leaves everything as it was if
// a hook refuses.
func TestCommit(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.in(`printf '#!/bin/sh\nif grep -q bad "$1"; then echo no bad words >&2; exit 1; fi\necho "Checked: yes" >> "$1"' > .git/hooks/commit-msg; chmod +x .git/hooks/commit-msg
echo mine > new.txt; echo 'glob*' > 'glob*'; echo globbed > globbed; echo staged > staged.txt; git add staged.txt; echo more >> a.txt`)
	before := p.in("git status --porcelain")
	if _, err := p.folder.Commit(t.Context(), "a bad one", []string{"new.txt", "a.txt"}); !isRefused(err, "no bad words") {
		t.Error(err)
	}
	if after := p.in("git status --porcelain"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	id, err := p.folder.Commit(t.Context(), "Add things", []string{"new.txt", "a.txt", "glob*"})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.in("git show --format=%B --name-only " + id); got != "Add things\nChecked: yes\n\n\na.txt\nglob*\nnew.txt" {
		t.Errorf("committed %q", got)
	}
	if got := p.in("git status --porcelain"); got != "A  staged.txt\n?? globbed" {
		t.Errorf("left %q", got)
	}
	p.in("touch .git/index.lock")
	if _, err := p.folder.Commit(t.Context(), "more", []string{"globbed"}); !isRefused(err, "index.lock") {
		t.Error(err)
	}
}

// TestStatusOfWorktree compares a worktree with the branch that it began at, and says if
// somebody has deleted it.
func TestStatusOfWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	cwd, err := worktree.Add(t.Context(), p.folder.Home, "one", p.folder.Dir, "Add a cart")
	if err != nil {
		t.Fatal(err)
	}
	p.sh(cwd, change)
	p.in("echo since > since.txt; git add .; git commit -qm since")
	tree := forge.Folder{Dir: cwd, Home: p.folder.Home, Env: p.folder.Env}
	s, err := tree.Status(t.Context())
	if err != nil || !s.Worktree || s.Branch != "add-a-cart" || s.Base == nil || *s.Base != (forge.Distance{Branch: "fix", Ahead: 1, Behind: 1}) || s.Origin != p.folder.Dir {
		t.Errorf("%+v %+v: %v", s, s.Base, err)
	}
	if err := os.RemoveAll(cwd); err != nil {
		t.Fatal(err)
	}
	if s, err = tree.Status(t.Context()); err != nil || !strings.Contains(s.Problem, "somebody has deleted it") {
		t.Errorf("%+v: %v", s, err)
	}
}
