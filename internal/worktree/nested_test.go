package worktree_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/worktree"
)

// TestHostileNested holds that nothing runs that a repository inside of the worktree names,
// which an agent can make, or one inside of that.
func TestHostileNested(t *testing.T) {
	t.Parallel()
	const inner = `
		arm() { git config filter.evil.clean "touch $1; cat"; echo '* filter=evil' > .git/info/attributes; touch -d 2020-01-01 file; }
		new() { git init -q -b main $1; cd $1; echo one > file; git add file; git commit -qm one; }
		new inner; new inmost; cd ..; git add inmost; git commit -qm two; cd ..`
	for name, known := range map[string]string{"known to git": "git add inner 2> /dev/null; git commit -qm inner", "new": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			cwd := r.add("one", r.dir)
			canary := filepath.Join(r.home, "ran")
			r.sh(cwd, inner+"\n"+known)
			base := r.sh(r.dir, "git rev-parse main")
			for what, do := range map[string]func() error{
				"remove": func() error { _, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); return err },
				"head":   func() error { _, _ = worktree.Head(t.Context(), cwd); return nil },
				"diff":   func() error { _, err := worktree.Diff(t.Context(), cwd, base); return err },
				"commit": func() error { return worktree.Commit(t.Context(), cwd, "all") },
			} {
				r.sh(cwd, inner[:strings.Index(inner, "new()")]+"cd inner; arm "+canary+"; cd inmost; arm "+canary)
				if err := do(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if exists(canary) {
					t.Errorf("%s ran a filter", what)
					_ = os.Remove(canary)
				}
			}
		})
	}
}

// TestBrokenNested holds that a submodule without a repository, as after its folder or the
// one above was moved, is in nobody's way.
func TestBrokenNested(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{"empty": "mkdir inner/.git", "elsewhere": "echo gitdir: /nowhere > inner/.git"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.sh(r.dir, `git init -q -b main inner; cd inner; echo one > file; git add file; git commit -qm one; cd ..
				git add inner 2> /dev/null; git commit -qm inner; rm -rf inner/.git; `+broken)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := worktree.Add(ctx, r.home, "one", r.dir, ""); err != nil {
				t.Errorf("add: %v", err)
			}
			if _, _ = worktree.Head(ctx, r.dir); ctx.Err() != nil { // git itself cannot say whether it is clean
				t.Error("head goes round in circles")
			}
		})
	}
}

// TestHostileNestedBehindLink holds that nothing of a nested repository runs if a link leads
// to the clone.
func TestHostileNestedBehindLink(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	canary, link := filepath.Join(r.home, "ran"), filepath.Join(r.home, "link")
	r.sh(r.dir, `git init -q -b main inner; cd inner; echo one > file; git add file; git commit -qm one; cd ..
		git add inner 2> /dev/null; git commit -qm inner; cd inner
		git config filter.evil.clean "touch `+canary+`; cat"; echo '* filter=evil' > .git/info/attributes; touch -d 2020-01-01 file
		ln -s `+filepath.Dir(r.dir)+" "+link)
	dir := filepath.Join(link, filepath.Base(r.dir))
	if err := worktree.NoteClone(r.home, dir, "https://example.org/shop"); err != nil {
		t.Fatal(err)
	}
	if kept, err := worktree.RemoveClone(t.Context(), r.home, dir, nil, false); kept == "" || err != nil {
		t.Errorf("kept %q, %v", kept, err)
	}
	if exists(canary) {
		t.Error("a filter ran")
	}
}
