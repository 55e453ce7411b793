package worktree_test

import (
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret/internal/worktree"
)

// TestMergesNoOption merges a branch whose name is an option of git, and one that a tag is
// called like, as what they are.
func TestMergesNoOption(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"an option": `echo kept > ../victim; git update-ref "refs/heads/--output=$(cd ..; pwd)/victim" HEAD; git symbolic-ref HEAD "refs/heads/--output=$(cd ..; pwd)/victim"; ` + own,
		"a tag":     "git tag task-one; " + own,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.sh(r.dir, "git tag main")
			p := r.place("one", script)
			if p.Base != "main" {
				t.Errorf("it began at %q", p.Base)
			}
			if err := p.MergeBack(t.Context()); err != nil {
				t.Error(err)
			}
			if got := r.sh(r.dir, "git log -1 --format=%s; ls own.txt"); got != "own\nown.txt" {
				t.Errorf("merged %q", got)
			}
			if name == "an option" && r.sh(p.Top, "cat ../victim") != "kept" {
				t.Error("the name of a branch has emptied a file")
			}
		})
	}
	t.Run("no branch", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t)
		p := r.place("one", own+"; git update-ref refs/other/main HEAD; git symbolic-ref HEAD refs/other/main")
		if err := p.MergeBack(t.Context()); !isRefused(err, "not a branch") {
			t.Error(err)
		}
	})
}

// TestRebaseRefusesMerges keeps merge commits, which a rebase would drop.
func TestRebaseRefusesMerges(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	p := r.place("one", own)
	r.sh(r.dir, "echo since > since.txt; git add .; git commit -qm since")
	r.sh(p.Top, "git merge -q --no-edit main")
	before := r.sh(p.Top, "git rev-parse HEAD")
	if err := p.Rebase(t.Context()); !isRefused(err, "merge commit "+before[:10]) {
		t.Error(err)
	}
	if got := r.sh(p.Top, "git rev-parse HEAD"); got != before {
		t.Error("the worktree has moved")
	}
}

// TestMergeRefusesFilters leaves what is stored in another form, such as by LFS, to the person's
// own git: filters do not run here.
func TestMergeRefusesFilters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ here, there string }{
		"known":  {"echo x > a.bin; git add .; git commit -qm bin", "echo '*.bin filter=lfs' > .gitattributes; git add .; git commit -qm filters; echo untracked > u"},
		"as new": {"echo '*.bin filter=lfs' > .gitattributes; echo x > a.bin; git add .; git commit -qm bin", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			p := r.place("one", c.here)
			r.sh(r.dir, c.there)
			before := r.sh(r.dir, "git rev-parse HEAD")
			if err := p.MergeBack(t.Context()); !isRefused(err, "it cannot be merged: a.bin is stored by git in another form (filter lfs") {
				t.Error(err)
			}
			if r.sh(r.dir, "git rev-parse HEAD") != before {
				t.Error("it was merged")
			}
		})
	}
}

// TestDiscardKeepsOthers removes no branch that the worktree has left, or that is checked out
// somewhere else.
func TestDiscardKeepsOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ here, there string }{
		"left":      {"git switch -q -c other", "true"},
		"renamed":   {"git branch -m other", "git branch task-one"},
		"elsewhere": {"true", "git switch -q --ignore-other-worktrees task-one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			p := r.place("one", own+"; "+c.here)
			r.sh(r.dir, c.there)
			if err := p.Discard(t.Context(), r.home); err != nil {
				t.Fatal(err)
			}
			if exists(filepath.Dir(p.Top)) {
				t.Error("the worktree is still there")
			}
			r.sh(r.dir, "git show-ref --verify --quiet refs/heads/task-one")
		})
	}
}

// TestAddKeepsOthers removes no branch that was there before the worktree could not be made.
func TestAddKeepsOthers(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, "git branch terret/one")
	if _, err := worktree.Add(t.Context(), r.home, "one", r.dir, ""); err == nil {
		t.Error("it was made on somebody else's branch")
	}
	r.sh(r.dir, "git show-ref --verify --quiet refs/heads/terret/one")
	if exists(filepath.Join(r.home, "worktrees", "one")) {
		t.Error("something is left of it")
	}
}
