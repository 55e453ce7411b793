package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) discoveredRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/discovered", id: "discover", tag: tagSessions, scope: access.Admin,
		summary: "List the sessions that a person had with agents without Terret",
		long:    "The last used first. They are found in the agents' own files on the server's machine, which stay as they are. Sessions that Terret has already are listed with their ids.",
	}, s.discover)
	handle(s, route{
		method: "POST", path: "/v1/discovered", id: "adopt-session", tag: tagSessions, scope: access.Admin, status: http.StatusCreated,
		summary: "Create a session from one that was discovered",
		long:    "It has all that was said, and continues with the agent's own memory.",
		fails:   stored(terret.CodeNotFound, terret.CodeConflict),
	}, s.adopt)
}

type discoverInput struct {
	Agent string `query:"agent" doc:"Only sessions of this agent."`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"How many to list at most."`
}

func (s *Server) discover(ctx context.Context, in *discoverInput) (*body[terret.Page[terret.Discovered]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	found, err := s.maker.Discover(ctx, s.maker.Agents.Name(in.Agent))
	if err != nil {
		if len(found) == 0 {
			return nil, err
		}
		s.log.Warn("some sessions of other tools cannot be listed", "error", err)
	}
	return page(found[:min(len(found), in.Limit)], nil)
}

type adoptRequest struct {
	Agent    string `json:"agent" doc:"The agent that has it."`
	NativeID string `json:"native_id" doc:"The agent's own id of the session."`
}

func (s *Server) adopt(ctx context.Context, in *struct{ Body *adoptRequest }) (*body[terret.Session], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.sessions.add(ctx, s); err != nil {
		return nil, err
	}
	made, err := s.maker.Adopt(ctx, s.maker.Agents.Name(in.Body.Agent), in.Body.NativeID, "")
	if err != nil {
		s.sessions.remove()
	}
	return reply(made, err)
}
