package httpapi

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) replayRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/turns/{turn}/replay", id: "replay-command", tag: tagTurns, scope: access.View,
		summary: "Show the command that does a turn without Terret",
		long:    "A shell command for the session's folder, to find out whose fault something is. It is unsupported for agents that have no such command, and where no system prompt was saved.",
		fails:   inSession(terret.CodeNotFound, terret.CodeUnsupported),
	}, s.replayCommand)
}

type replayCommand struct {
	Command string `json:"command"`
}

func (s *Server) replayCommand(ctx context.Context, in *struct {
	SessionPath
	Turn string `path:"turn"`
},
) (*body[replayCommand], error) {
	if err := s.folderInRoots(ctx, in.ID); err != nil {
		return nil, err
	}
	record, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	turns, err := s.store.Turns(ctx, record.ID)
	if err != nil {
		return nil, err
	}
	t := turnIn(turns, in.Turn)
	if t == nil {
		return nil, terret.Errorf(terret.CodeNotFound, "session %s has no turn %.64q", record.ID, in.Turn)
	}
	command, err := s.maker.Agents.ByHand(record, terret.TextOf(t.Prompt))
	return reply(replayCommand{command}, err)
}
