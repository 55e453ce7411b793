package worktree_test

import (
	"strings"
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

// TestMergeBesideUntracked holds that files that git does not track stay as they are, and
// are in the way only of what would replace them.
func TestMergeBesideUntracked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mine, theirs string
		merges       bool
	}{
		"nothing to do with it":  {"echo mine > mine.txt", "echo new > new.txt", true},
		"in a folder it empties": {"echo mine > sub/mine.txt", "git rm -q sub/a.txt", true},
		"the same file":          {"echo mine > new.txt", "echo new > new.txt", false},
		"a folder over it":       {"echo mine > new", "mkdir new; echo new > new/a", false},
		"a file over its folder": {"mkdir new; echo mine > new/a", "echo new > new", false},
		"a file over a clone":    {"git init -q new; echo mine > new/a", "echo new > new", false},
		"a folder over a link":   {"ln -s nowhere new", "mkdir new; echo new > new/a", false},
		"a changed file":         {"echo mine > sub/a.txt", "echo new > new.txt", false},
		"a staged file":          {"echo mine > mine.txt; git add mine.txt", "echo new > new.txt", false},
	} {
		for _, moved := range []bool{false, true} { // as a fast-forward, and as a merge
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRepository(t)
				cwd := r.add("one", r.dir)
				r.sh(cwd, c.theirs+"; git add --all; git commit -qm theirs")
				if moved {
					r.sh(r.dir, "echo since > since.txt; git add since.txt; git commit -qm since")
				}
				r.sh(r.dir, c.mine)
				const state = "git status --porcelain --untracked-files=all; find . -path ./.git -prune -o -print | sort; cat mine.txt sub/mine.txt new new/a 2>/dev/null || true; git rev-parse HEAD"
				before := r.sh(r.dir, state)
				if err := worktree.Merge(t.Context(), r.dir, cwd); (err == nil) != c.merges {
					t.Errorf("merges: %v, want %v: %v", err == nil, c.merges, err)
				}
				if after := r.sh(r.dir, state); !c.merges && after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				} else if c.merges && !strings.Contains(r.sh(r.dir, "cat mine.txt sub/mine.txt 2>/dev/null || true"), "mine") {
					t.Errorf("the file is gone:\n%s", after)
				}
			})
		}
	}
}
