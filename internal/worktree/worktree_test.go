package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/worktree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// repository is one with a commit, in a folder of its own.
type repository struct {
	t         *testing.T
	dir, home string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repository{t, filepath.Join(base, "shop"), filepath.Join(base, "terret")}
	for _, dir := range []string{r.dir, r.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.sh(r.dir, "git init -q -b main . && mkdir sub && echo one > sub/a.txt && echo 'ignored/' > .gitignore && git add . && git commit -qm one")
	return r
}

// sh runs a script as the user would.
func (r repository) sh(dir, script string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+r.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) add(id, dir string) string {
	r.t.Helper()
	cwd, err := worktree.Add(r.t.Context(), r.home, id, dir, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return cwd
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestAdd(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, "echo changed > sub/a.txt; echo new > b.txt")
	cwd := r.add("one", filepath.Join(r.dir, "sub"))
	if want := filepath.Join(r.home, "worktrees", "one", "shop", "sub"); cwd != want {
		t.Errorf("%s, want %s", cwd, want)
	}
	if got := r.sh(cwd, "cat a.txt; git branch --show-current; git status --porcelain; ls .."); got != "one\nterret/one\nsub" {
		t.Errorf("it holds %q", got)
	}
	if origin, ok := worktree.Origin(r.home, cwd); !ok || origin != filepath.Join(r.dir, "sub") {
		t.Errorf("made for %q, %v", origin, ok)
	}
	if got := r.sh(r.dir, "git branch --show-current; git status --porcelain"); !strings.HasPrefix(got, "main\n") || strings.Contains(got, "terret") {
		t.Errorf("the repository: %q", got)
	}
	other := r.add("two", r.dir)
	r.sh(other, "echo x > sub/a.txt")
	if got := r.sh(cwd, "cat a.txt"); got != "one" {
		t.Errorf("one sees %q of the other", got)
	}
	if _, err := worktree.Add(t.Context(), r.home, "one", r.dir, ""); err == nil {
		t.Error("an id was used twice")
	}
	if got := r.sh(cwd, "cat a.txt"); got != "one" {
		t.Errorf("the first one is harmed: %q", got)
	}
}

// Several at once, as in a race: git alone fails when it reads about a worktree that
// another git is just making.
func TestTogether(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	for round := range 3 {
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				id := fmt.Sprintf("t%d-%d", round, i)
				if err := worktree.Discard(t.Context(), r.home, id, r.dir); err != nil {
					t.Error(err)
				}
				cwd, err := worktree.Add(t.Context(), r.home, id, r.dir, "")
				if err != nil {
					t.Error(err)
					return
				}
				if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept != "" || err != nil {
					t.Errorf("kept %q, %v", kept, err)
				}
			})
		}
		group.Wait()
	}
	if list := r.sh(r.dir, "git worktree list"); strings.Count(list, "\n") != 0 {
		t.Errorf("left: %s", list)
	}
}

