package codex

import (
	"context"
	"log/slog"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// The versions between which everything here was recorded and tested.
const (
	oldestTested = "0.166.0"
	newestTested = "0.166.0"
)

const install = "npm install -g @openai/codex@" + newestTested

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	return d.program().Probe(ctx, terret.Probe{Agent: Name, Capabilities: capabilities(hooksWork)}, d.auth)
}

func (d *Driver) program() seat.Program {
	return seat.Program{
		Name: Name, Title: "Codex", Path: d.cfg.Path, Env: d.environ(d.cfg.Environ, "/"),
		Install: install, Oldest: oldestTested, Newest: newestTested,
		SignIn: "nobody is signed in; run `codex login`, or set the key that its model provider needs (name a variable other than OPENAI_* and CODEX_* in agents.codex.env of the configuration)",
	}
}

// auth asks the server whether somebody is signed in.
func (d *Driver) auth(ctx context.Context) string {
	l := launch{env: d.environ(d.cfg.Environ, "/"), dir: "/", args: d.cfg.Args}
	server, err := d.start(ctx, l, "", slog.New(slog.DiscardHandler))
	if server != nil {
		defer server.Discard(ctx)
	}
	switch {
	case err == nil:
		return "ok"
	case terret.AsError(err).Code == terret.CodeNotAuthenticated:
		return "missing"
	}
	return "unknown"
}
