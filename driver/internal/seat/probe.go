package seat

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/proc"
)

// Patience bounds each question to a program.
const Patience = 20 * time.Second

// Program is an agent's program: how it is started, and asked about itself.
type Program struct {
	Name  string // what users call the agent
	Title string // what its makers call it
	Path  string // a name to look up in PATH, or a path
	// Env is the environment it is asked in.
	Env []string
	// Install is the command that installs it; empty if there is none.
	Install string
	// Oldest and Newest are the versions between which it was tested; empty if it was
	// not. Then a program need not say a version.
	Oldest, Newest string
	// SignIn says what to do if nobody is signed in, as a sentence.
	SignIn string
}

// Probe fills in what is known about an agent. Auth says whether somebody is signed in
// (ok, missing, unknown); it is called only if the program answers.
func (p Program) Probe(ctx context.Context, about terret.Probe, auth func(context.Context) string) (terret.Probe, error) {
	path, err := exec.LookPath(p.Path)
	if err != nil {
		about.Fix = fmt.Sprintf("%s was not found%s", p.Path, p.hint("install "+p.Title+" with"))
		return about, nil
	}
	about.Path = path
	said, code, err := p.Ask(ctx, "--version")
	about.Version = VersionIn(said)
	if p.Newest != "" && (err != nil || code != 0 || about.Version == "") {
		about.Fix = fmt.Sprintf("%s does not answer like %s%s", path, p.Title, p.hint("reinstall it with"))
		return about, context.Cause(ctx)
	}
	about.Found, about.Tested, about.Auth = true, p.tested(about.Version), auth(ctx)
	switch {
	case about.Auth == "missing":
		about.Fix = p.SignIn
	case about.Tested == terret.TestedOlder:
		about.Fix = fmt.Sprintf("version %s is older than %s%s", about.Version, p.versions(), p.hint("update it with"))
	case about.Tested == terret.TestedNewer:
		about.Fix = fmt.Sprintf("version %s is newer than %s%s", about.Version, p.versions(), p.hint("if something fails, go back with"))
	}
	return about, context.Cause(ctx)
}

// Ask runs the program once, outside any project, and returns what it printed. It waits
// until the program and all its processes are gone.
func (p Program) Ask(ctx context.Context, args ...string) (said string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	run, err := proc.Start(ctx, proc.Spec{Argv: append([]string{p.Path}, args...), Dir: "/", Env: p.Env})
	if err != nil {
		return "", 0, err
	}
	defer context.AfterFunc(ctx, func() { _, _ = run.Stop(ctx) })()
	_ = run.Stdin().Close()
	out, err := io.ReadAll(io.LimitReader(run.Stdout(), 1<<20))
	_ = run.Stdout().Close()
	exit, stopErr := run.Stop(ctx)
	if err == nil {
		err = stopErr
	}
	said = strings.TrimSpace(string(out))
	if said == "" {
		said = strings.TrimSpace(run.StderrTail())
	}
	return said, exit.Code, err
}

// hint is what to do, and the command for it; empty if there is no command.
func (p Program) hint(do string) string {
	if p.Install == "" {
		return ""
	}
	return fmt.Sprintf("; %s `%s`", do, p.Install)
}

// versions names the versions that were tested.
func (p Program) versions() string {
	if p.Oldest == p.Newest {
		return "the tested one (" + p.Newest + ")"
	}
	return "the tested ones (" + p.Oldest + " to " + p.Newest + ")"
}

func (p Program) tested(version string) terret.Tested {
	switch {
	case p.Newest == "":
		return ""
	case Compare(version, p.Oldest) < 0:
		return terret.TestedOlder
	case Compare(version, p.Newest) > 0:
		return terret.TestedNewer
	}
	return terret.TestedYes
}

// versionPattern is a version in the first line, at its start or after a name.
var versionPattern = lazyregexp.New(`^(?:[^\n]*?[ \t])??v?(\d+\.\d+\.\d+)`)

// VersionIn returns the version a program says; empty if it says none.
func VersionIn(said string) string {
	if m := versionPattern.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return ""
}

// Compare compares versions, which are numbers between dots: it is negative if a is
// older than b.
func Compare(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x - y
		}
	}
	return len(as) - len(bs)
}
