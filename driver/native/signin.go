package native

import (
	"context"
	"log/slog"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/mcphost"
)

// SignIn has a person sign in to one MCP server of a configuration, and keeps the tokens
// that the server issues. It reports false if the server lets the person in already.
//
// Show shows the link at which the person signs in. It returns when ctx ends, with an
// error if the person declines, or with the address at which the browser ended up if that
// page could not be opened.
func SignIn(ctx context.Context, config terret.JSON, server string, tokens TokenStore, show func(ctx context.Context, link string) (ended string, err error)) (signedIn bool, err error) {
	servers, err := mcphost.Only(config, server, mcphost.Options{Log: slog.New(slog.DiscardHandler), Tokens: tokens})
	if err != nil {
		return false, err
	}
	defer func() { _ = servers.Close() }() // nothing is written by it
	servers.Refresh(ctx)
	state := servers.States()[0]
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case state.Status == "connected":
		return false, nil
	case state.Status != mcphost.NeedsAuth:
		return false, terret.Errorf(terret.CodeConnectionFailed, "%s cannot be reached: %s", server, state.Error)
	}
	err = servers.SignIn(ctx, server, show)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, terret.Errorf(terret.CodeNotAuthenticated, "%w", err)
	}
	return true, nil
}

// TokenName is the name under which SignIn keeps the tokens of a server.
func TokenName(config terret.JSON, server string) (string, error) {
	address, err := mcphost.Address(config, server)
	if err != nil {
		return "", err
	}
	return mcphost.TokenName(address), nil
}
