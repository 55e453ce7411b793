//go:build unix

package policy

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// tried are the programs that TestPrograms runs: those that can run others or
// write, and do no harm in a scratch folder.
var tried = strings.Fields("git sort uniq cp mv ln install tee dd tar sed find xargs env nice timeout make gzip split csplit shuf truncate patch zip awk xxd stdbuf setsid gofmt " +
	"cat nl od head tail wc cmp cut diff grep jq paste ls stat base64")

// hostileValues are words that make programs run pwn, or write where they must
// not, if they are taken for the wrong thing.
var hostileValues = []string{
	"pwn", "./pwn", "out/x", "out", "src/a", "src", "b.txt", ".git/hooks/post-checkout", ".git/hooks", ".git/config", "-", "--", "1", "0", "HEAD", "HEAD~1", "main", "side", "x", ".", "!pwn", "|pwn",
	"exec=pwn", "-Opwn", "--upload-pack=pwn", "--output=.git/hooks/x", "--receive-pack=pwn", "-exec", ";", "{}", "+", "src/x.tar", "src/x.patch", "src/script.sed", "1e pwn", "w .git/hooks/x", "s/.*/pwn/e",
	"s/a/b/", "p", "ext::pwn x", "main:x", "if=src/a", "of=out/x", "of=.git/hooks/x", "A=b", "SHELL=pwn", "ARGS=;pwn", "all", "5", "BEGIN{system(\"pwn\")}", "{print}", "-x", "-i", "-o", "-e", "-f", "-I", "-C", "-c", "-u",
	"--exec=pwn", "--to-command=pwn", "--compress-program=pwn", "--filter=pwn", "--eval=x:;pwn", "core.fsmonitor=pwn", "color.ui=never", "src/evil.mk",
}

// call makes a call of a program with options of its row, spelled in all ways,
// and with hostile values.
func (g *generator) call(r *row) string {
	options := slices.Sorted(maps.Keys(r.options))
	words := strings.Fields(r.name)
	if words[0] == "git" && g.one(6) {
		words = append([]string{"git", g.pick([]string{"--no-pager", "-C src", "-C planted", "-c color.ui=never", "-p"})}, words[1:]...)
	}
	for range 1 + g.random.IntN(6) {
		value := quoteWord(g.pick(hostileValues))
		if len(options) == 0 || g.one(3) {
			words = append(words, value)
			continue
		}
		option := g.pick(options)
		switch {
		case strings.HasPrefix(option, "--") && g.one(5) && len(option) > 4:
			option = option[:3+g.random.IntN(len(option)-3)] // cut short
		case len(option) == 2 && g.one(3):
			option += strings.TrimPrefix(g.pick(options), "-")[:1] // two of them
		}
		switch g.random.IntN(3) {
		case 0:
			words = append(words, option)
		case 1:
			words = append(words, option, value)
		default:
			if len(option) > 2 {
				option += "="
			}
			words = append(words, option+value)
		}
	}
	return strings.Join(words, " ")
}

