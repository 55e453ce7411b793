package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/door/acp"
	"github.com/terret-dev/terret/internal/rpc"
)

const acpHelp = `Be an agent of the Agent Client Protocol on standard input and output, so that an editor
drives any agent through Terret: with your rules, the log, undo, and requests that can be
answered in the editor or anywhere else. Sessions belong to the server that runs
("terret serve"), or else to this process.

Zed, in settings.json:
  "agent_servers": {
    "Claude in Terret": { "command": "terret", "args": ["acp", "--agent", "claude"] }
  }

JetBrains, in ~/.jetbrains/acp.json:
  { "agent_servers": { "Claude in Terret": { "command": "terret", "args": ["acp", "--agent", "claude"] } } }

Neovim, with CodeCompanion:
  require("codecompanion").setup({ adapters = { acp = { terret = function()
    return require("codecompanion.adapters").extend("claude_code", {
      name = "terret", commands = { default = { "terret", "acp", "--agent", "claude" } } }) end } } })

Emacs, with agent-shell:
  (agent-shell-start :config (agent-shell-make-agent-config :mode-line-name "Terret"
    :client-maker (lambda (buffer) (acp-make-client :command "terret"
      :command-params '("acp" "--agent" "claude") :context-buffer buffer))))`

func newACP(a *app) *cobra.Command {
	var f workspaceFlags
	var roots []string
	cmd := &cobra.Command{
		Use: "acp", Short: "Be an agent for editors (Agent Client Protocol)", Args: exactArgs(), Long: acpHelp,
		RunE: func(cmd *cobra.Command, _ []string) error { return runACP(cmd.Context(), a, f, roots) },
	}
	f.addNew(cmd)
	cmd.Flags().StringArrayVar(&roots, "root", nil, "folder that sessions may work in, if no server runs (repeatable; default: this one and your home folder)")
	return cmd
}

func runACP(ctx context.Context, a *app, f workspaceFlags, roots []string) error {
	if isTerminal(a.in) {
		return terret.Invalid("acp", "an editor starts this command and talks to it; `terret acp --help` shows how to set up yours")
	}
	a.serves = true
	if err := a.prepare(); err != nil {
		return err
	}
	w := &workspace{app: a, folders: foldersOr(roots)}
	defer w.close()
	in, ok := a.in.(io.ReadCloser) // closing it ends a Read that waits
	if !ok {
		in = io.NopCloser(a.in)
	}
	return acp.Serve(ctx, rpc.Join(in, writeCloser{a.out.w}), acp.Config{
		Connect: w.connect, Version: version(), Log: slog.New(slog.NewTextHandler(a.err, nil)),
		New: f.session(),
	})
}

// foldersOr are the folders that were named, or else this one and the home folder.
func foldersOr(roots []string) []string {
	if len(roots) > 0 {
		return roots
	}
	for _, find := range []func() (string, error){os.Getwd, os.UserHomeDir} {
		if dir, err := find(); err == nil {
			roots = append(roots, dir)
		}
	}
	return roots
}

// writeCloser is a stream that is not ours to close.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }
