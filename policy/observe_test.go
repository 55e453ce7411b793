//go:build unix

package policy

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	probeAll    = flag.Bool("probe", false, "compare the table with the real programs that are installed here, not only with what they said when it was recorded")
	probeRecord = flag.Bool("probe.record", false, "write down what the real programs say, for those that are installed")
)

// optionsFile holds what real programs said about their options. It is written by
// go test ./policy -run TestOptions -args -probe.record, and read where a program
// is not installed.
const optionsFile = "testdata/options.txt"

// Answers of a program about an option.
const (
	answerNone     = "none"     // it takes no value
	answerValue    = "value"    // it takes the next word
	answerOptional = "optional" // it takes a value that is attached
	answerUnknown  = "unknown"  // this version has no such option
)

// answers is the answer for each option of a row.
type answers map[string]string

var (
	bogusLong = "--no-such-option"
	// complaint is what programs say about an option that they do not have.
	complaint = regexp.MustCompile(`(?i)(unrecogni[sz]ed|unknown) (option|argument|switch|flag|shorthand|predicate)|invalid option|illegal option|not defined|is unknown|bad flag`)
)

// prober asks real programs, in a scratch repository.
type prober struct{ *sandbox }

func newProber(t *testing.T) *prober {
	t.Helper()
	p := &prober{newSandbox(t)}
	if err := p.reset(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "one"},
	} {
		if out, err := p.real(t.Context(), "git", args...); err != nil {
			t.Logf("git %v: %v\n%s", args, err, out)
		}
	}
	return p
}

// real runs a real program with nothing to read, and returns what it says.
func (p *prober) real(ctx context.Context, name string, args ...string) (string, error) {
	return p.realIn(ctx, os.Getenv("PATH"), name, args...)
}

