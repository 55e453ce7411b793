package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/server/keys"
)

func newMCP(a *app) *cobra.Command {
	var file string
	var asJSON bool
	list := func(*cobra.Command, []string) error { return runMCPLs(a, asJSON) }
	cmd := &cobra.Command{
		Use: "mcp", Short: "Be an MCP server, or sign in to those of the native agent", Args: exactArgs(),
		Long: "Sign in to MCP servers that require it, for the native agent. The tokens that a server issues\n" +
			"are kept in the keyring of the operating system or, where there is none, in a file that only\n" +
			"you can read. `terret sessions show` shows the state of a session's servers.",
		Example: "  terret mcp login https://mcp.example.com/mcp\n  terret mcp login tracker --mcp servers.json",
		RunE:    list,
	}
	login := &cobra.Command{
		Use: "login SERVER", Short: "Sign in to a server: an address, or a name in the file of --mcp", Args: exactArgs("SERVER"),
		RunE: func(cmd *cobra.Command, args []string) error { return runMCPLogin(cmd.Context(), a, args[0], file) },
	}
	logout := &cobra.Command{
		Use: "logout SERVER", Short: "Forget a sign-in: an address, a name in the file of --mcp, or one that is listed", Args: exactArgs("SERVER"),
		RunE: func(cmd *cobra.Command, args []string) error { return runMCPLogout(cmd.Context(), a, args[0], file) },
	}
	for _, c := range []*cobra.Command{login, logout} {
		c.Flags().StringVar(&file, "mcp", "", "file that configures MCP servers")
	}
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the servers that you are signed in to", Args: exactArgs(), RunE: list}
	for _, c := range []*cobra.Command{cmd, ls} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	cmd.AddCommand(ls, login, logout, newMCPServe(a))
	return cmd
}

// mcpTokens opens the sign-ins.
func (a *app) mcpTokens() (*keys.Store, error) {
	return a.secrets(keys.OpenMCP, "signing in is for people")
}

func runMCPLs(a *app, asJSON bool) error {
	store, err := a.mcpTokens()
	if err != nil {
		return err
	}
	return a.listSecrets(store, asJSON, "SERVER", "you are not signed in to any MCP server; `terret mcp login ADDRESS` signs you in")
}

// mcpServer is the configuration that has the server of that name or address, and its name.
func mcpServer(server, file string) (name string, config terret.JSON, err error) {
	if file != "" {
		config, err = readJSON(file)
		return server, config, err
	}
	if u, err := url.Parse(server); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", nil, terret.Invalid("server", "%q is not the address of a server; name the file that configures it with --mcp", server)
	}
	config, err = json.Marshal(map[string]any{"mcpServers": map[string]any{server: map[string]string{"url": server}}})
	return server, config, err
}

func runMCPLogin(ctx context.Context, a *app, server, file string) (err error) {
	store, err := a.mcpTokens()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer interrupts(func() { cancel(terret.ErrInterrupted) }, func() {})()
	name, config, err := mcpServer(server, file)
	if err != nil {
		return err
	}
	signedIn, err := native.SignIn(ctx, config, name, store, a.showLink)
	switch {
	case err != nil:
		return err
	case !signedIn:
		a.note("%s already lets you in; no sign-in is needed", printable(server))
		return nil
	}
	a.note("you are signed in to %s", printable(server))
	return nil
}

// showLink prints the link at which a person signs in. At a terminal they can also paste the
// address at which their browser ended up.
func (a *app) showLink(ctx context.Context, link string) (string, error) {
	a.note("open this link to sign in:\n%s", printable(link))
	pasted := make(chan string, 1)
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		a.note("if your browser ends up at a page of 127.0.0.1 that it cannot open, paste its address here")
		go func() { // nothing but the end of the program ends the wait for a keyboard
			if line, err := bufio.NewReader(f).ReadString('\n'); err == nil {
				pasted <- line
			}
		}()
	}
	select {
	case line := <-pasted:
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func runMCPLogout(ctx context.Context, a *app, server, file string) error {
	store, err := a.mcpTokens()
	if err != nil {
		return err
	}
	kept := server
	if name, config, err := mcpServer(server, file); err == nil {
		if kept, err = native.TokenName(config, name); err != nil {
			return err
		}
	} else if file != "" {
		return err
	}
	unlock, err := store.Lock(ctx, kept) // a session that is just renewing the sign-in would bring it back
	if err != nil {
		return err
	}
	defer unlock()
	found, err := store.Remove(ctx, kept)
	if err == nil && !found {
		err = terret.Errorf(terret.CodeNotFound, "you are not signed in to %s; `terret mcp` lists the servers that you are signed in to", server)
	}
	return err
}