func TestBadAdd(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	plain, empty, bare := t.TempDir(), t.TempDir(), t.TempDir()
	r.sh(empty, "git init -q .")
	r.sh(bare, "git init -q --bare .")
	r.sh(r.dir, "mkdir fresh; echo x > fresh/x")
	for dir, want := range map[string]string{
		plain: "is not in a git repository", empty: "has no commit yet", bare: "is not in a git repository",
		filepath.Join(r.dir, "fresh"): "is not in the checked-out commit; commit it first",
	} {
		_, err := worktree.Add(t.Context(), r.home, "bad", dir, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
		if exists(filepath.Join(r.home, "worktrees", "bad")) {
			t.Errorf("%s: something is left", dir)
		}
	}
	if got := r.sh(r.dir, "git branch --list 'terret/*'; git worktree list | wc -l"); got != "1" {
		t.Errorf("left in the repository: %q", got)
	}
}

// A worktree goes if nothing is lost with it, and stays else.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string // in the worktree
		main   string // in the repository, after that
		kept   string
		force  bool
	}{
		"nothing done":              {},
		"ignored files":             {script: "mkdir ignored; echo x > ignored/x", kept: "files that git ignores: ignored/"},
		"many ignored files":        {script: "for i in 1 2 3 4 5 6 7; do mkdir -p $i/ignored; echo x > $i/ignored/x; done", kept: "1/ignored/, 2/ignored/, 3/ignored/, 4/ignored/, 5/ignored/, 2 more"},
		"ignored files, forced":     {script: "mkdir ignored; echo x > ignored/x", force: true},
		"a new file, forced":        {script: "echo x > new.txt", force: true, kept: "uncommitted changes"},
		"terret's own, ignored":     {script: "mkdir .terret; echo .gitignore > .terret/.gitignore"},
		"terret's own":              {script: "mkdir .terret; echo x > .terret/.gitignore"},
		"a new file":                {script: "echo x > new.txt", kept: "uncommitted changes"},
		"a new file beside our own": {script: "mkdir .terret; echo x > .terret/.gitignore; echo y > .terret/new", kept: "uncommitted"},
		"a changed file":            {script: "echo x > sub/a.txt", kept: "uncommitted"},
		"a staged file":             {script: "echo x > sub/a.txt; git add .", kept: "uncommitted"},
		"a deleted file":            {script: "rm sub/a.txt", kept: "uncommitted"},
		"a commit":                  {script: "echo x > sub/a.txt; git commit -qam two", kept: "commits that are on no other branch"},
		"a merged commit":           {script: "echo x > sub/a.txt; git commit -qam two", main: "git merge -q terret/{id}"},
		"a tagged commit":           {script: "echo x > sub/a.txt; git commit -qam two; git tag kept"},
		"a commit, detached":        {script: "git checkout -q --detach; echo x > sub/a.txt; git commit -qam two", kept: "no other branch"},
		"a commit, left behind":     {script: "echo x > sub/a.txt; git commit -qam two; git checkout -q --detach main", kept: "no other branch"},
		"another branch":            {script: "git checkout -qb other; echo x > sub/a.txt; git commit -qam two"},
		"a branch that is gone":     {script: "git checkout -q --detach; git branch -qD terret/{id}"},
		"gone by hand":              {main: "git worktree remove ../terret/worktrees/{id}/shop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			id := "one"
			fill := func(script string) string { return strings.ReplaceAll(script, "{id}", id) }
			cwd := r.add(id, filepath.Join(r.dir, "sub"))
			top := filepath.Dir(cwd)
			if c.script != "" {
				r.sh(top, fill(c.script))
			}
			if c.main != "" {
				r.sh(r.dir, fill(c.main))
			}
			before := r.sh(r.dir, "git rev-parse main; git for-each-ref refs/tags refs/heads/other")
			kept, err := worktree.Remove(t.Context(), r.home, cwd, func(file string) bool { return file == ".terret/.gitignore" }, c.force)
			if err != nil || c.kept == "" && kept != "" || !strings.Contains(kept, c.kept) {
				t.Errorf("kept %q, %v; want %q", kept, err, c.kept)
			}
			stays := c.kept != ""
			if exists(top) != stays || exists(filepath.Join(r.home, "worktrees", id)) != stays {
				t.Errorf("the folder is there: %v, want %v", exists(top), stays)
			}
			branch := r.sh(r.dir, "git branch --list terret/one") != ""
			if branch != stays && name != "gone by hand" { // what was done by hand is theirs
				t.Errorf("the branch is there: %v, want %v", branch, stays)
			}
			if after := r.sh(r.dir, "git rev-parse main; git for-each-ref refs/tags refs/heads/other"); after != before {
				t.Errorf("%s before, %s after", before, after)
			}
			if again, err := worktree.Remove(t.Context(), r.home, cwd, nil, c.force); err != nil || (again != "") != stays {
				t.Errorf("again: kept %q, %v", again, err)
			}
		})
	}
}

// The commit that is checked out in the repository, on no branch, is not lost.
func TestRemoveOfDetached(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, "git checkout -q --detach; echo x > sub/a.txt; git commit -qam two")
	cwd := r.add("one", r.dir)
	if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept != "" || err != nil {
		t.Errorf("kept %q, %v", kept, err)
	}
}

// A folder that has lost its repository is not judged by one around it.
func TestRemoveBelowAnother(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"gone": "rm .git", "empty": "rm .git; mkdir .git"} {
		r := newRepository(t)
		cwd := r.add("one", r.dir)
		r.sh(cwd, script+"; echo x > precious")
		r.sh(r.home, "git init -q; echo '*' > .gitignore; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one")
		if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept != "it is no longer a repository" || err != nil {
			t.Errorf("%s: kept %q, %v", name, kept, err)
		}
		if !exists(filepath.Join(cwd, "precious")) {
			t.Errorf("%s: the file is gone", name)
		}
	}
}

