package main

import (
	"context"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/door/mcp"
)

// tokenEnv holds the token with which a program that is no person's calls the server.
const tokenEnv = "TERRET_TOKEN"

func newMCPServe(a *app) *cobra.Command {
	var f workspaceFlags
	var roots []string
	var cost float64
	cmd := &cobra.Command{
		Use: "serve", Short: "Be an MCP server: tools by which an agent uses other agents", Args: exactArgs(),
		Long: "Be an MCP server on standard input and output. Its tools start, prompt, watch, interrupt and\n" +
			"read sessions, search them, and ask the person a question. None of them answers requests or\n" +
			"changes rules. What new sessions may do is said by the flags here, and never by the agent.\n\n" +
			"An agent that Terret itself has started needs a token of its own, and `terret serve` running:\n" +
			"  terret token new agents --scope prompt\n" +
			"  {\"mcpServers\": {\"terret\": {\"command\": \"terret\", \"args\": [\"mcp\", \"serve\"], \"env\": {\"TERRET_TOKEN\": \"…\"}}}}\n" +
			"The key nesting of the configuration says how deep, how many and how dear such sessions may be.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCPServe(cmd.Context(), a, f, roots, cost) },
	}
	f.addNew(cmd)
	fl := cmd.Flags()
	fl.Float64Var(&cost, "max-cost", 0, "what each new session may cost, in dollars (default: no limit but the server's)")
	fl.StringArrayVar(&roots, "root", nil, "folder that sessions may work in, if no server runs (repeatable; default: this one and your home folder)")
	return cmd
}

func runMCPServe(ctx context.Context, a *app, f workspaceFlags, roots []string, cost float64) error {
	if isTerminal(a.in) {
		return terret.Invalid("mcp", "an agent starts this command and talks to it; `terret mcp serve --help` shows how to set it up")
	}
	a.serves = true
	if err := a.prepare(); err != nil {
		return err
	}
	w := &workspace{app: a, folders: foldersOr(roots), secret: a.getenv(tokenEnv)}
	defer w.close()
	n := f.session()
	n.MaxCostUSD = terret.Cost(cost * float64(terret.USD))
	server := mcp.New(mcp.Config{Client: w.client, New: n, Version: version()})
	in, ok := a.in.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.in)
	}
	err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: writeCloser{a.out.w}})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// client is the server that was found before, or is found now.
func (w *workspace) client(ctx context.Context) (*client.Client, error) {
	w.mu.Lock()
	found := w.found
	w.mu.Unlock()
	if found != nil {
		return found, nil
	}
	c, err := w.connect(ctx)
	if err == nil {
		w.mu.Lock()
		w.found = c
		w.mu.Unlock()
	}
	return c, err
}