// quoteWord writes a word so that the shell reads it back.
func quoteWord(w string) string {
	if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=+,@%") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// TestPrograms makes calls of real programs, judges them under a rule for the
// program with a star, and runs those that are allowed: none may run pwn, and
// none may write what was not seen.
func TestPrograms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash to run programs with")
	}
	var rows []*row
	for _, name := range slices.Sorted(maps.Keys(table())) {
		program, _, _ := strings.Cut(name, " ")
		if _, err := exec.LookPath(program); err == nil && slices.Contains(tried, program) && table()[name].opaque == "" {
			rows = append(rows, table()[name])
		}
	}
	seed := *differSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (go test ./policy -run TestPrograms -args -differ 1h -differ.seed %d)", seed, seed)
	ctx, cancel := context.WithTimeout(t.Context(), *differFor)
	defer cancel()
	var judged, allowed atomic.Int64
	var group sync.WaitGroup
	for worker := range 2 {
		s := newStage(t)
		group.Go(func() {
			g := &generator{random: rand.New(rand.NewPCG(seed, uint64(worker)))}
			// On a busy machine it goes on until something was compared at all.
			for (ctx.Err() == nil || allowed.Load() == 0) && t.Context().Err() == nil && !t.Failed() {
				command := g.call(rows[g.random.IntN(len(rows))])
				judged.Add(1)
				ran, wrong, err := s.tryProgram(t.Context(), command)
				if ran {
					allowed.Add(1)
				}
				if err != nil || wrong != "" {
					t.Errorf("%s: %s %v", command, wrong, err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d calls of %d rows, %d allowed and run", judged.Load(), len(rows), allowed.Load())
	if allowed.Load() == 0 {
		t.Error("no call was allowed: the comparison shows nothing")
	}
}

// tryProgram runs a command if a rule for its program allows it. It returns what
// is wrong with that.
func (s *stage) tryProgram(ctx context.Context, command string) (ran bool, wrong string, err error) {
	program, _, _ := strings.Cut(command, " ")
	subject := s.subject(command)
	allowed := func() bool {
		return Judge(subject, allow("Bash("+program+" *)"), terret.PolicyAsk).Behavior == terret.BehaviorAllow
	}
	if !allowed() {
		return false, "", nil
	}
	if err := s.fresh(ctx); err != nil {
		return false, "", err
	}
	if !allowed() { // what the last one left had changed it
		return false, "", nil
	}
	u := newUse(subject)
	before, err := s.snapshot()
	if err != nil {
		return true, "", err
	}
	trace := ""
	if strace, err := exec.LookPath("strace"); err == nil {
		trace = filepath.Join(s.log, "trace")
		_, _ = s.do(ctx, s.work, strace, "-f", "-qq", "-y", "-s", "4096", "-e", "trace=execve,open,openat,creat", "-o", trace, "bash", "-c", command)
	} else {
		_, _ = s.do(ctx, s.work, "bash", "-c", command)
	}
	if wrong, err := s.traced(u, program, trace); err != nil || wrong != "" {
		return true, wrong, err
	}
	recorded, err := s.recorded()
	if err != nil {
		return true, "", err
	}
	for _, words := range recorded {
		if words[0] == "pwn" {
			return true, fmt.Sprintf("it ran %q", words), nil
		}
	}
	after, err := s.snapshot()
	if err != nil {
		return true, "", err
	}
	for _, name := range sortedKeys(before, after) {
		changed := before[name] != after[name]
		// git moves the files that it tracks as it likes, and keeps settings of
		// branches; make does what the makefile says.
		own := program == "make" || program == "git" && !strings.Contains(name, "hooks/")
		if changed && !own && !u.touches(filepath.Join(s.work, name), true) {
			return true, "it wrote " + name + ", which was not seen", nil
		}
	}
	return true, "", nil
}

// opened finds the calls of a trace that open a file: the folder, the path and the flags.
var opened = regexp.MustCompile(`(?m)^\d+ +(open|openat|creat)\((?:AT_FDCWD<([^>]*)>|\d+<([^>]*)>)?(?:, )?"([^"]*)"(?:, ([A-Z_|]*))?.*\) = \d`)

// executed finds the programs of a trace that were started.
var executed = regexp.MustCompile(`(?m)^\d+ +execve\("([^"]*)".* = 0$`)

// traced compares what a command touched, as the kernel saw it, with what was judged. It
// says what is wrong.
func (s *stage) traced(u *use, program, trace string) (wrong string, err error) {
	if trace == "" {
		return "", nil
	}
	raw, err := os.ReadFile(trace)
	if err != nil {
		return "", err
	}
	if err := os.Remove(trace); err != nil {
		return "", err
	}
	for _, m := range executed.FindAllStringSubmatch(string(raw), -1) {
		if !path.IsAbs(m[1]) || strings.HasPrefix(m[1], s.root) {
			return "it started " + m[1], nil
		}
	}
	for _, m := range opened.FindAllStringSubmatch(string(raw), -1) {
		file := path.Clean(join(m[2]+m[3], m[4]))
		write := m[1] == "creat" || strings.Contains(m[5], "O_WRONLY") || strings.Contains(m[5], "O_RDWR") || strings.Contains(m[5], "O_CREAT")
		below, inWork := strings.CutPrefix(file, s.work+"/")
		switch {
		case program == "git" || program == "make", strings.Contains(m[5], "O_DIRECTORY"): // git reads and keeps what it likes of its own
		case strings.HasPrefix(below, ".cache"), strings.HasPrefix(below, ".config/go"): // of go itself
		case inWork && !u.touches(file, write) && (write || !u.touches(file, true)):
			return fmt.Sprintf("it opened %s (%s), which was not seen", below, m[5]), nil
		case !inWork && write && !strings.HasPrefix(file, "/dev/") && !strings.HasPrefix(file, "/proc/") && !strings.HasPrefix(file, os.TempDir()+"/"):
			return fmt.Sprintf("it opened %s (%s)", file, m[5]), nil
		}
	}
	return "", nil
}
