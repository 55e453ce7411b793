//go:build unix

package policy

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

var (
	differFor  = flag.Duration("differ", 3*time.Second, "how long TestDifferential looks for scripts that are judged wrongly")
	differSeed = flag.Uint64("differ.seed", 1, "where TestDifferential begins; 0 takes the time")
)

// differRules allow commands of the sandbox as people would. Nothing allows pwn.
var differRules = allow("Bash(ls *)", "Bash(git status *)", "Bash(git log *)", "Bash(cat *)", "Bash(grep *)", "Bash(wc *)", "Bash(head *)",
	"Bash(echo *)", "Bash(find *)", "Bash(xargs *)", "Bash(test *)", "Bash(date)", "Bash(jq *)", "Edit(out/**)", "Read(src/**)")

// shells are the shells that scripts are run by, the first of which is bash.
func shells(t *testing.T) []string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	all := []string{bash}
	for _, name := range []string{"dash", "zsh"} {
		if p, err := exec.LookPath(name); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// differ is one comparison of judgments with what shells do.
type differ struct {
	shells                       []string
	judged, allowed, passed, ran atomic.Int64
}

// subject is a use of the shell in the sandbox.
func (s *sandbox) subject(script string) Subject {
	return Subject{Tool: "Bash", Class: terret.ClassExecute, Input: object("command", script), Cwd: s.work, Roots: []string{s.work}, Home: s.work}
}

// try judges a script and runs it if it was allowed. It returns what is wrong.
func (d *differ) try(ctx context.Context, s *sandbox, script, shell string) (string, error) {
	d.judged.Add(1)
	subject := s.subject(script)
	byRules := Judge(subject, differRules, terret.PolicyAsk).Behavior == terret.BehaviorAllow
	byPolicy := Judge(subject, deny("Bash(pwn *)", "Edit(b.txt)"), terret.PolicyAutoApprove).Behavior == terret.BehaviorAllow
	if byRules {
		d.allowed.Add(1)
	}
	if byPolicy {
		d.passed.Add(1)
	}
	if !byRules && !byPolicy {
		return "", nil
	}
	d.ran.Add(1)
	got, err := s.run(ctx, shell, script)
	if err != nil {
		return "", err
	}
	u := newUse(subject)
	for _, command := range got.commands() {
		switch {
		case command[0] == "pwn":
			return fmt.Sprintf("it ran %q", command), nil
		case byRules && !u.judged(command):
			return fmt.Sprintf("it ran %q, which was not judged; it was read as %+v", command, partsOf(subject)), nil
		}
	}
	for _, file := range got.wrote {
		if byRules && !u.writes(file) || file == "b.txt" {
			return fmt.Sprintf("it wrote %s, which was not judged", file), nil
		}
	}
	return "", nil
}

// commands are what ran, and what a shell without a hook could not find.
func (o observed) commands() [][]string {
	all := o.ran
	for line := range strings.Lines(o.stderr) {
		if rest, ok := strings.CutSuffix(strings.TrimSpace(line), ": not found"); ok {
			all = append(all, []string{rest[strings.LastIndex(rest, ": ")+1:]})
			all[len(all)-1][0] = strings.TrimSpace(all[len(all)-1][0])
		}
	}
	return all
}

// substituted is what a shell puts for <(…).
var substituted = regexp.MustCompile(`/(dev|proc/self)/fd/[0-9]+`)

// judged reports whether a command that ran is one that the rules were asked
// about. Of one that was not found only the name is known.
func (u *use) judged(command []string) bool {
	if command[0] == "time" || command[0] == "[[" {
		return true // keywords of bash, and commands for dash
	}
	ran := substituted.ReplaceAllString(joined(literals(command...)), "/dev/fd/63")
	for _, c := range u.script.calls {
		if mayMatch(ran, possible(c.words)) || len(command) == 1 && mayMatch(ran, c.words[0].text) {
			return true
		}
	}
	return false
}

// writes reports whether the script was seen to write the file.
func (u *use) writes(file string) bool {
	for _, f := range append(u.script.files, u.script.operands...) {
		for _, cwd := range f.cwds {
			if f.write && mayMatch(path.Clean(join(cwd, f.path.text)), path.Join(u.Cwd, file)) {
				return true
			}
		}
		if f.write && len(f.cwds) == 0 {
			return true
		}
	}
	return false
}

// TestDifferential compares judgments with what real shells do. What was judged
// wrongly once is in testdata/differential; the rest is generated.
func TestDifferential(t *testing.T) {
	t.Parallel()
	d := &differ{shells: shells(t)}
	seed := *differSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (go test ./policy -run TestDifferential -args -differ 1h -differ.seed %d)", seed, seed)
	d.corpus(t)
	ctx, cancel := context.WithTimeout(t.Context(), *differFor)
	defer cancel()
	var group sync.WaitGroup
	for worker := range min(4, runtime.GOMAXPROCS(0)) {
		s := newSandbox(t)
		group.Go(func() {
			g := &generator{random: rand.New(rand.NewPCG(seed, uint64(worker)))}
			for n := 0; ctx.Err() == nil && !t.Failed(); n++ {
				script := g.script()
				// The limit ends the generating, not a comparison.
				wrong, err := d.try(t.Context(), s, script, d.shells[n%len(d.shells)])
				if err != nil {
					t.Errorf("%q: %v", script, err)
				} else if wrong != "" {
					t.Errorf("%s: %q\n%s", filepath.Base(d.shells[n%len(d.shells)]), script, wrong)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d scripts, %d allowed by rules, %d by auto-approve, %d run", d.judged.Load(), d.allowed.Load(), d.passed.Load(), d.ran.Load())
	if d.allowed.Load() == 0 {
		t.Error("no script was allowed: the comparison shows nothing")
	}
}

// corpus tries the scripts that are kept, in every shell.
func (d *differ) corpus(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("testdata/differential/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no corpus: %v", err)
	}
	s := newSandbox(t)
	for _, file := range files {
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, shell := range d.shells {
			if wrong, err := d.try(t.Context(), s, string(script), shell); wrong != "" || err != nil {
				t.Errorf("%s, %s: %s %v", file, filepath.Base(shell), wrong, err)
			}
		}
	}
}
