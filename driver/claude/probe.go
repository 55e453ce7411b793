package claude

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
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

// untested says that a version is none of those that were tested, if it is not.
func untested(version string) string {
	how := "newer"
	switch {
	case version == "", seat.Compare(version, oldestTested) >= 0 && seat.Compare(version, newestTested) <= 0:
		return ""
	case seat.Compare(version, oldestTested) < 0:
		how = "older"
	}
	return fmt.Sprintf("Claude Code %s is %s than the versions that Terret was tested with, %s to %s; if something fails, install one of those",
		version, how, oldestTested, newestTested)
}

// install is the command that installs the newest version that was tested.
const install = "npm install -g @anthropic-ai/claude-code@" + newestTested

func (d *Driver) program() seat.Program {
	return seat.Program{
		Name: Name, Title: "Claude Code", Path: d.cfg.Path, Env: d.environ(d.cfg.Environ, "/"),
		Install: install, Oldest: oldestTested, Newest: newestTested,
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
