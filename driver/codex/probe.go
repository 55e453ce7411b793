package codex

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// The versions between which everything here was recorded and tested.
const (
	oldestTested = "0.166.0"
	newestTested = "0.166.0"
)

const install = "npm install -g @openai/codex@" + newestTested

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	found, err := d.program().Probe(ctx, terret.Probe{Agent: Name, Capabilities: capabilities(hooksWork)}, d.auth)
	if err == nil && found.Usable() && found.Fix == "" {
		found.Fix = d.sandboxFix(ctx)
	}
	return found, err
}

// sandboxFix says what to do if commands do not run in Codex's sandboxes; empty if they do.
func (d *Driver) sandboxFix(ctx context.Context) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	said, code, err := d.program().Ask(ctx, "sandbox", "-c", `sandbox_mode="read-only"`, "--", "true")
	if err != nil || code == 0 {
		return ""
	}
	do := "use the permission mode " + noSandbox + ", or see https://developers.openai.com/codex/concepts/sandboxing#prerequisites"
	if strings.Contains(said, "execvp codex-linux-sandbox") { // that bubblewrap needs a file, which Codex does not make there
		do = "set CODEX_HOME to a folder outside of TMPDIR, or install bubblewrap 0.9 or newer"
	}
	return fmt.Sprintf("commands do not run in its sandboxes (%s, %s); %s. Codex says: %s",
		workspaceWrite, readOnly, do, brief.Cut(strings.Join(strings.Fields(said), " "), diagLimit))
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
