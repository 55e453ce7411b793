package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/trust"
)

func (s *Server) trustRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/trust", id: "get-trust", tag: tagPersonas, scope: access.View,
		summary: "Show what would take effect in a folder, and whether it is trusted",
		long:    "The hash identifies exactly this content.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.getTrust)
	handle(s, route{
		method: "POST", path: "/v1/trust", id: "set-trust", tag: tagPersonas, scope: access.Admin,
		summary: "Trust a folder as it is now, or not",
		long:    "Send the hash that GET returned: if the folder has changed since, it is a conflict.",
		fails:   []terret.ErrorCode{terret.CodeConflict, terret.CodeUnsupported},
	}, s.setTrust)
	handle(s, route{
		method: "GET", path: "/v1/trust/folders", id: "list-trust", tag: tagPersonas, scope: access.Admin,
		summary: "List the folders that somebody decided to trust or not",
		long:    "The latest decision about each. It holds until what takes effect in the folder changes.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.listTrust)
	handle(s, route{
		method: "DELETE", path: "/v1/trust", id: "forget-trust", tag: tagPersonas, scope: access.Admin, status: http.StatusNoContent,
		summary: "Forget what was decided about a folder",
		long:    "Nothing in it takes effect until a person decides again. Agents that already run keep what they have read.",
		fails:   []terret.ErrorCode{terret.CodeNotFound, terret.CodeUnsupported},
	}, s.forgetTrust)
}

// FolderTrust is what would take effect in a folder, and the decision about it.
type FolderTrust struct {
	trust.State
	Decision trust.Decision `json:"decision"`
}

func (s *Server) getTrust(ctx context.Context, in *struct {
	Cwd string `query:"cwd" required:"true"`
},
) (*body[FolderTrust], error) {
	dir, err := s.folderOf(ctx, in.Cwd)
	if err != nil {
		return nil, err
	}
	return reply(s.checkTrust(dir))
}

func (s *Server) checkTrust(dir string) (FolderTrust, error) {
	if s.cfg.Trust == nil {
		return FolderTrust{}, errNoTrust()
	}
	d, state, err := s.cfg.Trust.Check(dir)
	if state.Files == nil {
		state.Files = []trust.File{}
	}
	return FolderTrust{State: state, Decision: d}, err
}

type newTrust struct {
	Cwd     string `json:"cwd"`
	Hash    string `json:"hash" doc:"The hash of the content you reviewed."`
	Trusted bool   `json:"trusted"`
}

func (s *Server) setTrust(ctx context.Context, in *struct{ Body newTrust }) (*body[FolderTrust], error) {
	dir, err := s.folderOf(ctx, in.Body.Cwd)
	if err != nil {
		return nil, err
	}
	if _, err := s.checkTrust(dir); err != nil {
		return nil, err
	}
	if err := s.cfg.Trust.Decide(dir, in.Body.Hash, in.Body.Trusted, caller(ctx)); err != nil {
		return nil, terret.Errorf(terret.CodeConflict, "%w", err)
	}
	return reply(s.checkTrust(dir))
}

func errNoTrust() error {
	return terret.Errorf(terret.CodeUnsupported, "this server does not store trust decisions")
}

func (s *Server) listTrust(context.Context, *struct{}) (*body[terret.Page[trust.Decided]], error) {
	if s.cfg.Trust == nil {
		return nil, errNoTrust()
	}
	return page(s.cfg.Trust.List())
}

func (s *Server) forgetTrust(_ context.Context, in *struct {
	Folder string `query:"folder" required:"true" doc:"The folder, as the list names it."`
},
) (*nothing, error) {
	if s.cfg.Trust == nil {
		return nil, errNoTrust()
	}
	known, err := s.cfg.Trust.Forget(in.Folder)
	if err == nil && !known {
		err = terret.Errorf(terret.CodeNotFound, "nobody has decided about the folder %.200q", in.Folder)
	}
	return nil, err
}
