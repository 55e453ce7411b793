package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// signInPath is where a browser exchanges its one-time code for a token.
const signInPath = "/v1/signin"

// importPath takes an exported session.
const importPath = "/v1/sessions/import"

// maxPublicBody bounds what those may send who need no token.
const maxPublicBody = 4 << 10

// newGate makes the door of the server.
func (s *Server) newGate() (*access.Gate, error) {
	return access.NewGate(access.Options{
		Tokens: s.cfg.Tokens, Hosts: s.cfg.Hosts, Origins: s.cfg.Origins, Log: s.log, BodyLimit: s.bodyLimit,
		Public: s.public,
		OtherBody: func(r *http.Request) bool {
			d := s.doorOf(r.URL.Path)
			return r.URL.Path == importPath || d != nil && d.OtherBody != nil && d.OtherBody(r)
		},
		Problem: func(w http.ResponseWriter, r *http.Request, status int, err *terret.Error) {
			s.refuse(w, r, &limitError{err, status})
		},
	})
}

// bodyLimit is the maximum size of a request's body.
func (s *Server) bodyLimit(r *http.Request) int64 {
	switch {
	case r.URL.Path == importPath:
		return s.limits.Import
	case s.public(r): // a request without a token needs little room
		return maxPublicBody
	}
	_, pattern := s.mux.Handler(r)
	if limit, ok := s.bodyLimits[pattern]; ok {
		return limit
	}
	return min(smallBody, s.limits.Body)
}

// public reports whether a request needs no token: health checks, signing in,
// answers with a token of their own, the of the web UI, and what a door shows to everybody.
func (s *Server) public(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", signInPath, answerPath:
		return true
	}
	if d := s.doorOf(r.URL.Path); d != nil {
		return d.Public != nil && d.Public(r)
	}
	return !s.ours(r.URL.Path)
}

// caller is the caller's name in the log.
func caller(ctx context.Context) string { return access.From(ctx).Name }

// need refuses callers whose token lacks the scope.
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
