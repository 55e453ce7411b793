package workfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
	"github.com/terret-dev/terret/internal/gitcmd"
)

func TestSinceHead(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, p := range []string{"same", "edit", "gone", "mode", "staged", "untrack", "dir/touched", "becomes-link", "becomes-dir", "bin", "sub dir/é"} {
		f.write(p, "one\ntwo\nthree\n")
	}
	f.write(".gitignore", "ignored\n")
	f.symlink("same", "link")
	f.sh(`git init -q . && git add -A && git commit -qm 1`)
	f.write("edit", "one\n2\nthree\nfour\n")
	f.write("sub dir/é", "one\n")
	f.write("ignored", "x")
	f.write("new file", "a\nb") // no newline at its end
	f.write("empty", "")
	f.write("bin", "a\x00b")
	f.write("nested/.git/HEAD", "ref: refs/heads/x\n")
	f.write("staged", "staged\n")
	f.sh(`rm gone becomes-link becomes-dir link; ln -s edit link; ln -s same becomes-link; mkdir becomes-dir; echo x > becomes-dir/x
		chmod 755 mode; touch dir/touched; git add staged; git rm -q --cached untrack
		mkdir inner; cd inner; git init -q .; echo 1 > file`)
	want := []string{
		"deleted becomes-dir +0 -3", "created becomes-dir/x +1 -0",
		"modified becomes-link +1 -3 644 link", "modified bin +0 -0 binary", "modified edit +2 -1", "created empty +0 -0",
		"deleted gone +0 -3", "modified link +1 -1", "modified mode +0 -0 644 755", "created new file +2 -0",
		"modified staged +1 -3", "modified sub dir/é +0 -2",
	}
	same(t, "changes", want, f.working(""))
	c, err := f.Working(t.Context(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	if c.Since != "head" || c.Insertions != 8 || c.Deletions != 16 {
		t.Errorf("%s +%d -%d", c.Since, c.Insertions, c.Deletions)
	}
	diffs := map[string]string{}
	for _, one := range c.Items {
		diffs[one.Path] = one.Diff
	}
	same(t, "a diff", "--- a/edit\n+++ b/edit\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n", diffs["edit"])
	same(t, "of a new file", "--- /dev/null\n+++ b/new file\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n", diffs["new file"])
	if d := diffs["gone"]; !strings.HasPrefix(d, "--- a/gone\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n") {
		t.Errorf("of a deleted file: %q", d)
	}
	if diffs["bin"] != "" {
		t.Errorf("of a binary file: %q", diffs["bin"])
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	edit := "echo 2 > a; echo 1 > b"
	want := []string{"modified a +1 -1", "created b +1 -0"}
	for name, c := range map[string]struct {
		make string
		dir  string // that the session works in
		want []string
	}{
		"packed refs":  {"git init -q . && echo 1 > a && git add . && git commit -qm 1 && git pack-refs --all && git gc -q;" + edit, ".", want},
		"detached":     {"git init -q . && echo 1 > a && git add . && git commit -qm 1 && git checkout -q --detach;" + edit, ".", want},
		"sha256":       {"git init -q --object-format=sha256 . && echo 1 > a && git add . && git commit -qm 1;" + edit, ".", want},
		"no commit":    {"git init -q . && echo 1 > a && git add a;" + edit, ".", []string{"created a +1 -0", "created b +1 -0"}},
		"split index":  {"git init -q . && git config core.splitIndex true && echo 1 > a && git add . && git commit -qm 1 && git update-index --split-index;" + edit, ".", want},
		"index v4":     {"git init -q . && echo 1 > a && git add . && git commit -qm 1 && git update-index --index-version 4;" + edit, ".", want},
		"subfolder":    {"git init -q . && mkdir s && echo 1 > s/a && echo 1 > top && git add . && git commit -qm 1; echo 2 > top; cd s;" + edit, "s", want},
		"worktree":     {"git init -q m && cd m && echo 1 > a && git add . && git commit -qm 1 && git worktree add -q ../w && cd ../w;" + edit, "w", want},
		"submodule":    {"git init -q lib && cd lib && echo 1 > a && git add . && git commit -qm 1 && cd .. && git init -q m && cd m && git -c protocol.file.allow=always submodule add -q ../lib s && git commit -qm 1 && cd s;" + edit, "m/s", want},
		"alternates":   {"git init -q m && cd m && echo 1 > a && git add . && git commit -qm 1 && cd .. && git clone -q --shared m c && cd c;" + edit, "c", want},
		"bare inside":  {"git init -q . && echo 1 > a && git add . && git commit -qm 1; git init -q --bare x.git; " + edit, ".", nil},
		"own excludes": {"git init -q . && echo 1 > a && git add . && git commit -qm 1; echo '*.tmp' >> .git/info/exclude; echo x > x.tmp;" + edit, ".", want},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := newFolder(t)
			top.sh(c.make)
			f := openFolder(t, filepath.Join(top.dir, c.dir), top.home)
			got := f.working("")
			if c.want != nil {
				same(t, "changes", c.want, got)
			}
			if !strings.Contains(strings.Join(got, "\n"), "b +1 -0") {
				t.Errorf("%q", got)
			}
		})
	}
}

// Files whose line endings git converts are not changed by that.
func TestLineEndings(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write(".gitattributes", "*.txt text eol=crlf\n")
	f.write("a.txt", "one\r\ntwo\r\n")
	f.write("b.txt", "one\r\ntwo\r\n")
	f.sh("git init -q . && git add . && git commit -qm 1")
	f.write("a.txt", "one\r\ntwo\r\n") // touched
	f.write("b.txt", "one\r\n2\r\n")
	same(t, "changes", []string{"modified b.txt +1 -1"}, f.working(""))
}

func TestBrokenRepositories(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"garbage in HEAD":   "echo garbage > .git/HEAD",
		"HEAD in a circle":  "echo 'ref: refs/heads/a' > .git/HEAD; echo 'ref: refs/heads/a' > .git/refs/heads/a",
		"HEAD leads out":    "echo 'ref: ../../secret' > .git/HEAD",
		"HEAD out of refs":  "echo 'ref: refs/../../../secret' > .git/HEAD",
		"HEAD of nothing":   "echo 0123456789012345678901234567890123456789 > .git/HEAD",
		"HEAD of a flag":    "echo '--output=/tmp/x' > .git/HEAD",
		"reftable":          "echo 'ref: refs/heads/.invalid' > .git/HEAD",
		"garbage in index":  "echo garbage > .git/index",
		"index is a folder": "rm .git/index; mkdir .git/index",
		"index is a pipe":   "rm .git/index; mkfifo .git/index",
		"HEAD is a pipe":    "rm .git/HEAD; mkfifo .git/HEAD",
		"objects gone":      "rm -rf .git/objects/*",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.write("a", "1\n")
			f.sh("git init -q . && git add . && git commit -qm 1; " + script)
			f.write("a", "2\n")
			_, err := f.Working(t.Context(), "", true)
			wantKind(t, "changes", err, terret.CodeUnsupported)
			if found, err := f.Find(t.Context(), "a", 0); err != nil || paths(found) != "a" {
				t.Errorf("find: %v, %v", found, err)
			}
			if list, err := f.List(t.Context(), "", nil); err != nil || len(list.Items) != 1 {
				t.Errorf("list: %v, %v", names(list), err)
			}
		})
	}
}

