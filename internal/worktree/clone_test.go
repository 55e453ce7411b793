package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/worktree"
)

// TestRemoveClone removes clones in which nothing is to lose, also those of a repository
// without commits, and keeps what is no longer a clone.
func TestRemoveClone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, kept string }{
		"empty":         {"git init -q --bare origin && git clone -q origin shop/clone 2>/dev/null", ""},
		"pushed":        {"git clone -q shop shop/clone", ""},
		"unborn branch": {"git clone -q shop shop/clone && cd shop/clone && git switch -q --orphan other", ""},
		"commit":        {"git clone -q shop shop/clone && cd shop/clone && git switch -q --detach && git commit -q --allow-empty -m two", "not pushed"},
		"ignored file":  {"git clone -q shop shop/clone && mkdir shop/clone/ignored && echo x > shop/clone/ignored/x", "files that git ignores: ignored/"},
		"no repository": {"git clone -q shop shop/clone && rm -rf shop/clone/.git && echo clone > shop/.git/info/exclude", "no longer a repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.sh(filepath.Dir(r.dir), c.script)
			dir := filepath.Join(r.dir, "clone")
			if err := worktree.NoteClone(r.home, dir, "https://host/shop"); err != nil {
				t.Fatal(err)
			}
			kept, err := worktree.RemoveClone(t.Context(), r.home, dir, func(string) bool { return false }, false)
			if err != nil || !strings.Contains(kept, c.kept) || (kept == "") != (c.kept == "") {
				t.Errorf("kept because %q, want %q: %v", kept, c.kept, err)
			}
			if _, err := os.Stat(dir); (err == nil) != (c.kept != "") {
				t.Errorf("the clone: %v", err)
			}
		})
	}
}

// TestCloneKey refuses an address that holds a key in place of a user, as those of GitHub
// may: it would be stored.
func TestCloneKey(t *testing.T) {
	t.Parallel()
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345" // none that ever was
	_, err := worktree.Clone(t.Context(), "https://"+key+"@127.0.0.1:1/shop.git", t.TempDir(), "one", os.Environ())
	if err == nil || !strings.Contains(err.Error(), "must not hold") || strings.Contains(err.Error(), key) {
		t.Error(err)
	}
}
