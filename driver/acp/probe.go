package acp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// probePatience bounds each question to the program.
const probePatience = 20 * time.Second

// Probe implements terret.Prober. The program says its version; whether somebody is
// signed in is told by what is there.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	can := d.p.Can
	if can == nil {
		can = &Features{}
	}
	p := terret.Probe{Agent: d.p.Name, Capabilities: d.p.capabilities(*can)}
	path, err := exec.LookPath(d.p.Argv[0])
	if err != nil {
		p.Fix = fmt.Sprintf("%s was not found%s", d.p.Argv[0], installHint(d.p))
		return p, nil
	}
	p.Path = path
	if p.Version = d.version(ctx); p.Version == "" && d.p.Tested != "" {
		p.Fix = fmt.Sprintf("%s does not answer like %s%s", path, d.p.title(), installHint(d.p))
		return p, context.Cause(ctx)
	}
	p.Found = true
	p.Tested = testedOf(p.Version, d.p.Tested)
	p.Auth = d.p.auth(d.cfg.Environ)
	switch {
	case p.Auth == "missing":
		p.Fix = fmt.Sprintf("nobody is signed in; run `%s`, or set %s", d.p.SignIn.Command, d.p.SignIn.Variables[0])
	case p.Tested == terret.TestedOlder:
		p.Fix = fmt.Sprintf("version %s is older than the one that was tested (%s)%s", p.Version, d.p.Tested, installHint(d.p))
	}
	return p, context.Cause(ctx)
}

// auth says whether somebody is signed in, in that environment.
func (p Profile) auth(env []string) string {
	s := p.SignIn
	if len(s.Variables)+len(s.Files) == 0 {
		return "unknown"
	}
	if slices.ContainsFunc(s.Variables, func(name string) bool { return lookup(env, name) != "" }) {
		return "ok"
	}
	home := lookup(env, "HOME")
	for _, name := range s.Files {
		if info, err := os.Stat(filepath.Join(home, filepath.FromSlash(name))); err == nil && info.Size() > 2 { // more than {}
			return "ok"
		}
	}
	return "missing"
}

var versionPattern = regexp.MustCompile(`\d+\.\d+\.\d+`)

// version asks the program, outside any project.
func (d *Driver) version(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	p, err := proc.Start(ctx, proc.Spec{Argv: []string{d.p.Argv[0], "--version"}, Dir: "/", Env: d.environ(d.cfg.Environ, "/", false)})
	if err != nil {
		return ""
	}
	defer context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) })()
	_ = p.Stdin().Close()
	out, _ := io.ReadAll(io.LimitReader(p.Stdout(), 1<<20))
	_ = p.Stdout().Close()
	_, _ = p.Stop(ctx)
	return versionPattern.FindString(string(out) + p.StderrTail())
}

func testedOf(version, tested string) terret.Tested {
	if tested == "" {
		return ""
	}
	a, b := strings.Split(version, "."), strings.Split(tested, ".")
	for i := range min(len(a), len(b)) {
		x, _ := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		switch {
		case x < y:
			return terret.TestedOlder
		case x > y:
			return terret.TestedNewer
		}
	}
	return terret.TestedYes
}