// A folder that the repository around it ignores is not in that repository.
func TestIgnoredFolder(t *testing.T) {
	t.Parallel()
	top := newFolder(t)
	top.write(".gitignore", "*\n")
	top.write("project/a", "1\n")
	top.sh("git init -q . && git add -f .gitignore && git commit -qm 1")
	f := openFolder(t, top.path("project"), top.home)
	_, err := f.Working(t.Context(), "", true)
	wantKind(t, "changes", err, terret.CodeUnsupported)
	if found, err := f.Find(t.Context(), "a", 0); err != nil || paths(found) != "a" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.sh("git init -q .")
	f.write("1large", strings.Repeat("x\n", maxDiffInput/2+1))
	f.write("2long diff", strings.Repeat("a line of some length\n", maxDiff/20))
	f.write("3many lines", strings.Repeat("\n", maxDiffLines+1))
	for i := range maxChanges + 10 {
		f.write(fmt.Sprintf("n/%05d", i), "1\n")
	}
	c, err := f.Working(t.Context(), "", true)
	if err != nil || len(c.Items) != maxChanges || !c.Truncated {
		t.Fatalf("%d changes, truncated %v (%v)", len(c.Items), c.Truncated, err)
	}
	for _, one := range c.Items[:3] {
		if !one.TooLarge || one.Diff != "" {
			t.Errorf("%s: too large %v, a diff of %d bytes", one.Path, one.TooLarge, len(one.Diff))
		}
	}
	// All together are bounded as well.
	left, count := maxAllLines, 0
	for range 2 * maxAllLines / maxDiffLines {
		text := present{entry: entry{Mode: gitcmd.ModeFile}, content: []byte(strings.Repeat("x\n", maxDiffLines)), whole: true}
		if one, _ := change("x", present{whole: true}, text, &left); !one.TooLarge || one.Insertions > 0 {
			count++
		}
	}
	if count != maxAllLines/maxDiffLines || left != 0 {
		t.Errorf("%d files were compared, %d lines are left", count, left)
	}
	many := Changes{}
	for i := range 100 {
		many.add(Change{Path: fmt.Sprint(i), Diff: strings.Repeat("x", maxDiff)})
	}
	all := 0
	for _, one := range many.bounded().Items {
		all += len(one.Diff)
		if one.TooLarge != (one.Diff == "") {
			t.Errorf("%+v", one.Path)
		}
	}
	if all > maxAllDiffs || all < maxAllDiffs-maxDiff {
		t.Errorf("diffs of %d bytes", all)
	}
}

