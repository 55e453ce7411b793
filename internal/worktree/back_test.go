package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/worktree"
)

// TestSlug makes names that no git takes for anything but a branch.
func TestSlug(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Fix the flaky login test!":       "fix-the-flaky-login-test",
		"  -rf --delete @{u} ^~:?*[\\ ..": "rf-delete-u",
		"first line\nsecond":              "first-line",
		"../../etc/passwd.lock":           "etc-passwd-lock",
		"\u202egnp.exe \x1b[31mred":       "gnp-exe-31mred",
		"修复测试":                            "",
		"":                                "",
		"one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight",
		strings.Repeat("a", 60):                            strings.Repeat("a", 39),
	} {
		if got := worktree.Slug(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestBranchName names branches after what people wrote, and never takes a name twice, nor
// one that a remote has.
func TestBranchName(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, "git branch fix-it-2; git branch docs/one; git update-ref refs/remotes/origin/theirs HEAD")
	for i, c := range []struct{ about, want string }{
		{"Fix it", "fix-it"},
		{"fix IT", "fix-it-3"},
		{"docs", "docs-2"}, // git keeps branches in folders
		{"theirs", "theirs-2"},
		{"HEAD", "head-2"},
		{"--force", "force"},
		{"!!!", "terret/7"},
	} {
		id := string(rune('1' + i))
		cwd, err := worktree.Add(t.Context(), r.home, id, r.dir, c.about)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.sh(cwd, "git branch --show-current"); got != c.want {
			t.Errorf("%q: %q, want %q", c.about, got, c.want)
		}
		if got := worktree.MadeAs(r.home, id); got != (worktree.Made{Branch: c.want, Base: "main"}) {
			t.Errorf("made as %+v", got)
		}
		if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); i%2 == 0 && (kept != "" || err != nil) {
			t.Error(kept, err)
		} else if i%2 == 0 && r.sh(r.dir, "git branch --list "+c.want) != "" {
			t.Errorf("the branch %s is still there", c.want)
		}
		if i == 0 {
			r.sh(r.dir, "git branch fix-it")
		}
	}
}

// place is a worktree with a commit of its own.
func (r repository) place(id, script string) worktree.Place {
	r.t.Helper()
	cwd, err := worktree.Add(r.t.Context(), r.home, id, r.dir, "task "+id)
	if err != nil {
		r.t.Fatal(err)
	}
	r.sh(cwd, script)
	p, ok := worktree.PlaceOf(r.home, cwd)
	if !ok {
		r.t.Fatal("it is no worktree")
	}
	return p
}

const own = "echo own > own.txt; git add .; git commit -qm own"

// TestMergeBackAndRebase merges what was done into its base, after a rebase onto it.
func TestMergeBackAndRebase(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	p := r.place("one", own)
	r.sh(r.dir, "echo since > since.txt; git add .; git commit -qm since; git switch -q -c other")
	if err := p.Rebase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.sh(p.Top, "git log --format=%s; git log -1 --format=%ae; git branch --show-current; ls"); got != "own\nsince\none\na@example.org\ntask-one\nown.txt\nsince.txt\nsub" {
		t.Errorf("after the rebase: %q", got)
	}
	if err := p.MergeBack(t.Context()); !isRefused(err, "other checked out") {
		t.Errorf("merged into another branch: %v", err)
	}
	r.sh(r.dir, "git switch -q main")
	if err := p.MergeBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.sh(r.dir, "git log --format=%s; git status --porcelain"); got != "own\nsince\none" {
		t.Errorf("after the merge: %q", got)
	}
}

func isRefused(err error, why string) bool {
	refused, ok := errors.AsType[*worktree.RefusedError](err)
	return ok && strings.Contains(refused.Reason, why)
}

// TestRefusesToMove says why a worktree is neither merged nor rebased, and changes nothing.
func TestRefusesToMove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ here, there, why string }{
		"not committed":    {"echo more > sub/a.txt", "true", "uncommitted changes (sub/a.txt)"},
		"a file is new":    {"echo more > more.txt", "true", "uncommitted changes (more.txt)"},
		"rebase under way": {"git commit -q --allow-empty -m x; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i HEAD~1", "true", "a rebase is in progress"},
		"conflict":         {"echo mine > sub/a.txt; git commit -qam mine", "echo theirs > sub/a.txt; git commit -qam theirs", "both sides have changed sub/a.txt"},
		"folder is gone":   {"rm -rf \"$PWD\"", "true", "is gone"},
		"origin is gone":   {"true", "mv ../shop ../moved; git -C ../moved worktree repair -q 2>/dev/null || true", "is gone"},
		"no repository":    {"rm .git", "true", "not in a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			p := r.place("one", own)
			r.sh(p.Top, c.here)
			r.sh(r.dir, c.there)
			const state = "git rev-parse HEAD; git status --porcelain; cat sub/a.txt"
			before := r.sh(filepath.Dir(r.dir), "cd shop 2>/dev/null || exit 0; "+state)
			if err := p.Rebase(t.Context()); !isRefused(err, c.why) {
				t.Errorf("rebase: %v", err)
			}
			if err := p.MergeBack(t.Context()); !isRefused(err, c.why) {
				t.Errorf("merge: %v", err)
			}
			if after := r.sh(filepath.Dir(r.dir), "cd shop 2>/dev/null || exit 0; "+state); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if name == "conflict" && r.sh(p.Top, "git status --porcelain; cat sub/a.txt") != "mine" {
				t.Error("the worktree has changed")
			}
		})
	}
}

// TestCopy copies what is named, patterns too, and nothing from outside.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{".env": "a", ".env.local": "b", "api/.env": "c", "other": "d"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(from, "out")); err != nil {
		t.Fatal(err)
	}
	copied, err := worktree.Copy(from, to, []string{".env*", "*/.env", "missing"})
	if err != nil || strings.Join(copied, " ") != ".env .env.local api/.env" {
		t.Errorf("%v: %v", copied, err)
	}
	if info, err := os.Stat(filepath.Join(to, "api", ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info, err)
	}
	if copied, err := worktree.Copy(from, to, []string{"out"}); len(copied) > 0 {
		t.Errorf("%v leads out of the folder: %v", copied, err)
	}
	for _, bad := range []string{"../x", "/etc/hostname", "api", "[", "a/../../x"} {
		if _, err := worktree.Copy(from, to, []string{bad}); err == nil {
			t.Errorf("%s was copied", bad)
		}
	}
}

// TestDiscardNamed removes a worktree with its named branch, also after a crash in between.
func TestDiscardNamed(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	p := r.place("one", own)
	if err := os.RemoveAll(p.Top); err != nil { // as far as a killed one came
		t.Fatal(err)
	}
	for range 2 {
		if err := worktree.Discard(t.Context(), r.home, "one", r.dir); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.sh(r.dir, "git branch --list; git worktree list | wc -l; ls "+r.home+"/worktrees"); strings.Join(strings.Fields(got), " ") != "* main 1" {
		t.Errorf("left: %q", got)
	}
}
