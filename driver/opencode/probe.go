package opencode

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// The versions between which everything here was recorded and tested.
const (
	oldestTested = "1.18.33"
	newestTested = "1.18.33"
)

const install = "npm install -g opencode-ai@" + newestTested

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	about := terret.Probe{Agent: Name, Capabilities: capabilities()}
	env, err := d.environ(d.cfg.Environ, false, terret.Settings{})
	if err != nil {
		about.Fix = err.Error() // settings in the environment that cannot be read
		return about, nil
	}
	p := program(d.cfg.Path, env)
	return p.Probe(ctx, about, func(ctx context.Context) string { return auth(ctx, p) })
}

func program(path string, env []string) seat.Program {
	return seat.Program{
		Name: Name, Title: "OpenCode", Path: path, Env: env, Install: install, Oldest: oldestTested, Newest: newestTested,
		SignIn: "no provider of models is signed in to; run `opencode auth login`, or set a provider's key such as ANTHROPIC_API_KEY",
	}
}

// auth says whether there is a model that can be used: with a key that OpenCode or the
// environment holds, one in its settings, or without any.
func auth(ctx context.Context, p seat.Program) string {
	said, code, err := p.Ask(ctx, "auth", "list")
	if err != nil || code != 0 {
		return "unknown"
	}
	if held.MatchString(said) {
		return "ok"
	}
	if said, code, err = p.Ask(ctx, "debug", "config"); err != nil || code != 0 {
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
	for _, one := range config.Provider {
		if one.NPM != "" || bool(one.Options.APIKey) {
			return "ok"
		}
	}
	if config.Enabled == nil || slices.Contains(config.Enabled, "opencode") {
		return "ok" // OpenCode's own models are free to use
	}
	return "missing"
}

// held is how the program says that there are keys.
var held = lazyregexp.New(`[1-9]\d* (?:credential|environment variable)`)
