//go:build unix

package policy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

var effectsRecord = flag.Bool("effects.record", false, "write down what the commands of testdata/effects.txt do, where the programs are installed")

// effectsFile holds commands, and behind => what they were seen to do: which
// commands ran, which files were written, whose text was printed.
const effectsFile = "testdata/effects.txt"

const arrow = "  =>"

// effectProject is what the commands find. Each file's text holds its name, so
// that a file that was read shows in what was printed.
var effectProject = map[string]string{
	"b.txt": "mark:b.txt\nline\n", "src/a": "mark:src/a\nz\n", "src/list": "src/a\x00", "src/list0": "src/a\n", "src/hex": "41\n", "src/script.sed": "1e pwn\n",
	"src/script.awk": "BEGIN{system(\"pwn\")}\n", "src/big": strings.Repeat("mark:src/big\n", 3000), "src/x.patch": "--- b.txt\n+++ b.txt\n@@ -2 +2 @@\n-line\n+patched\n",
	"src/evil.mk": "x:\n\t@pwn\n", "Makefile": "all:\n\t@true $(ARGS)\n", "src/Makefile": "all:\n\t@true\n", "src/bad.go": "package  src\n", "src/main.go": "package src\n",
	"go.mod": "module example.com/a\n\ngo 1.21\n", "package.json": `{"name":"a","scripts":{"x":"true","test":"true"}}`, "src/package.json": `{"name":"b","scripts":{"x":"pwn"}}`,
	"src/npmrc": "script-shell=pwn\n", "src/curlrc": "output = out/new\nurl = file:///etc/hostname\n", "out/old": "", "src/exec/git-status": "#!/bin/sh\npwn\n",
	"src/template/hooks/post-checkout": "#!/bin/sh\npwn\n",
}

// effectSetup makes what cannot be written down above.
const effectSetup = `set -e
chmod +x src/exec/git-status src/template/hooks/post-checkout
cp "$1/pwn" pwn
echo mark:from-tar >from-tar; tar cf src/x.tar from-tar; rm from-tar
echo mark:from-gz | gzip >src/x.gz
if command -v zip >/dev/null; then echo mark:from-zip >from-zip; zip -q src/x.zip from-zip; rm from-zip; fi
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
git init -q -b main planted; git -C planted config core.fsmonitor pwn
echo planted >.git-exclude
git init -q -b main; printf '%s\n' planted .git-exclude >.git/info/exclude
git config user.name a; git config user.email a@b.example
git add .; git commit -qm one; git checkout -q -b side; echo side >side; git add side; git commit -qm side
git checkout -q main; printf 'mark:b.txt\nmore\n' >b.txt; git commit -qam two; printf 'mark:b.txt\nline\n' >b.txt; git commit -qam three
`

