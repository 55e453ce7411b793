package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/setup"
)

func (s *Server) signInRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/mcp/sign-ins", id: "list-mcp-sign-ins", tag: tagSetup, scope: access.Admin,
		summary: "List the MCP servers that the native agent is signed in to",
		long:    "By the names that the sign-ins are kept under, which begin with mcp- and the server's host. With the sign-in that waits, or was the last.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeStartupRefused},
	}, s.listSignIns)
	handle(s, route{
		method: "POST", path: "/v1/mcp/sign-ins", id: "begin-mcp-sign-in", tag: tagSetup, scope: access.Admin, status: http.StatusCreated,
		summary: "Begin to sign in to an MCP server",
		long:    "Returns when there is a link at which a person signs in, or none is needed. It waits 15 minutes for that. The browser then brings the answer to an address of the server's machine; if it runs on another machine, it cannot open that page: answer with its address. One at a time: another one is cancelled.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeConnectionFailed, terret.CodeStartupRefused},
	}, s.beginSignIn)
	handle(s, route{
		method: "POST", path: "/v1/mcp/sign-in/answer", id: "answer-mcp-sign-in", tag: tagSetup, scope: access.Admin,
		summary: "Give the address at which the browser ended after the sign-in",
		long:    "For a browser that runs on another machine than the server. Returns how it came out.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeConflict},
	}, s.answerSignIn)
	handle(s, route{
		method: "DELETE", path: "/v1/mcp/sign-in", id: "cancel-mcp-sign-in", tag: tagSetup, scope: access.Admin, status: http.StatusNoContent,
		summary: "Cancel the sign-in that waits",
		long:    "Nothing is kept then.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeConflict},
	}, s.cancelSignIn)
	handle(s, route{
		method: "DELETE", path: "/v1/mcp/sign-ins/{name}", id: "mcp-sign-out", tag: tagSetup, scope: access.Admin, status: http.StatusNoContent,
		summary: "Sign out of an MCP server",
		long:    "What the server gave is forgotten here. The server is not told.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeStartupRefused, terret.CodeNotFound},
	}, s.signOut)
}

// SignIns are the MCP servers that the native agent is signed in to.
type SignIns struct {
	Items []setup.Kept  `json:"items"`
	Last  *setup.SignIn `json:"last,omitempty" doc:"The sign-in that waits, or was the last."`
}

func (s *Server) listSignIns(context.Context, *struct{}) (*body[SignIns], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	kept, last, err := m.SignIns()
	return reply(SignIns{kept, last}, err)
}

type newMCPSignIn struct {
	Server string `json:"server" minLength:"1" maxLength:"2000" doc:"Its address."`
}

func (s *Server) beginSignIn(ctx context.Context, in *struct{ Body newMCPSignIn }) (*body[setup.SignIn], error) {
	m, err := s.setup()
	if err == nil {
		err = s.stopping()
	}
	if err != nil {
		return nil, err
	}
	return reply(m.BeginSignIn(ctx, in.Body.Server))
}

type signInAnswer struct {
	Address string `json:"address" minLength:"1" maxLength:"8000" writeOnly:"true" doc:"Of the page that the browser could not open."`
}

func (s *Server) answerSignIn(ctx context.Context, in *struct{ Body signInAnswer }) (*body[setup.SignIn], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return reply(m.AnswerSignIn(ctx, in.Body.Address))
}

func (s *Server) cancelSignIn(ctx context.Context, _ *struct{}) (*nothing, error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return nil, m.CancelSignIn(ctx)
}

func (s *Server) signOut(ctx context.Context, in *ofName) (*nothing, error) {
	m, err := s.setup()
	if err == nil {
		err = m.SignOut(ctx, in.Name)
	}
	if err == nil {
		s.log.InfoContext(ctx, "a sign-in at an MCP server was removed", "name", in.Name, "by", caller(ctx))
	}
	return nil, err
}
