package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) queueRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/queue", id: "list-queue", tag: tagTurns, scope: access.View,
		summary: "List queued prompts, in order",
		long:    "Each is a turn that has not begun. An interrupt holds what is queued: held prompts wait until somebody sends them on or drops them.",
		fails:   inSession(),
	}, s.listQueue)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/queue/{turn}", id: "get-queued", tag: tagTurns, scope: access.View,
		summary: "Get a queued prompt",
		long:    "A turn that has begun is no longer queued; find it among the session's turns.",
		fails:   inSession(terret.CodeNotFound),
	}, s.getQueued)
	handle(s, route{
		method: "PATCH", path: "/v1/sessions/{id}/queue/{turn}", id: "edit-queued", tag: tagTurns, scope: access.Prompt,
		summary: "Change or move a queued prompt",
		long:    "Missing fields stay unchanged.",
		fails:   inSession(terret.CodeNotFound),
	}, s.editQueued)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/queue/send", id: "send-queued", tag: tagTurns, scope: access.Prompt, status: http.StatusNoContent,
		summary: "Send held prompts on",
		long:    "They run as soon as the session is free, in their order.",
		fails:   inSession(terret.CodeNotFound),
	}, s.sendQueued)
	handle(s, route{
		method: "DELETE", path: "/v1/sessions/{id}/queue/{turn}", id: "drop-queued", tag: tagTurns, scope: access.Prompt, status: http.StatusNoContent,
		summary: "Remove a queued prompt",
		long:    "A turn that has begun is not found; interrupt the session instead.",
		fails:   inSession(terret.CodeNotFound),
	}, s.dropQueued)
	handle(s, route{
		method: "DELETE", path: "/v1/sessions/{id}/queue", id: "clear-queue", tag: tagTurns, scope: access.Prompt, status: http.StatusNoContent,
		summary: "Remove all queued prompts",
		long:    "The running turn continues.",
		fails:   inSession(terret.CodeNotFound),
	}, s.clearQueue)
}

// QueuedPath names a queued prompt in the path.
type QueuedPath struct {
	SessionPath
	Turn string `path:"turn" doc:"The turn's id."`
}

func (s *Server) listQueue(ctx context.Context, in *SessionPath) (*body[terret.Page[terret.Turn]], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	return page(s.engine.Queue(ctx, in.ID))
}

// queued finds a prompt in the queue of this session only.
func (s *Server) queued(ctx context.Context, in QueuedPath) (terret.Turn, error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return terret.Turn{}, err
	}
	queue, err := s.engine.Queue(ctx, in.ID)
	if err != nil {
		return terret.Turn{}, err
	}
	if t := turnIn(queue, in.Turn); t != nil {
		return *t, nil
	}
	return terret.Turn{}, terret.Errorf(terret.CodeNotFound, "no turn %.64q is queued in session %s; it may have begun", in.Turn, in.ID)
}

func (s *Server) getQueued(ctx context.Context, in *QueuedPath) (*body[terret.Turn], error) {
	return reply(s.queued(ctx, *in))
}

// queuedChange is what can be changed about a queued prompt.
type queuedChange struct {
	Prompt  string             `json:"prompt,omitempty"`
	Blocks  []terret.Block     `json:"blocks,omitempty"`
	Options terret.TurnOptions `json:"options,omitzero"`
	Before  string             `json:"before,omitempty" doc:"The turn to move it before, or \"end\"."`
}

func (s *Server) editQueued(ctx context.Context, in *struct {
	QueuedPath
	Body queuedChange
},
) (*body[terret.Turn], error) {
	session, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.mayBeIn(session); err != nil {
		return nil, err
	}
	if _, err := s.queued(ctx, in.QueuedPath); err != nil {
		return nil, err
	}
	p, err := s.changed(ctx, session, in.Turn, in.Body)
	if err != nil {
		return nil, err
	}
	switch before := in.Body.Before; {
	case p == nil && before == "":
		return nil, terret.Invalid("body", "say what to change: prompt, blocks, options or before")
	case before != "" && before != "end":
		if _, err := s.queued(ctx, QueuedPath{in.SessionPath, before}); err != nil {
			return nil, terret.Invalid("before", "no turn %.64q is queued in this session", before)
		}
	}
	if err := s.engine.EditQueued(ctx, engine.QueueEdit{Session: in.ID, Turn: in.Turn, Prompt: p, Before: in.Body.Before, By: caller(ctx)}); err != nil {
		return nil, err
	}
	return reply(s.queued(ctx, in.QueuedPath))
}

// changed is a queued prompt with the change applied, or nil if the prompt itself does
// not change. Missing options stay. A token that may only prompt cannot put new words
// under options that another token has allowed.
func (s *Server) changed(ctx context.Context, session terret.Session, turn string, c queuedChange) (*terret.Prompt, error) {
	words, options := c.Prompt != "" || len(c.Blocks) > 0, !reflect.ValueOf(c.Options).IsZero()
	if !words && !options {
		return nil, nil
	}
	p, err := s.waiting(ctx, session.ID, turn)
	if err != nil {
		return nil, err
	}
	n := newTurn{Blocks: p.Blocks, Options: p.Options}
	if words {
		n.Prompt, n.Blocks = c.Prompt, c.Blocks
	}
	if options {
		n.Options = c.Options
	}
	if err := s.checkTurn(ctx, n); err != nil {
		return nil, err
	}
	return &terret.Prompt{Blocks: n.prompt().Blocks, MessageID: terret.NewID(terret.PrefixMessage), ParentID: p.ParentID, Root: p.Root, Options: n.Options}, nil
}

// waiting returns a prompt from the queue.
func (s *Server) waiting(ctx context.Context, session, turn string) (terret.Prompt, error) {
	items, err := s.store.Pending(ctx, session)
	if err != nil {
		return terret.Prompt{}, err
	}
	for _, item := range items {
		if item.ID == turn {
			var p terret.Prompt
			err := json.Unmarshal(item.Body, &p)
			return p, err
		}
	}
	return terret.Prompt{}, terret.Errorf(terret.CodeNotFound, "turn %s has begun", turn)
}

func (s *Server) dropQueued(ctx context.Context, in *QueuedPath) (*nothing, error) {
	if _, err := s.queued(ctx, *in); err != nil {
		return nil, err
	}
	return nil, s.engine.DropQueued(ctx, in.ID, in.Turn, caller(ctx))
}

func (s *Server) sendQueued(ctx context.Context, in *struct {
	SessionPath
	Body struct {
		Turn string `json:"turn,omitempty" doc:"Only this one. Default: all that are held."`
	}
},
) (*nothing, error) {
	session, err := s.liveSession(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if in.Body.Turn != "" {
		if _, err := s.queued(ctx, QueuedPath{in.SessionPath, in.Body.Turn}); err != nil {
			return nil, err
		}
	}
	if err := s.mayWork(ctx, session); err != nil {
		return nil, err
	}
	return nil, s.engine.SendQueued(ctx, in.ID, in.Body.Turn, caller(ctx))
}

func (s *Server) clearQueue(ctx context.Context, in *SessionPath) (*nothing, error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	queue, err := s.engine.Queue(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range queue {
		if err := s.engine.DropQueued(ctx, in.ID, t.ID, caller(ctx)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