// When the repository is gone, nobody can tell what would be lost.
func TestRemoveWithoutRepository(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	cwd := r.add("one", r.dir)
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); err == nil || !exists(cwd) {
		t.Errorf("removed: %v, %v", !exists(cwd), err)
	}
}

// TestHostile holds that nothing that the repository or the user's configuration names
// is run.
func TestHostile(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	canary := filepath.Join(r.home, "canary")
	evil := filepath.Join(r.home, "evil.sh")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >> "+canary+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.sh(r.dir, `
		echo '*.txt filter=evil diff=evil' > .gitattributes; git add .; git commit -qm attributes
		for hook in post-checkout reference-transaction pre-commit post-index-change; do cp `+evil+` .git/hooks/$hook; done
		git config filter.evil.smudge `+evil+`
		git config filter.evil.clean `+evil+`
		git config filter.evil.required true
		git config filter.e=v.smudge `+evil+`
		git config filter.long.process `+evil+`
		git config core.fsmonitor `+evil+`
		git config core.pager `+evil+`
		git config diff.evil.textconv `+evil+`
		printf '[filter "hidden"]\n\tsmudge = `+evil+`\n' > .git/more; git config include.path more
		rm -f `+canary)
	cwd := r.add("one", r.dir)
	if err := os.WriteFile(filepath.Join(cwd, "sub", "a.txt"), []byte("changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept == "" || err != nil {
		t.Errorf("kept %q, %v", kept, err)
	}
	if err := os.WriteFile(filepath.Join(cwd, "sub", "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept != "" || err != nil {
		t.Errorf("kept %q, %v", kept, err)
	}
	if b, err := os.ReadFile(canary); err == nil {
		t.Errorf("something was run:\n%s", b)
	}
}

// TestHostileMerge holds that merging runs nothing that the repository names, which an
// agent in a worktree can change, and merges as git does by itself.
func TestHostileMerge(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	canary := filepath.Join(r.home, "canary")
	r.sh(r.dir, `
		seq 9 > n.txt; echo '*.txt merge=evil' > .gitattributes; git add .; git commit -qm numbers
		git config merge.conflictStyle diff3
		git config merge.evil.driver 'touch `+canary+`'`)
	cwd := r.add("one", r.dir)
	r.sh(cwd, "sed -i.bak s/9/nine/ n.txt; rm n.txt.bak")
	r.sh(r.dir, "sed -i.bak s/1/one/ n.txt; rm n.txt.bak; git commit -qam one")
	if err := worktree.Commit(t.Context(), cwd, "nine"); err != nil {
		t.Fatal(err)
	}
	if err := worktree.Merge(t.Context(), r.dir, cwd); err != nil {
		t.Fatal(err)
	}
	if got := r.sh(r.dir, "head -1 n.txt; tail -1 n.txt; git status --porcelain"); got != "one\nnine" {
		t.Errorf("merged: %s", got)
	}
	r.sh(cwd, "git reset -q --hard main; sed -i.bak s/one/uno/ n.txt; rm n.txt.bak")
	r.sh(r.dir, "sed -i.bak s/one/eins/ n.txt; rm n.txt.bak; git commit -qam eins")
	if err := worktree.Commit(t.Context(), cwd, "uno"); err != nil {
		t.Fatal(err)
	}
	if err := worktree.Merge(t.Context(), r.dir, cwd); err == nil || r.sh(r.dir, "head -1 n.txt; git status --porcelain") != "eins" {
		t.Errorf("a conflict was merged: %v", err)
	}
	if exists(canary) {
		t.Error("the merge driver was run")
	}
}

// TestRanges holds that ranges mean what they mean to git diff.
func TestRanges(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.sh(r.dir, `
		git checkout -qb topic; echo t > t.txt; git add .; git commit -qm topic
		git checkout -q main; echo m > m.txt; git add .; git commit -qm more`)
	for rev, want := range map[string]string{"main..topic": "m.txt t.txt", "main...topic": "t.txt", "topic...": "m.txt", "topic..": "m.txt t.txt", "...topic": "t.txt"} {
		diff, err := worktree.Diff(t.Context(), r.dir, rev)
		if err != nil {
			t.Errorf("%s: %v", rev, err)
			continue
		}
		var files []string
		for line := range strings.Lines(diff) {
			if strings.HasPrefix(line, "diff --git ") {
				files = append(files, strings.TrimSpace(line[strings.Index(line, " b/")+3:]))
			}
		}
		if got := strings.Join(files, " "); got != want {
			t.Errorf("%s shows %s, want %s", rev, got, want)
		}
	}
	r.sh(r.dir, "git checkout -q --orphan alone; git commit -qm alone")
	if _, err := worktree.Diff(t.Context(), r.dir, "main...alone"); err == nil || !strings.Contains(err.Error(), "no commit in common") {
		t.Error(err)
	}
}

// TestUsersIgnores holds that files which the user's own git ignores everywhere are not
// shown, are no uncommitted changes, and are not committed.
func TestUsersIgnores(t *testing.T) {
	for name, set := range map[string]func(home string) (file string){
		"by default": func(home string) string { return filepath.Join(home, ".config", "git", "ignore") },
		"as configured": func(home string) string {
			file := filepath.Join(home, "ignored")
			if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n\texcludesFile = ~/ignored\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("XDG_CONFIG_HOME", "")
			t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
			r := newRepository(t)
			file := set(home)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("*.secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"my.secret", ".gitignore"} {
				if err := os.WriteFile(filepath.Join(r.dir, name), []byte("changed\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff, err := worktree.Diff(t.Context(), r.dir, ""); err != nil || strings.Contains(diff, "secret") || !strings.Contains(diff, "+changed") {
				t.Errorf("%v\n%s", err, diff)
			}
			if err := worktree.Commit(t.Context(), r.dir, "changed"); err != nil {
				t.Fatal(err)
			}
			if _, err := worktree.Head(t.Context(), r.dir); err != nil {
				t.Error(err)
			}
			if files := r.sh(r.dir, "git ls-files"); strings.Contains(files, "secret") {
				t.Errorf("committed: %s", files)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/t/worktrees/id/repo": "id", "/home/t/worktrees/id/repo/sub": "id", "/home/t/worktrees/id": "", "/home/t/worktrees": "",
		"/home/t/worktrees/id/origin": "", "/home/t/worktrees/id/origin/x": "",
		"/home/t": "", "/home/t/terret.db": "", "/home/t/worktrees/../terret.db": "", "/elsewhere": "", "/home/t/worktrees2/id/repo": "",
	} {
		top, id, ok := worktree.Find("/home/t", path)
		if id != want || ok != (want != "") || ok && top != "/home/t/worktrees/id/repo" {
			t.Errorf("%s: %q of %q, %v", path, top, id, ok)
		}
	}
	if _, _, ok := worktree.Find("", "/worktrees/id/repo"); ok {
		t.Error("without a home there is none")
	}
	r := newRepository(t)
	linked := r.home + "-link"
	if err := os.Symlink(r.home, linked); err != nil {
		t.Fatal(err)
	}
	cwd, err := worktree.Add(t.Context(), linked, "one", r.dir, "")
	if _, id, ok := worktree.Find(linked, cwd); err != nil || !ok || id != "one" {
		t.Errorf("%s is in %q, %v, %v", cwd, id, ok, err)
	}
	if kept, err := worktree.Remove(t.Context(), linked, cwd, nil, false); kept != "" || err != nil || exists(cwd) {
		t.Errorf("kept %q, %v", kept, err)
	}
}

// TestOddPath has a repository in a folder whose name git would take for two of a list of
// folders, or for one that is quoted.
func TestOddPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a:b", `"quoted`, "back\\slash: \"é\t"} {
		r := newRepository(t)
		odd := filepath.Join(filepath.Dir(r.dir), name)
		if err := os.Rename(r.dir, odd); err != nil {
			t.Fatal(err)
		}
		r.sh(odd, "echo new > b.txt")
		if diff, err := worktree.Diff(t.Context(), odd, ""); err != nil || !strings.Contains(diff, "+new") {
			t.Errorf("%q: %v, %s", name, err, diff)
		}
	}
}

// A worktree in a folder with a line end in its name is not mistaken for another one that
// has its commits, too.
func TestRemoveWithLineEnd(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	odd := filepath.Join(filepath.Dir(r.dir), "two\nlines")
	if err := os.Rename(r.dir, odd); err != nil {
		t.Fatal(err)
	}
	cwd := r.add("one", odd)
	r.sh(cwd, "echo x > sub/a.txt; git commit -qam two")
	if kept, err := worktree.Remove(t.Context(), r.home, cwd, nil, false); kept == "" || err != nil || !exists(cwd) {
		t.Errorf("kept %q, %v", kept, err)
	}
}
