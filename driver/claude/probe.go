package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// The oldest and newest versions that were recorded and tested.
const (
	oldestTested = "2.1.197"
	newestTested = "2.1.325"
)

// probePatience bounds each question to the program.
const probePatience = 20 * time.Second

const install = "npm install -g @anthropic-ai/claude-code@" + newestTested

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	p := terret.Probe{Agent: Name, Capabilities: capabilities()}
	path, err := exec.LookPath(d.cfg.Path)
	if err != nil {
		p.Fix = fmt.Sprintf("%s was not found; install Claude Code with `%s`", d.cfg.Path, install)
		return p, nil
	}
	p.Path = path
	said, code, err := d.ask(ctx, "--version")
	if p.Version = versionIn(said); err != nil || code != 0 || p.Version == "" {
		p.Fix = fmt.Sprintf("%s does not answer like Claude Code; reinstall it with `%s`", path, install)
		return p, context.Cause(ctx)
	}
	p.Found = true
	p.Tested = testedOf(p.Version)
	p.Auth = d.auth(ctx)
	p.Fix = fixOf(p)
	return p, context.Cause(ctx)
}

// auth says whether somebody is signed in.
func (d *Driver) auth(ctx context.Context) string {
	said, code, err := d.ask(ctx, "auth", "status")
	var status struct {
		LoggedIn *bool `json:"loggedIn"`
	}
	switch {
	case err != nil || json.Unmarshal([]byte(said), &status) != nil || status.LoggedIn == nil:
		return "unknown"
	case *status.LoggedIn && code == 0:
		return "ok"
	}
	return "missing"
}

func fixOf(p terret.Probe) string {
	switch {
	case p.Auth == "missing":
		return "nobody is signed in; run `claude auth login`, or set ANTHROPIC_API_KEY"
	case p.Tested == terret.TestedOlder:
		return fmt.Sprintf("version %s is older than the tested ones (%s to %s); update it with `%s`", p.Version, oldestTested, newestTested, install)
	case p.Tested == terret.TestedNewer:
		return fmt.Sprintf("version %s is newer than the tested ones (%s to %s); if something fails, go back with `%s`", p.Version, oldestTested, newestTested, install)
	}
	return ""
}

// ask runs the program once, outside any project.
func (d *Driver) ask(ctx context.Context, args ...string) (said string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	env := d.environ(d.cfg.Environ, "/")
	p, err := proc.Start(ctx, proc.Spec{Argv: append([]string{d.cfg.Path}, args...), Dir: "/", Env: env})
	if err != nil {
		return "", 0, err
	}
	stop := context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) })
	defer stop()
	_ = p.Stdin().Close()
	out, err := io.ReadAll(io.LimitReader(p.Stdout(), 1<<20))
	_ = p.Stdout().Close()
	exit, waitErr := p.Stop(ctx)
	if err == nil {
		err = waitErr
	}
	return strings.TrimSpace(string(out)), exit.Code, err
}

var versionPattern = regexp.MustCompile(`^(\d+\.\d+\.\d+)\S*`)

func versionIn(said string) string {
	if m := versionPattern.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return ""
}

func testedOf(version string) terret.Tested {
	switch {
	case compareVersions(version, oldestTested) < 0:
		return terret.TestedOlder
	case compareVersions(version, newestTested) > 0:
		return terret.TestedNewer
	}
	return terret.TestedYes
}

// compareVersions compares dotted numbers.
func compareVersions(a, b string) int {
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
