package worktree_test

import (
	"testing"

	"github.com/terret-dev/terret/internal/worktree"
)

// TestMergeNowIgnored holds that a file that git has ignored since the worktree was made
// stays as it is, and is in the way only of one who has changed it.
func TestMergeNowIgnored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		merges bool
	}{
		"left alone": {"echo new > new; git add new; git commit -qm new", true},
		"changed":    {"echo theirs > local.txt; git commit -qam theirs", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.sh(r.dir, "echo mine > local.txt; git add local.txt; git commit -qm local")
			cwd := r.add("one", r.dir)
			r.sh(cwd, c.script)
			r.sh(r.dir, "git rm -q --cached local.txt; echo local.txt >> .gitignore; git commit -qam ignore")
			if err := worktree.Merge(t.Context(), r.dir, cwd); (err == nil) != c.merges {
				t.Errorf("merges: %v, want %v: %v", err == nil, c.merges, err)
			}
			if got := r.sh(r.dir, "cat local.txt"); got != "mine" {
				t.Errorf("the file holds %q now", got)
			}
		})
	}
}
