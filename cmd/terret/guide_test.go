//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
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

// guideDir holds the guide, which CI runs as it is written.
const guideDir = "../../docs/guide"

// guideAddr is where the guide's server listens. Each run has a port of its own in its place.
const guideAddr = "127.0.0.1:7433"

// excuses are the reasons for which a block of the guide may not be run.
var excuses = []string{"network", "account", "package manager", "another machine", "editor", "service manager", "keeps running", "macOS", "PostgreSQL"}

// guideBlock is a block of commands of a page, and what it must print.
type guideBlock struct {
	line   int      // of the page, where it begins
	needs  []string // programs
	excuse string   // why it is not run; empty if it is
	text   string
	prints []string // lines; … stands for anything
}

var fenceRE = regexp.MustCompile("^```(\\w*) ?(.*)$")

// stepsOf reads the blocks called sh of a page. Behind sh may stand `noexec: REASON`, or
// `needs: PROGRAM`. A block called output that follows says what the one before prints.
func stepsOf(page string) (steps []guideBlock, faults []string) {
	var fence, mark string
	var body []string
	open, begin := false, 0
	for i, line := range strings.Split(page, "\n") {
		m := fenceRE.FindStringSubmatch(line)
		switch {
		case m == nil && open:
			body = append(body, line)
		case m == nil:
		case !open:
			open, fence, mark, body, begin = true, m[1], strings.TrimSpace(m[2]), nil, i+1
			if fence == "" {
				faults = append(faults, fmt.Sprintf("line %d: a block without a language", begin))
			}
		default:
			open = false
			text := strings.Join(body, "\n") + "\n"
			switch {
			case fence == "output" && (len(steps) == 0 || steps[len(steps)-1].excuse != ""):
				faults = append(faults, fmt.Sprintf("line %d: the output of nothing", begin))
			case fence == "output":
				steps[len(steps)-1].prints = append(steps[len(steps)-1].prints, body...)
			case fence == "sh":
				s := guideBlock{line: begin, text: text}
				word, rest, _ := strings.Cut(mark, ": ")
				switch {
				case mark == "":
				case word == "needs":
					s.needs = strings.Fields(rest)
				case word == "noexec" && slices.Contains(excuses, rest):
					s.excuse = rest
				default:
					faults = append(faults, fmt.Sprintf("line %d: %q is neither `noexec: REASON` with one of %q nor `needs: PROGRAM`", begin, mark, excuses))
				}
				steps = append(steps, s)
			}
		}
	}
	if open {
		faults = append(faults, fmt.Sprintf("line %d: the block does not end", begin))
	}
	return steps, faults
}

// TestGuide runs the commands of each page of the guide in order, in a folder and a home of
// their own, with the demo model.
func TestGuide(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(guideDir + "/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, file := range pages {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps, faults := stepsOf(string(page))
			for _, fault := range faults {
				t.Errorf("docs/guide/%s.md: %s", name, fault)
			}
			steps = slices.DeleteFunc(steps, func(s guideBlock) bool {
				if s.excuse != "" {
					t.Logf("docs/guide/%s.md:%d is not run: %s", name, s.line, s.excuse)
				}
				for _, program := range s.needs {
					if _, err := exec.LookPath(program); err != nil {
						if os.Getenv("CI") != "" {
							t.Errorf("docs/guide/%s.md:%d needs %s", name, s.line, program)
						}
						t.Logf("docs/guide/%s.md:%d is not run: there is no %s", name, s.line, program)
						return true
					}
				}
				return s.excuse != ""
			})
			if len(steps) > 0 {
				for _, fault := range runSteps(t, steps) {
					t.Errorf("docs/guide/%s.md:%s", name, fault)
				}
			}
		})
	}
}