func snapshot(t *testing.T, f *folder) string {
	t.Helper()
	repo, err := checkpoint.Open(t.Context(), f.home, f.dir, checkpoint.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := repo.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(s.ID)
}

func TestTurnAndStart(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1\n")
	f.write("a.b", "1\n")
	f.write("a-dir/x", "1\n")
	f.write("odd\nname", "1\n")
	f.write("bin", "\x00")
	f.write("mode", "1\n")
	first := snapshot(t, f)
	f.write("a", "diff --git a/x b/x\n") // a line as between two diffs
	f.write("a.b", "2\n")
	f.write("a-dir/x", "2\n3\n")
	f.write("odd\nname", "2\n")
	f.write("bin", "\x00\x01")
	f.write("new", "caf\xe9\n")
	f.sh("chmod 755 mode")
	second := snapshot(t, f)
	f.write("later", "1\n")
	want := []string{
		"modified a +1 -1", "modified a-dir/x +2 -1", "modified a.b +1 -1", "modified bin +0 -0 binary",
		"modified mode +0 -0 644 755", "created new +1 -0", "modified odd\nname +1 -1",
	}
	c, err := f.Turn(t.Context(), first, second, true)
	if err != nil || c.Since != "turn" {
		t.Fatal(c, err)
	}
	same(t, "the turn", want, describe(c))
	for _, one := range c.Items {
		name := strings.ReplaceAll(one.Path, "\n", `\n`)
		if !one.Binary && !strings.HasPrefix(strings.ReplaceAll(one.Diff, `"`, ""), "diff --git a/"+name+" b/"+name+"\n") {
			t.Errorf("%q has the diff %q", one.Path, one.Diff)
		}
	}
	if c, err = f.Turn(t.Context(), first, second, false); err != nil || c.Items[0].Diff != "" || c.Items[0].TooLarge {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = f.Working(t.Context(), first, true)
	if err != nil || c.Since != "start" {
		t.Fatal(c, err)
	}
	same(t, "since the start", 8, len(c.Items))

	_, err = f.Turn(t.Context(), first, "", true)
	wantKind(t, "no snapshot", err, terret.CodeUnsupported)
	_, err = f.Working(t.Context(), "", true)
	wantKind(t, "nothing to compare with", err, terret.CodeUnsupported)
	for _, bad := range []string{"x", "--output=x", strings.Repeat("0", len(first)), first + "x", "HEAD", strings.Replace(first, first[:4], "dead", 1)} {
		if c, err := f.Turn(t.Context(), bad, second, true); err == nil {
			t.Errorf("%q: %v", bad, describe(c))
		}
	}
	none := openFolder(t, t.TempDir(), "")
	_, err = none.Turn(t.Context(), first, second, true)
	wantKind(t, "without a home", err, terret.CodeUnsupported)
}

// plant makes the folder a repository that runs a program at every chance that
// git gives it. The program leaves a canary.
func plant(f *folder) (canary string) {
	f.t.Helper()
	canary = filepath.Join(f.t.TempDir(), "canary")
	evil := filepath.Join(f.t.TempDir(), "evil")
	if err := os.WriteFile(evil, fmt.Appendf(nil, "#!/bin/sh\necho \"$0 $*\" >> %s\ncat\n", canary), 0o755); err != nil {
		f.t.Fatal(err)
	}
	f.write("tracked", "1\n")
	f.write("other", "1\n")
	f.sh(fmt.Sprintf(`git init -q .; git add .; git commit -qm 1
		for h in pre-commit post-index-change post-checkout reference-transaction pre-auto-gc fsmonitor-watchman query-watchman; do cp %[1]s .git/hooks/$h; done
		git config core.fsmonitor %[1]s; git config core.hooksPath .git/hooks; git config core.pager %[1]s
		git config core.editor %[1]s; git config core.askPass %[1]s; git config core.sshCommand %[1]s
		git config core.alternateRefsCommand %[1]s; git config credential.helper %[1]s; git config diff.external %[1]s
		for k in clean smudge process; do git config filter.evil.$k %[1]s; done; git config filter.evil.required true
		for k in textconv command; do git config diff.evil.$k %[1]s; done; git config merge.evil.driver %[1]s
		for a in ls-files diff-index cat-file check-ignore; do git config alias.$a '!%[1]s'; done
		git config extensions.partialClone evil; git config remote.evil.url 'ext::%[1]s'; git config remote.evil.promisor true
		git config protocol.allow always; git config protocol.ext.allow always
		git config core.excludesFile %[1]s; git config core.attributesFile %[1]s
		printf '[core]\n\tfsmonitor = %[1]s\n' > .git/more; git config include.path more; git config core.worktree /; git config core.bare true
		printf '* filter=evil diff=evil merge=evil ident text working-tree-encoding=UTF-16\n' > .gitattributes
		cp .gitattributes .git/info/attributes`, evil))
	return canary
}

// Nothing that a hostile repository configures runs, and nothing is written into
// it.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	canary := plant(f)
	os.Remove(canary) // planting may have set it off
	f.write("tracked", "2\n")
	f.write("new", "1\n")
	before := contents(t, f.path(".git"))
	c, err := f.Working(t.Context(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes", []string{"created .gitattributes +1 -0", "created new +1 -0", "modified tracked +1 -1"}, describe(c))
	if _, err := f.Find(t.Context(), "t", 0); err != nil {
		t.Error(err)
	}
	if _, err := f.List(t.Context(), "", c.Items); err != nil {
		t.Error(err)
	}
	// A missing object is not fetched.
	f.sh("cp -rp .git/objects .git/objects.old")
	f.sh("rm .git/objects/d0/0491fd7e5bb6fa28c517a0bb32b8b506539d4d") // "1\n"
	if c, err := f.Working(t.Context(), "", true); err != nil || len(c.Items) != 3 || c.Items[2].Diff != "" {
		t.Errorf("with a missing object: %+v, %v", c, err)
	}
	if ran, err := os.ReadFile(canary); err == nil {
		t.Errorf("the repository ran: %s", ran)
	}
	f.sh("rm -r .git/objects; mv .git/objects.old .git/objects")
	after := contents(t, f.path(".git"))
	for p, was := range before {
		if strings.Contains(p, "objects") || strings.HasSuffix(p, ".git") {
			continue // the test itself moved them
		}
		same(t, p, was, after[p])
	}
	if len(after) != len(before) {
		t.Errorf("%d files in .git, were %d", len(after), len(before))
	}
	// The canary sings for those who trust the repository.
	f.sh("git config --unset core.bare; git config --unset core.worktree; git config --unset include.path; git config --unset extensions.partialClone; git add . 2>&1 || true")
	if _, err := os.Stat(canary); err != nil {
		t.Error("the trap does not work, so this test proves nothing")
	}
}

// Nothing of the user's environment reaches git. Not parallel: it changes the
// environment.
func TestHostileEnvironment(t *testing.T) {
	f := newFolder(t)
	canary := plant(f)
	os.Remove(canary)
	f.write("tracked", "2\n")
	evil, wrong, home := filepath.Join(t.TempDir(), "evil"), t.TempDir(), t.TempDir()
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho $0 >> "+canary+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".gitconfig"), fmt.Sprintf("[core]\n\tfsmonitor = %s\n\texcludesFile = %s/ignore\n[diff]\n\texternal = %s\n", evil, home, evil))
	writeFile(t, filepath.Join(home, "ignore"), "*\n")
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": home + "/.gitconfig",
		"GIT_DIR": wrong, "GIT_WORK_TREE": wrong, "GIT_INDEX_FILE": wrong + "/index", "GIT_OBJECT_DIRECTORY": wrong,
		"GIT_EXTERNAL_DIFF": evil, "GIT_PAGER": evil, "GIT_TRACE": wrong + "/trace", "GIT_TRACE2": wrong + "/trace2",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": evil,
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor=" + evil + "'", "GIT_EXEC_PATH": wrong, "GIT_CEILING_DIRECTORIES": f.dir, "GIT_DEFAULT_HASH": "sha256",
	} {
		t.Setenv(k, v)
	}
	same(t, "changes", []string{"created .gitattributes +1 -0", "modified tracked +1 -1"}, f.working(""))
	if ran, err := os.ReadFile(canary); err == nil {
		t.Errorf("the environment ran: %s", ran)
	}
	if entries, err := os.ReadDir(wrong); err != nil || len(entries) > 0 {
		t.Errorf("git wrote where the environment pointed: %v, %v", entries, err)
	}
}

func TestSplitPatch(t *testing.T) {
	t.Parallel()
	a, b := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+diff --git a/y b/y\n", "diff --git a/y b/y\nold mode 100644\nnew mode 100755\n"
	same(t, "two", []string{a, b}, splitPatch(a+b))
	same(t, "none", nil, splitPatch(""))
	same(t, "garbage", nil, splitPatch("x\ndiff --git a/x b/x\n"))
}

// A .git that leads out of where the server may look shows nothing of what is there.
func TestRepositoryElsewhere(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]string{
		"file":       "mkdir w && printf 'gitdir: %s/secret/.git' $PWD > w/.git",
		"link":       "mkdir w && ln -s $PWD/secret/.git w/.git",
		"alternates": "git init -q w && cp secret/.git/refs/heads/* w/.git/refs/heads/ && cp secret/.git/HEAD w/.git/HEAD && echo $PWD/secret/.git/objects > w/.git/objects/info/alternates",
		"commondir":  "git init -q w && cp secret/.git/index w/.git/ && echo $PWD/secret/.git > w/.git/commondir",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := newFolder(t)
			top.sh("git init -q secret && cd secret && echo password > a && git add . && git commit -qm 1; cd ..; " + make)
			f, err := Open(filepath.Join(top.dir, "w"), top.home, filepath.Join(top.dir, "w"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if changes, err := f.Working(t.Context(), "", true); err == nil && len(changes.Items) > 0 {
				t.Errorf("%+v", changes)
			}
			free := openFolder(t, filepath.Join(top.dir, "w"), top.home)
			if got := strings.Join(free.working(""), "\n"); !strings.Contains(got, "deleted a") {
				t.Errorf("without a bound there is nothing to see: %q", got)
			}
		})
	}
}
