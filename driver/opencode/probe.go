package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// The versions between which everything here was recorded and tested.
const (
	oldestTested = "1.18.33"
	newestTested = "1.18.33"
)

// probePatience bounds each question to the program.
const probePatience = 30 * time.Second

const install = "npm install -g opencode-ai@" + newestTested

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	p := terret.Probe{Agent: Name, Capabilities: capabilities()}
	path, err := exec.LookPath(d.cfg.Path)
	if err != nil {
		p.Fix = fmt.Sprintf("%s was not found; install OpenCode with `%s`", d.cfg.Path, install)
		return p, nil
	}
	p.Path = path
	said, code, err := d.ask(ctx, "--version")
	if p.Version = versionPattern.FindString(said); err != nil || code != 0 || p.Version == "" {
		p.Fix = fmt.Sprintf("%s does not answer like OpenCode; install it again with `%s`", path, install)
		return p, context.Cause(ctx)
	}
	p.Found = true
	p.Tested = testedOf(p.Version)
	p.Auth = d.auth(ctx)
	p.Fix = fixOf(p)
	return p, context.Cause(ctx)
}

// auth says whether there is a model that can be used: with a key that OpenCode or the
// environment holds, one in its settings, or without any.
func (d *Driver) auth(ctx context.Context) string {
	said, code, err := d.ask(ctx, "auth", "list")
	if err != nil || code != 0 {
		return "unknown"
	}
	if held.MatchString(said) {
		return "ok"
	}
	if said, code, err = d.ask(ctx, "debug", "config"); err != nil || code != 0 {
		return "unknown"
	}
	var config struct {
		Enabled  []string `json:"enabled_providers"`
		Provider map[string]struct {
			NPM     string `json:"npm"`
			Options struct {
				APIKey set `json:"apiKey"`
			} `json:"options"`
		} `json:"provider"`
	}
	if json.Unmarshal([]byte(said), &config) != nil {
		return "unknown"
	}
	for _, p := range config.Provider {
		if p.NPM != "" || bool(p.Options.APIKey) {
			return "ok"
		}
	}
	if config.Enabled == nil || slices.Contains(config.Enabled, "opencode") {
		return "ok" // OpenCode's own models are free to use
	}
	return "missing"
}

// held is how the program says that there are keys.
var held = regexp.MustCompile(`[1-9]\d* (?:credential|environment variable)`)

func fixOf(p terret.Probe) string {
	switch {
	case p.Auth == "missing":
		return "no provider of models is signed in to; run `opencode auth login`, or set a provider's key such as ANTHROPIC_API_KEY"
	case p.Tested == terret.TestedOlder:
		return fmt.Sprintf("version %s is older than those that were tested (%s to %s); update it with `%s`", p.Version, oldestTested, newestTested, install)
	case p.Tested == terret.TestedNewer:
		return fmt.Sprintf("version %s is newer than those that were tested (%s to %s); should something fail, go back with `%s`", p.Version, oldestTested, newestTested, install)
	}
	return ""
}

// ask runs the program once, outside any project.
func (d *Driver) ask(ctx context.Context, args ...string) (said string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	env, err := d.environ(d.cfg.Environ, false, terret.Settings{})
	if err != nil {
		return "", 0, err
	}
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

var versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+`)

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
