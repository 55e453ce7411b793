package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/internal/workfiles"
)

// TestBranch takes a task from its own branch to the remote and into its base, in a folder
// that a person trusts.
func TestBranch(t *testing.T) {
	t.Parallel()
	var trusted *trust.Store
	f := newFixture(t, script(mock.Step{Text: "Added a cart."}), func(c *httpapi.Config, _ *engine.Config) {
		trusted = trust.Open(c.Home)
		c.Trust = trusted
	})
	f.git(`git init -q -b main . && git config user.name Ada && git config user.email ada@example.org && echo one > a.txt && echo K=1 > .env && echo .env > .gitignore && git add . && git commit -qm one
git init -q --bare ../remote.git && git remote add origin "$(cd ../remote.git && pwd)" && git push -q origin main`)
	s := f.session(inTree, func(b map[string]any) { b["branch"] = "Add a cart\nplease" })
	at := "/v1/sessions/" + s.ID
	var b client.Branch
	f.do("GET", at+"/branch", nil).want(200, &b)
	if b.Branch != "add-a-cart" || !b.Worktree || b.Origin != f.dir || b.Base == nil || b.Base.Branch != "main" || b.Remote != "origin" {
		t.Errorf("%+v", b)
	}
	f.prompt(s.ID, "Add a cart")
	f.wait(s.ID, terret.KindTurnComplete)
	f.do("GET", at+"/branch", nil).want(200, &b)
	if b.Draft.Title != "Add a cart" || !strings.Contains(b.Draft.Text, "> Add a cart") || !strings.Contains(b.Draft.Text, "Added a cart.") {
		t.Errorf("draft %+v", b.Draft)
	}
	if err := os.WriteFile(filepath.Join(s.Cwd, "cart.txt"), []byte("cart"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do("POST", at+"/worktree/merge", nil).problem(409, terret.CodeConflict, "")
	var c workfiles.Changes
	f.do("GET", at+"/changes", nil).want(200, &c)
	commit := map[string]any{"message": "Add a cart", "hooks": true, "files": []any{map[string]any{"path": c.Items[0].Path, "state": c.Items[0].State}}}
	// .env makes it a folder that needs trust, which a copy of it takes from its origin.
	if err := os.WriteFile(filepath.Join(s.Cwd, ".env"), []byte("K=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]any{"/commit": commit, "/push": nil, "/pull-request": map[string]any{"title": "x"}} {
		f.do("POST", at+path, body).problem(403, terret.CodeForbidden, "")
	}
	f.git(`printf '#!/bin/sh\necho Checked: yes >> "$1"' > .git/hooks/commit-msg && chmod +x .git/hooks/commit-msg`)
	_, state, err := trusted.Check(s.Cwd)
	if err == nil {
		err = trusted.Decide(s.Cwd, state.Hash, true, "ada")
	}
	if err != nil {
		t.Fatal(err)
	}
	f.do("POST", at+"/commit", commit).want(200, nil)
	f.do("POST", at+"/push", nil).want(200, nil)
	f.git(`test "$(git -C ../remote.git log -1 --format=%B add-a-cart)" = "Add a cart
Checked: yes"`)
	f.do("POST", at+"/pull-request", map[string]any{"title": "x"}).problem(409, terret.CodeConflict, "") // it is no forge
	f.do("POST", at+"/pull-request", map[string]any{"title": "x", "base": "--x"}).problem(422, terret.CodeInvalidRequest, "base")
	f.do("POST", at+"/worktree/rebase", nil).want(204, nil)
	f.do("POST", at+"/worktree/merge", nil).want(204, nil)
	f.git("test -f cart.txt")
	f.do("POST", at+"/worktree/discard", nil).want(204, nil)
	f.do("GET", at+"/branch", nil).want(200, &b)
	if !strings.Contains(b.Problem, "is gone") {
		t.Errorf("after it was discarded: %+v", b)
	}
	f.git("test -z \"$(git branch --list add-a-cart)\"")
	f.do("GET", at, nil).want(200, nil)
	here := f.session()
	f.do("POST", "/v1/sessions/"+here.ID+"/worktree/discard", nil).problem(501, terret.CodeUnsupported, "")
}
