package claude

import (
	"context"
	"encoding/json"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/program"
)

// The oldest and newest versions that were recorded and tested.
const (
	oldestTested = "2.1.197"
	newestTested = "2.1.325"
)

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	return d.program().Probe(ctx, terret.Probe{Agent: Name, Capabilities: capabilities()}, d.auth)
}

func (d *Driver) program() program.Program {
	return program.Program{
		Title: "Claude Code", Path: d.cfg.Path, Env: d.environ(d.cfg.Environ, "/"),
		Install: "npm install -g @anthropic-ai/claude-code@" + newestTested, Oldest: oldestTested, Newest: newestTested,
		SignIn: "nobody is signed in; run `claude auth login`, or set ANTHROPIC_API_KEY",
	}
}

// auth says whether somebody is signed in.
func (d *Driver) auth(ctx context.Context) string {
	said, code, err := d.program().Ask(ctx, "auth", "status")
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