// stage is a project in which real programs run; the command pwn is a recorder.
type stage struct {
	*sandbox
	template string // the project as it was made
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{sandbox: newSandbox(t)}
	s.template = filepath.Join(s.root, "template")
	// Of the sandbox's commands, only pwn is found before the real ones.
	if err := os.Mkdir(filepath.Join(s.root, "only"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.bin, "pwn"), filepath.Join(s.root, "only", "pwn")); err != nil {
		t.Fatal(err)
	}
	for name, text := range effectProject {
		p := filepath.Join(s.template, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s.uid != 0 {
		if err := filepath.WalkDir(s.root, func(p string, _ fs.DirEntry, err error) error { return os.Chown(p, s.uid, s.uid) }); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := s.do(t.Context(), s.template, "bash", "-c", effectSetup, "setup", s.bin); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// do runs a real program in the folder.
func (s *stage) do(ctx context.Context, dir, name string, args ...string) (string, error) {
	p := prober{&sandbox{work: dir, uid: s.uid}}
	return p.realIn(ctx, filepath.Join(s.root, "only")+":"+os.Getenv("PATH"), name, args...)
}

// fresh makes the project anew.
func (s *stage) fresh(ctx context.Context) error {
	if err := errors.Join(os.RemoveAll(s.work), os.MkdirAll(filepath.Dir(s.work), 0o755), removeBelow(s.log)); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", s.template, s.work).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// see runs a command in a copy of the project, and says what it did.
func (s *stage) see(ctx context.Context, command string) (string, error) {
	if err := s.fresh(ctx); err != nil {
		return "", err
	}
	before, err := s.snapshot()
	if err != nil {
		return "", err
	}
	out, err := s.do(ctx, s.work, "bash", "-c", command)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", err
	}
	ran, err := s.recorded()
	if err != nil {
		return "", err
	}
	after, err := s.snapshot()
	if err != nil {
		return "", err
	}
	var seen []string
	if slices.ContainsFunc(ran, func(words []string) bool { return words[0] == "pwn" }) {
		seen = append(seen, "ran pwn")
	}
	var wrote []string
	for _, name := range sortedKeys(before, after) {
		if before[name] != after[name] {
			wrote = append(wrote, "wrote "+name)
		}
	}
	if len(wrote) > 4 { // the folder that holds them all
		first, last := wrote[0], wrote[len(wrote)-1]
		n := 0
		for n < len(first) && n < len(last) && first[n] == last[n] {
			n++
		}
		wrote = []string{first[:strings.LastIndexByte(first[:n], '/')+1]}
	}
	seen = append(seen, wrote...)
	for _, name := range sortedKeys(before, nil) {
		if strings.Contains(out, "mark:"+name+"\n") {
			seen = append(seen, "read "+name)
		}
	}
	return strings.Join(seen, ", "), nil
}

func sortedKeys(a, b map[string]string) []string {
	var all []string
	for name := range a {
		all = append(all, name)
	}
	for name := range b {
		if _, twice := a[name]; !twice {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// snapshot reads the files of the project, but of git's own only those that
// matter.
func (s *stage) snapshot() (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(s.work, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.work, p)
		git := strings.HasPrefix(name, ".git/") || strings.Contains(name, "/.git/")
		if git && !strings.Contains(name, "hooks/") && !strings.HasSuffix(name, "/config") || strings.HasPrefix(name, ".npm/") || strings.HasPrefix(name, ".cache/") || strings.HasPrefix(name, ".config/go/telemetry") || strings.HasPrefix(name, ".local/") || strings.HasSuffix(name, ".sample") {
			return err
		}
		text, readErr := os.ReadFile(p)
		info, statErr := d.Info()
		if readErr != nil || statErr != nil {
			return nil // it leads nowhere, or is gone
		}
		all[name] = fmt.Sprint(info.Mode()) + string(text)
		return err
	})
	return all, err
}

// TestEffects compares the table with what real programs did when it was recorded and,
// with -probe, with what they do now: versions differ between machines.
func TestEffects(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.FromSlash(effectsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	own, section := map[int]bool{}, false
	for i, line := range lines {
		if strings.HasPrefix(line, "#") {
			section = strings.HasPrefix(line, projectCode)
		}
		own[i] = section
	}
	work := make(chan int)
	var group sync.WaitGroup
	start := time.Now()
	for range 2 {
		s := newStage(t)
		group.Go(func() {
			for i := range work {
				command, recorded, _ := strings.Cut(lines[i], arrow)
				recorded = strings.TrimSpace(recorded)
				if installed(command) && (*probeAll || *effectsRecord) {
					seen, err := s.see(t.Context(), command)
					if err != nil {
						t.Errorf("%s: %v", command, err)
						continue
					}
					if *effectsRecord {
						lines[i] = strings.TrimSpace(command + arrow + " " + seen)
						recorded = seen
					}
					if seen != recorded {
						t.Errorf("%s: did %q, and %q when it was recorded", command, seen, recorded)
					}
				}
				compareEffects(t, command, recorded, own[i])
			}
		})
	}
	for i, line := range lines {
		if line != "" && !strings.HasPrefix(line, "#") {
			work <- i
		}
	}
	close(work)
	group.Wait()
	t.Logf("%d commands in %s", len(lines), time.Since(start).Round(time.Millisecond))
	if *effectsRecord {
		if err := os.WriteFile(effectsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// installed reports whether the program of a command is there.
func installed(command string) bool {
	name := strings.Fields(strings.TrimPrefix(command, "echo x | "))[0]
	_, err := exec.LookPath(name)
	if name == "unzip" {
		_, err = exec.LookPath("zip") // which made what it reads
	}
	return err == nil || slices.Contains([]string{"cd", "exec", "command", "time"}, name)
}

// projectCode begins the part of the commands that run what the project holds.
const projectCode = "# The project's own code"

// compareEffects reports what a command did that the table does not say.
func compareEffects(t *testing.T, command, effects string, own bool) {
	t.Helper()
	subject := bash(command)
	subject.Readlink = func(p string) (string, error) {
		if p == "/repo/planted/.git" {
			return "", syscall.EINVAL
		}
		return "", fs.ErrNotExist
	}
	u := newUse(subject)
	var wide []string
	opaque := len(u.script.doubts) > 0
	for _, c := range u.script.calls {
		opaque = opaque || c.doubt != "" || c.loose
		if hiding[c.words[0].text] {
			return // it runs what it is told, and a rule for it says so
		}
		if c.words[0].text != "pwn" {
			wide = append(wide, "Bash("+c.words[0].text+" *)")
		}
	}
	for effect := range strings.SplitSeq(effects, ", ") {
		verb, name, _ := strings.Cut(effect, " ")
		file := path.Join("/repo", name)
		if strings.HasSuffix(name, "/") {
			file += "/x"
		}
		switch {
		case verb == "ran" && !own && Judge(subject, allow(wide...), terret.PolicyAsk).Behavior != asked:
			t.Errorf("%s: it ran %s, and is allowed by %q", command, name, wide)
		case verb == "wrote" && !opaque && !u.touches(file, true):
			t.Errorf("%s: it wrote %s, which the table does not say", command, name)
		case verb == "read" && !opaque && !u.touches(file, false):
			t.Errorf("%s: it read %s, which the table does not say", command, name)
		}
	}
}

// touches reports whether the script was seen to use the file, or a folder that
// holds it.
func (u *use) touches(file string, write bool) bool {
	for _, f := range slices.Concat(u.script.files, u.script.operands) {
		if f.write != write {
			continue
		}
		for _, cwd := range f.cwds {
			p := path.Clean(join(cwd, f.path.text))
			if p == file || strings.Contains(p, anyText) && mayMatch(p, file) || f.search && inside(file, p) || f.search && strings.HasPrefix(file, p) {
				return true
			}
		}
	}
	return false
}
