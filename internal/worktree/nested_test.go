package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
				"remove": func() error { _, err := worktree.Remove(t.Context(), r.home, cwd, nil); return err },
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
