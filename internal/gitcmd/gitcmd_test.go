package gitcmd_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/gitcmd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trap is a repository that runs a program at every chance that git gives it. The
// program leaves a canary.
type trap struct {
	t            *testing.T
	dir          string // the work tree
	evil, canary string // the program, and what it writes
}

func (tr trap) sh(script string) string {
	tr.t.Helper()
	cmd := exec.CommandContext(tr.t.Context(), "sh", "-ec", script)
	cmd.Dir = tr.dir
	cmd.Env = append(os.Environ(), "HOME="+tr.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tr.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// settings name a program each, in the config of a repository.
const settings = `
	for k in core.fsmonitor core.pager core.editor core.askPass core.sshCommand core.gitProxy core.alternateRefsCommand \
		credential.helper diff.external interactive.diffFilter gpg.program sequence.editor pager.log pager.status; do git config $k EVIL; done
	git config core.hooksPath .git/hooks; git config log.showSignature true; git config uploadpack.packObjectsHook EVIL
	git config gc.auto 1; git config maintenance.auto true
	git config protocol.allow always; git config protocol.ext.allow always; git config remote.evil.url 'ext::EVIL'
	git config core.excludesFile EVIL; git config core.attributesFile EVIL
	for a in status ls-files diff-index log; do git config alias.$a '!EVIL'; done
	for h in pre-commit post-index-change post-checkout reference-transaction pre-auto-gc fsmonitor-watchman; do cp EVIL .git/hooks/$h; done`

// drivers are programs that attributes name.
const drivers = `
	for k in clean smudge process; do git config filter.evil.$k EVIL; done; git config filter.evil.required true
	for k in textconv command; do git config diff.evil.$k EVIL; done; git config merge.evil.driver EVIL
	git config extensions.partialClone evil; git config remote.evil.promisor true
	printf '[core]\n\tfsmonitor = EVIL\n' > .git/more; git config include.path more
	printf '* filter=evil diff=evil merge=evil\n' > .gitattributes; cp .gitattributes .git/info/attributes`

// set makes a trap out of scripts.
func set(t *testing.T, scripts ...string) trap {
	t.Helper()
	out := t.TempDir()
	tr := trap{t: t, dir: t.TempDir(), evil: filepath.Join(out, "evil"), canary: filepath.Join(out, "canary")}
	if err := os.WriteFile(tr.evil, []byte(fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\n", tr.canary)), 0o755); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir() // from which objects are borrowed
	tr.sh(fmt.Sprintf(`cd %s; git init -q .; echo o > o; git add o; git commit -qm o`, other))
	tr.sh(`git init -q .; echo 1 > tracked; git add tracked; git commit -qm 1
		signed=$(printf 'tree %s\nauthor a <a@example.org> 0 +0000\ncommitter a <a@example.org> 0 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n' \
			$(git write-tree) | git hash-object -t commit -w --stdin); git update-ref HEAD $signed
		echo ` + other + `/.git/objects > .git/objects/info/alternates; echo 2 > tracked; echo new > new`)
	for _, s := range scripts {
		tr.sh(strings.ReplaceAll(s, "EVIL", tr.evil))
	}
	_ = os.Remove(tr.canary) // planting may have set it off
	return tr
}

// silent fails the test if a program of the repository has run.
func (tr trap) silent(what string) {
	tr.t.Helper()
	if ran, err := os.ReadFile(tr.canary); err == nil {
		tr.t.Errorf("%s ran: %s", what, ran)
		_ = os.Remove(tr.canary)
	}
}

func find(t *testing.T) string {
	t.Helper()
	bin, reason, err := gitcmd.Find(t.Context())
	if err != nil || reason != "" {
		t.Fatal(err, reason)
	}
	return bin
}

// commands are of all kinds: those that look at the work tree, at the index, at
// objects, that show differences, write, pack and fetch.
var commands = [][]string{
	{"status", "--porcelain"},
	{"ls-files", "--others", "--exclude-standard"},
	{"diff-files", "-p"},
	{"diff-index", "-p", "HEAD"},
	{"diff", "HEAD"},
	{"add", "new"},
	{"update-index", "--refresh"},
	{"checkout-index", "-f", "-a"},
	{"checkout", "HEAD", "--", "tracked"},
	{"write-tree"},
	{"log", "-p", "-1"},
	{"for-each-ref"},
	{"fsck"},
	{"gc", "--auto"},
	{"pack-objects", "--all", "--stdout"},
	{"fetch", "evil"},
	{"ls-remote", "ext::/bin/true"},
	{"submodule", "status"},
	{"update-ref", "refs/heads/x", "HEAD"},
	{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--allow-empty"},
}

// run runs all commands. Some fail, which is as good.
func (tr trap) run(g gitcmd.Git) {
	tr.t.Helper()
	for _, args := range commands {
		_, _ = g.Output(tr.t.Context(), nil, args...)
		tr.silent("git " + strings.Join(args, " "))
	}
}

// Nothing that the repository of a work tree configures runs.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	tr := set(t, settings, drivers)
	private := t.TempDir()
	g := gitcmd.Git{Bin: find(t), Dir: private, Work: tr.dir, Cwd: tr.dir, Index: filepath.Join(tr.dir, ".git", "index"), Objects: filepath.Join(tr.dir, ".git", "objects")}
	if _, err := g.Output(t.Context(), nil, "init", "-q", "--template="); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(tr.sh("cat .git/refs/heads/*"))
	if err := os.WriteFile(filepath.Join(private, "HEAD"), []byte(head+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr.run(g)
	tr.sings("git add .")
}

// sings holds that the trap works for those who trust the repository.
func (tr trap) sings(script string) {
	tr.t.Helper()
	tr.sh(script + " >/dev/null 2>&1 || true")
	if _, err := os.Stat(tr.canary); err != nil {
		tr.t.Error("the trap does not work, so this test proves nothing")
	}
}

// Even in our own git directory, no setting that names a program counts.
func TestHostileSettings(t *testing.T) {
	t.Parallel()
	tr := set(t, settings)
	dir := filepath.Join(tr.dir, ".git")
	tr.run(gitcmd.Git{Bin: find(t), Dir: dir, Work: tr.dir, Cwd: tr.dir, Index: filepath.Join(dir, "index")})
	tr.sings("git status")
}

// In a repository of the user's, too, nothing that its configuration names runs: no setting
// that we know the name of, and none that it has named itself, whatever the name.
func TestHostileUsersRepository(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"evil", "a=b"} {
		tr := set(t, settings, strings.NewReplacer("filter.evil", "filter."+name, "diff.evil", "diff."+name, "merge.evil", "merge."+name,
			"=evil", "="+name).Replace(drivers))
		g, err := gitcmd.Git{Bin: find(t), Cwd: tr.dir}.Disarmed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tr.silent("looking at the settings")
		tr.run(g)
		for _, args := range [][]string{{"add", "--all"}, {"checkout-index", "-f", "-a"}, {"stash"}, {"diff", "HEAD"}} {
			_, _ = g.With("user.name=a", "user.email=a@example.org").Output(t.Context(), nil, args...)
			tr.silent("git " + strings.Join(args, " "))
		}
		tr.sings("git add .")
	}
}

// What a repository names runs nothing, for each kind of setting by itself.
func TestDisarmedKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ setup, command string }{
		{"git config filter.x.clean EVIL; echo '* filter=x' > .gitattributes", "add --all"},
		{"git config filter.x.process EVIL; git config filter.x.required true; echo '* filter=x' > .gitattributes", "add --all"},
		{"git config filter.x.smudge EVIL; echo '* filter=x' > .gitattributes; rm tracked", "checkout -- tracked"},
		{"git config diff.x.textconv EVIL; echo '* diff=x' > .gitattributes", "diff"},
		{"git config diff.x.command EVIL; echo '* diff=x' > .gitattributes", "diff"},
		{"git config diff.external EVIL", "diff"},
		{"git config core.fsmonitor EVIL", "status"},
		{"git config core.editor EVIL", "commit --allow-empty"},
		{"git config core.hooksPath .git/own; mkdir .git/own; cp EVIL .git/own/pre-commit", "commit --allow-empty -m x"},
		{"git config gpg.program EVIL; git config commit.gpgSign true", "commit --allow-empty -m x"},
		{"git config gpg.openpgp.program EVIL; git config commit.gpgSign true", "commit --allow-empty -m x"},
		{"git config log.showSignature true; git config gpg.program EVIL", "log -1"},
		{"git config alias.own '!EVIL'", "own"},
		{"git config remote.x.url ext::EVIL; git config protocol.allow always", "fetch x"},
		{"git config core.sshCommand EVIL; git config remote.x.url ssh://h/x; git config protocol.allow always", "fetch x"},
		{"git config merge.x.driver EVIL; echo '* merge=x' > .gitattributes; git checkout -qf .; git branch o; echo 3 > tracked; " +
			"git commit -qam 3; git checkout -q o; echo 4 > tracked; git commit -qam 4; git checkout -q -", "merge o"},
	} {
		const who = "git config user.name a; git config user.email a@example.org"
		tr := set(t, who, test.setup)
		g, err := gitcmd.Git{Bin: find(t), Cwd: tr.dir}.Disarmed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = g.Output(t.Context(), nil, strings.Fields(test.command)...)
		tr.silent("git " + test.command + " with " + test.setup)
		set(t, who, test.setup).sings("git -p " + test.command)
	}
}

// A folder that looks like a bare repository does not become the repository, wherever
// commands run.
func TestBareRepository(t *testing.T) {
	t.Parallel()
	tr := set(t, `git config core.fsmonitor EVIL; git config core.worktree ..; mkdir trap; cp -r .git/HEAD .git/objects .git/refs .git/index .git/config trap/; rm -rf .git`)
	private := t.TempDir()
	g := gitcmd.Git{Bin: find(t), Dir: private, Work: tr.dir, Cwd: tr.dir, Index: filepath.Join(private, "index")}
	if _, err := g.Output(t.Context(), nil, "init", "-q", "--template="); err != nil {
		t.Fatal(err)
	}
	g.Cwd = filepath.Join(tr.dir, "trap")
	tr.run(g)
	tr.sings("cd trap; git -c safe.bareRepository=all status")
}

// Nothing of the user's environment reaches git. Not parallel: it changes the
// environment.
func TestHostileEnvironment(t *testing.T) {
	tr := set(t, `true`)
	home, wrong := t.TempDir(), t.TempDir()
	conf := fmt.Sprintf("[core]\n\tfsmonitor = %[1]s\n\tpager = %[1]s\n\thooksPath = %[2]s\n[diff]\n\texternal = %[1]s\n", tr.evil, home)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": home + "/.gitconfig", "GIT_CONFIG_SYSTEM": home + "/.gitconfig",
		"GIT_DIR": wrong, "GIT_WORK_TREE": wrong, "GIT_INDEX_FILE": wrong + "/index", "GIT_OBJECT_DIRECTORY": wrong,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": wrong, "GIT_EXTERNAL_DIFF": tr.evil, "GIT_PAGER": tr.evil, "PAGER": tr.evil, "EDITOR": tr.evil,
		"GIT_EDITOR": tr.evil, "GIT_SSH_COMMAND": tr.evil, "GIT_SSH": tr.evil, "GIT_ASKPASS": tr.evil, "SSH_ASKPASS": tr.evil, "GIT_PROXY_COMMAND": tr.evil,
		"GIT_TRACE": wrong + "/trace", "GIT_TRACE2": wrong + "/trace2", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": tr.evil,
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor=" + tr.evil + "'", "GIT_EXEC_PATH": wrong, "GIT_TEMPLATE_DIR": wrong,
	} {
		t.Setenv(k, v)
	}
	dir := filepath.Join(tr.dir, ".git")
	tr.run(gitcmd.Git{Bin: find(t), Dir: dir, Work: tr.dir, Cwd: tr.dir, Index: filepath.Join(dir, "index")})
	if left, err := os.ReadDir(wrong); err != nil || len(left) > 0 {
		t.Errorf("git wrote where the environment pointed: %v, %v", left, err)
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	tr := set(t, "for f in a b c; do echo > $f; done; echo :x > ':x'")
	dir := filepath.Join(tr.dir, ".git")
	g := gitcmd.Git{Bin: find(t), Dir: dir, Work: tr.dir, Cwd: tr.dir, Index: filepath.Join(dir, "index")}
	list := func(stop error) (found []string, err error) {
		err = g.Records(t.Context(), nil, []string{"ls-files", "-z", "--others"}, func(r string) error {
			found = append(found, r)
			if len(found) == 2 {
				return stop
			}
			return nil
		})
		return found, err
	}
	if found, err := list(nil); err != nil || !slices.Equal(found, []string{":x", "a", "b", "c", "new"}) {
		t.Errorf("%q, %v", found, err)
	}
	if found, err := list(gitcmd.ErrEnough); err != nil || len(found) != 2 {
		t.Errorf("%q, %v", found, err)
	}
	broken := errors.New("broken")
	if _, err := list(broken); !errors.Is(err, broken) {
		t.Error(err)
	}
	if out, err := g.Output(t.Context(), nil, "ls-files", "--others", "--", ":x"); err != nil || string(out) != ":x\n" {
		t.Errorf("a path that looks like magic: %q, %v", out, err)
	}
	_, err := g.Output(t.Context(), nil, "cat-file", "-p", "nothing")
	if _, ok := errors.AsType[*gitcmd.Error](err); !ok || gitcmd.ExitCode(err) != 128 || !strings.Contains(err.Error(), "Not a valid object name") {
		t.Errorf("an object that is not there: %v", err)
	}
	if got := gitcmd.JoinNUL([]string{"a", "b"}); string(got) != "a\x00b\x00" {
		t.Errorf("%q", got)
	}
	if out, err := g.With("core.abbrev=5").Output(t.Context(), nil, "rev-parse", "--short", "HEAD"); err != nil || len(out) != 6 || len(g.Config) != 0 {
		t.Errorf("with a setting: %q, %v, %v", out, err, g.Config)
	}
}

// A command ends with its context, and with whoever reads it.
func TestEnds(t *testing.T) {
	t.Parallel()
	tr := set(t, "true")
	dir := filepath.Join(tr.dir, ".git")
	g := gitcmd.Git{Bin: find(t), Dir: dir, Work: tr.dir, Cwd: tr.dir, Index: filepath.Join(dir, "index")}
	in, out, err := os.Pipe() // which nobody writes to
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	enough := errors.New("that will do")
	err = g.Stream(t.Context(), in, []string{"cat-file", "--batch"}, func(*bufio.Reader) error { return enough })
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}
