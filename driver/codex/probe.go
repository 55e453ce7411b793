package codex

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// The versions between which everything here was recorded and tested.
const (
	oldestTested = "0.166.0"
	newestTested = "0.166.0"
)

// probePatience bounds each question to the program.
const probePatience = 20 * time.Second

const install = "npm install -g @openai/codex@" + newestTested

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	p := terret.Probe{Agent: Name, Capabilities: capabilities(hooksWork)}
	path, err := exec.LookPath(d.cfg.Path)
	if err != nil {
		p.Fix = fmt.Sprintf("%s was not found; install Codex with `%s`", d.cfg.Path, install)
		return p, nil
	}
	p.Path = path
	said, err := d.versionSaid(ctx)
	if p.Version = versionIn(strings.TrimPrefix(said, "codex-cli ")); err != nil || p.Version == "" {
		p.Fix = fmt.Sprintf("%s does not answer like Codex; install it again with `%s`", path, install)
		return p, context.Cause(ctx)
	}
	p.Found = true
	p.Tested = testedOf(p.Version)
	p.Auth = d.auth(ctx)
	p.Fix = fixOf(p)
	return p, context.Cause(ctx)
}

// auth asks the server whether somebody is signed in.
func (d *Driver) auth(ctx context.Context) string {
	l := launch{env: d.environ(d.cfg.Environ, "/"), dir: "/", args: d.cfg.Args}
	server, err := d.start(ctx, l, "", slog.New(slog.DiscardHandler))
	if server != nil {
		defer server.stop(ctx)
	}
	switch {
	case err == nil:
		return "ok"
	case terret.AsError(err).Code == terret.CodeNotAuthenticated:
		return "missing"
	}
	return "unknown"
}

func fixOf(p terret.Probe) string {
	switch {
	case p.Auth == "missing":
		return "nobody is signed in; run `codex login`, or set the key that its model provider needs"
	case p.Tested == terret.TestedOlder:
		return fmt.Sprintf("version %s is older than the one that was tested (%s); update it with `%s`", p.Version, newestTested, install)
	case p.Tested == terret.TestedNewer:
		return fmt.Sprintf("version %s is newer than the one that was tested (%s); should something fail, go back with `%s`", p.Version, newestTested, install)
	}
	return ""
}

// versionSaid runs the program once, outside any project.
func (d *Driver) versionSaid(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	p, err := proc.Start(ctx, proc.Spec{Argv: []string{d.cfg.Path, "--version"}, Dir: "/", Env: d.environ(d.cfg.Environ, "/")})
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) })()
	_ = p.Stdin().Close()
	out, err := io.ReadAll(io.LimitReader(p.Stdout(), 1<<20))
	_ = p.Stdout().Close()
	if _, stopErr := p.Stop(ctx); err == nil {
		err = stopErr
	}
	return strings.TrimSpace(string(out)), err
}

var versionPattern = regexp.MustCompile(`^(\d+\.\d+\.\d+)`)

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

// compareVersions compares numbers that dots separate.
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
