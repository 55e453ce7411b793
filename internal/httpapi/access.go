package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
)

// signInPath is where a browser gets its token for a one-use code.
const signInPath = "/v1/signin"

// importPath takes a session that was exported.
const importPath = "/v1/sessions/import"

// newGate makes the door of the server.
func (s *Server) newGate() (*access.Gate, error) {
	return access.NewGate(access.Options{
		Tokens: s.cfg.Tokens, Hosts: s.cfg.Hosts, Origins: s.cfg.Origins, Log: s.log, BodyLimit: s.bodyLimit,
		Public:    public,
		OtherBody: func(r *http.Request) bool { return r.URL.Path == importPath },
		Problem: func(w http.ResponseWriter, _ *http.Request, status int, err *terret.Error) {
			writeProblem(w, &limitError{err, status})
		},
	})
}

// bodyLimit is how many bytes a request may have.
func (s *Server) bodyLimit(r *http.Request) int64 {
	if r.URL.Path == importPath {
		return s.limits.Import
	}
	return s.limits.Body
}

// public reports whether a request needs no token: health, signing in, and the web
// UI, which has none of its own to send.
func public(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", signInPath:
		return true
	}
	return !ours(r.URL.Path)
}

// caller is the name of whoever acts, in the log.
func caller(ctx context.Context) string { return access.From(ctx).Name }

// need refuses callers whose token may not do that.
func need(ctx context.Context, scope access.Scope) error {
	id := access.From(ctx)
	return id.May(scope, id.Session)
}

// mayTouch refuses callers whose token is for another session.
func mayTouch(ctx context.Context, session string) error {
	return access.From(ctx).May(access.View, session)
}

// everywhere refuses callers whose token is for one session only.
func everywhere(ctx context.Context) error { return access.From(ctx).May(access.View, "") }