// realIn is real with another PATH for what the program runs in turn.
func (p *prober) realIn(ctx context.Context, path, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.work
	cmd.Env = []string{"PATH=" + path, "HOME=" + p.work, "LANG=C", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GOFLAGS=", "GOCACHE=" + p.work + "/.cache", "GOTELEMETRY=off"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}

// complains reports whether the program says that it has no such option.
func complains(out, option string) bool {
	named := regexp.MustCompile("(^|[\\s'\"`])-*" + regexp.QuoteMeta(strings.TrimLeft(option, "-")) + "($|[\\s'\":=])")
	for line := range strings.Lines(out) {
		if complaint.MatchString(line) && named.MatchString(line) {
			return true
		}
	}
	return false
}

// ask finds out how a program reads an option, from its complaints about another
// one behind it that it does not have: an option that takes a value swallows it.
// Where the program does not complain, its help may tell. The answer is empty if
// neither does.
func (p *prober) ask(ctx context.Context, r *row, option string) string {
	words := strings.Fields(r.name)
	bogus := bogusLong
	switch {
	case slices.Contains(shortOnly, words[0]):
		bogus = "-~"
	case r.single:
		bogus = "-no-such-option"
	}
	say := func(args ...string) string {
		before := words[1:]
		if words[0] == "find" {
			before = []string{"."}
		}
		out, _ := p.real(ctx, words[0], slices.Concat(before, args)...)
		return out
	}
	if !complains(say(bogus), bogus) {
		return helps(say("-h"), option)
	}
	out := say(option, bogus)
	switch {
	case complains(out, option):
		return answerUnknown
	case !complains(out, bogus):
		if needsValue.MatchString(say(option)) {
			return answerValue
		}
		return helps(say("-h"), option)
	case r.single || words[0] == "curl" || bogus == "-~": // which know no optional values
		return answerNone
	case strings.HasPrefix(option, "--"):
		for _, value := range probeValues {
			if complains(say(option+"="+value, bogus), bogus) {
				return answerOptional
			}
		}
		if refuses.MatchString(say(option+"=x", bogus)) {
			return answerNone
		}
		return helps(say("-h"), option)
	}
	out = say(option+"~", bogus)
	if complains(out, "~") || complains(out, option+"~") {
		return answerNone
	}
	for _, value := range probeValues {
		if complains(say(option+value, bogus), bogus) {
			return answerOptional
		}
	}
	return helps(say("-h"), option)
}

// probeValues are values of which each option that takes one accepts some.
var probeValues = []string{"x", "1", ".", "always", "no", "a=b", "2020-01-01", "/dev/null", "HEAD", "%s", "all", "utf-8", "+x"}

// helps reads what a program's help says about an option.
func helps(help, option string) string {
	for line := range strings.Lines(help) {
		line = strings.TrimSpace(line)
		head, _, _ := strings.Cut(line, "  ")
		if !strings.HasPrefix(line, "-") {
			continue
		}
		listed := false
		for part := range strings.SplitSeq(head, ", ") {
			name := strings.TrimRight(part[:len(part)-len(strings.TrimLeft(strings.TrimLeft(part, "-"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"))], "-")
			listed = listed || name == option || strings.HasPrefix(part, "--[no-]") && option == "--"+strings.TrimPrefix(part, "--[no-]")
		}
		if !listed {
			continue
		}
		head = strings.ReplaceAll(head, "[no-]", "")
		switch {
		case strings.Contains(head, "["):
			return answerOptional
		case strings.ContainsAny(head, "<(=") || strings.Contains(head, " ..."):
			return answerValue
		}
		return answerNone
	}
	return ""
}

// needsValue is what programs say when the value of an option is missing.
var needsValue = regexp.MustCompile(`(?i)(requires|needs|expects|missing) (an? )?(argument|value|parameter)|option requires|requires? parameter`)

// refuses is what programs say when a value is attached to an option without one.
var refuses = regexp.MustCompile(`(?i)allow an argument|takes no value|unrecogni[sz]ed|unknown option|unknown argument|unknown switch|invalid option|Bad flag`)

// shortOnly are programs that know no long options.
var shortOnly = []string{"scp", "sftp", "doas", "xxd", "exec", "ninja"}

// unasked are closed rows whose programs do not say what is wrong with an option,
// or are not at hand: the effects are tested where there are any.
var unasked = map[string]string{
	"awk": "mawk reads what it does not know as -W", "mawk": "as awk", "nawk": "as awk", "gawk": "it prints its usage and nothing else",
	"zip": "it has no complaint that names the option", "unzip": "as zip", "xxd": "it prints its usage and nothing else", "bzip2": "it takes all of the line for names", "zstd": "it prints its usage and nothing else", "unzstd": "as zstd", "bunzip2": "as bzip2",
	"sudo": "it must be installed with its rights", "caffeinate": "it is on macOS only", "unbuffer": "it is rarely installed",
	"command": "it is a builtin", "exec": "it is a builtin", "time": "it is a keyword; GNU's program is asked as gtime is",
	"git rev-list": "it prints its usage and nothing else, as the next three", "git diff-files": "", "git diff-index": "", "git diff-tree": "",
	"mvn": "it prints its usage and nothing else", "openssl": "as mvn", "kubectl": "it calls its server", "go tool cover": "it is built first", "cargo": "it builds", "gcc": "it takes any option", "cc": "as gcc", "g++": "as gcc", "c++": "as gcc",
	"npm": "its options are read from its own table", "npx": "as npm", "yarn": "it takes any option", "pnpm": "it takes any option",
}

// closed lists the rows whose options are all in the table, by name.
func closedRows() []*row {
	var all []*row
	for _, name := range slices.Sorted(maps.Keys(table())) {
		r := table()[name]
		if !r.pure && r.opaque == "" && len(r.options) > 0 && !strings.HasPrefix(name, "@") {
			all = append(all, r)
		}
	}
	return all
}

// fits reports whether the table and the program agree about an option.
func (k kind) fits(option, answer string) bool {
	switch {
	case answer == answerUnknown || k == kindCommands: // of another version, or read by findExec
		return true
	case k.takesWord():
		return answer == answerValue
	case len(option) > 2: // a value is then behind =, or there is none
		return answer != answerValue
	case k == kindAttached:
		return answer == answerOptional
	}
	return answer == answerNone
}

func TestOptions(t *testing.T) {
	t.Parallel()
	recorded := readAnswers(t)
	p := newProber(t)
	asked, wrong := 0, 0
	for _, r := range closedRows() {
		program, _, _ := strings.Cut(r.name, " ")
		if _, skip := unasked[r.name]; skip || unasked[program] != "" {
			continue
		}
		_, err := exec.LookPath(program)
		installed := err == nil
		if *probeRecord && alike(recorded, r) {
			continue // one of a program's commands with these options is enough
		}
		if *probeRecord && installed && recorded[r.name] == nil {
			recorded[r.name] = answers{}
		}
		for _, option := range slices.Sorted(maps.Keys(r.options)) {
			if option == "-NUM" {
				continue
			}
			if installed && (*probeAll || *probeRecord && recorded[r.name][option] == "") {
				asked++
				is := p.ask(t.Context(), r, option)
				if was := recorded[r.name][option]; !*probeRecord && was != "" && is != "" && was != is && was != answerUnknown && is != answerUnknown {
					t.Errorf("%s %s: the program says %s, and said %s when it was recorded", r.name, option, is, was)
				}
				if *probeRecord && is != "" {
					recorded[r.name][option] = is
				}
			}
			if answer := recorded[r.name][option]; answer != "" && !r.options[option].fits(option, answer) {
				wrong++
				t.Errorf("%s %s: the program says %s, the table something else", r.name, option, answer)
			}
		}
	}
	if *probeRecord {
		maps.DeleteFunc(recorded, func(name string, _ answers) bool {
			_, skip := unasked[name]
			return skip || table()[name] == nil
		})
		writeAnswers(t, recorded)
	}
	t.Logf("%d rows recorded, %d options asked now", len(recorded), asked)
}

// alike reports whether another row with the same options was recorded.
func alike(recorded map[string]answers, r *row) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(recorded)), func(other string) bool {
		return other != r.name && len(recorded[other]) > 0 && table()[other] != nil && maps.Equal(table()[other].options, r.options)
	})
}

// readAnswers reads the record: a row's name, and below it each answer with its
// options.
func readAnswers(t *testing.T) map[string]answers {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(optionsFile))
	if err != nil && !*probeRecord {
		t.Fatal(err)
	}
	all, name := map[string]answers{}, ""
	for line := range strings.Lines(string(raw)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "\t"):
			name = strings.TrimSpace(line)
			all[name] = answers{}
		default:
			for _, option := range fields[1:] {
				all[name][option] = fields[0]
			}
		}
	}
	return all
}

func writeAnswers(t *testing.T, all map[string]answers) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# What real programs say about the options in the table: see observe_test.go.\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		by := map[string][]string{}
		for _, option := range slices.Sorted(maps.Keys(all[name])) {
			by[all[name][option]] = append(by[all[name][option]], option)
		}
		fmt.Fprintf(&b, "%s\n", name)
		for _, answer := range slices.Sorted(maps.Keys(by)) {
			fmt.Fprintf(&b, "\t%s %s\n", answer, strings.Join(by[answer], " "))
		}
	}
	if err := os.WriteFile(optionsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unseen are closed rows of which no program was at hand, with the reason.
var unseen = map[string]string{
	"bat": "read from its manual, as the next", "black": "", "gcc": "", "g++": "", "cc": "", "c++": "", "clang": "", "clang++": "", "cargo": "", "cmake": "", "eslint": "", "flake8": "", "gradle": "",
	"gradlew": "", "isort": "", "jest": "", "vitest": "", "kubectl": "", "mvn": "", "mypy": "", "openssl": "", "pytest": "", "ruff": "", "tsc": "", "pip": "",
	"podman": "its options are those of docker that it shares", "doas": "", "ninja": "", "sudo": "it must be installed with its rights",
	"gofumpt": "as gofmt", "goimports": "as gofmt", "bunx": "as npx", "pnpx": "as npx", "uv": "", "gtimeout": "as timeout", "gtar": "as tar", "gtime": "as time",
	"pipx": "", "poetry": "", "pipenv": "", "hatch": "", "bundle": "", "mise": "", "uvx": "", "rustup": "", "direnv": "", "repeat": "zsh's own", "builtin": "", "-": "zsh's own", "noglob": "zsh's own", "nocorrect": "zsh's own",
	"toybox": "", "busybox": "", "torsocks": "", "rlwrap": "", "cross-env": "", "bun": "",
	"nawk": "as awk", "mawk": "awk is mawk on Debian",
}

// TestEveryRowWasSeen makes sure that what the table says of a program was
// compared with the program: with what it says about its options, or with what it
// does.
func TestEveryRowWasSeen(t *testing.T) {
	t.Parallel()
	recorded := readAnswers(t)
	effects, err := os.ReadFile(filepath.FromSlash(effectsFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range table() {
		program, _, _ := strings.Cut(name, " ")
		_, told := recorded[name]
		_, excused := unseen[program]
		if unasked[program] != "" { // then its effects are all there is
			name = program
		}
		does := strings.Contains(string(effects), "\n"+name+" ") || strings.Contains(string(effects), "| "+name+" ")
		group := strings.HasPrefix(name, "@") || len(r.options) == 0 && (len(r.args) == 0 || r.args[0].kind == kindSub)
		if !told && !alike(recorded, r) && !does && !excused && !r.pure && r.opaque == "" && !group {
			t.Errorf("nothing was seen of %s", name)
		}
	}
}