// runSteps runs the blocks in one shell, which stops at the first command that fails, and
// returns what went wrong.
func runSteps(t *testing.T, steps []guideBlock) (faults []string) {
	t.Helper()
	const mark = "@@ block "
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'trap - EXIT; for j in $(jobs -p); do kill $j; done 2>/dev/null; wait' EXIT\n")
	for i, s := range steps {
		fmt.Fprintf(&script, "printf '\\n%s%d\\n'\n%s", mark, i, s.text)
	}
	fmt.Fprintf(&script, "printf '\\n%s%d\\n'\n", mark, len(steps))
	home := t.TempDir()
	project, temp := filepath.Join(home, "project"), filepath.Join(home, "temp")
	for _, dir := range []string{project, temp} {
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	addr := freeAddr(t)
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(script.String(), guideAddr, addr))
	cmd.Dir = project
	cmd.Env = []string{
		"HOME=" + home, "TMPDIR=" + temp, "PATH=" + os.Getenv("PATH"), "USER=ann", "TERRET_MODEL=demo", "TERRET_ADDR=" + addr, "GORACE=" + noRaceSleep,
		"GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@example.org",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	parts := strings.Split(out.String(), "\n"+mark)[1:]
	for i, s := range steps {
		if i+1 >= len(parts) {
			last := ""
			if i < len(parts) {
				last = parts[i]
			}
			return append(faults, fmt.Sprintf("%d: the block fails (%v):\n%s\nit printed:\n%s", s.line, err, s.text, last))
		}
		if missing := missingLine(parts[i], s.prints); missing != "" {
			faults = append(faults, fmt.Sprintf("%d: the block does not print %q; it printed:\n%s", s.line, missing, parts[i]))
		}
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		faults = append(faults, fmt.Sprintf("%d: the end fails: %v\n%s", steps[len(steps)-1].line, err, parts[len(parts)-1]))
	}
	return faults
}

// missingLine is the first of the lines that is not in the text behind the one before;
// empty if all are. … stands for anything in a line.
func missingLine(text string, lines []string) string {
	rest := strings.Split(text, "\n")
	for _, want := range lines {
		if want == "" || want == "…" {
			continue
		}
		re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + `\s*$`)
		at := slices.IndexFunc(rest, re.MatchString)
		if at < 0 {
			return want
		}
		rest = rest[at+1:]
	}
	return ""
}

// freeAddr is an address on this machine at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestGuideSeesFaults holds that a page whose commands fail, or print something else, fails.
func TestGuideSeesFaults(t *testing.T) {
	t.Parallel()
	fence := func(info, text string) string { return "```" + info + "\n" + text + "\n```\n" }
	for name, page := range map[string]string{
		"fails":     fence("sh", "terret nonsense"),
		"stops":     fence("sh", "false\ntrue"),
		"prints":    fence("sh", "echo one; echo two") + fence("output", "two\none"),
		"excuse":    fence("sh noexec: it is late", "true"),
		"endless":   "```sh\ntrue\n",
		"nothing":   fence("output", "one"),
		"no fence":  fence("", "true"),
		"exit code": fence("sh", "exit 3"),
	} {
		steps, faults := stepsOf(page)
		if len(faults) == 0 {
			faults = runSteps(t, steps)
		}
		if len(faults) == 0 {
			t.Errorf("%s: no fault is seen in\n%s", name, page)
		}
	}
	steps, faults := stepsOf(fence("sh", "x=1") + fence("sh noexec: network", "false") + fence("sh", "echo $x is one\necho two") + fence("output", "1 … one\ntwo"))
	steps = slices.DeleteFunc(steps, func(s guideBlock) bool { return s.excuse != "" })
	if faults = append(faults, runSteps(t, steps)...); len(faults) > 0 || len(steps) != 2 {
		t.Errorf("%d steps, %q", len(steps), faults)
	}
}

// TestGuideProgram checks the types of the guide's Go program.
func TestGuideProgram(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(guideDir + "/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```go\n")
	program, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatal("the page has no Go program")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
