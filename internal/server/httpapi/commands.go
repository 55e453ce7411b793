package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) commandRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/commands", id: "list-commands", tag: tagControl, scope: access.View,
		summary: "List the agent's commands, typed as /name",
		long:    "Starts the agent if it is not running. A view token gets what the log has.",
		fails:   inSession(fromAgent...),
	}, s.listCommands)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/commands", id: "run-command", tag: tagControl, scope: access.Prompt, status: http.StatusAccepted,
		summary: "Run a command of the agent as a turn",
		long:    "Returns the turn, like a prompt. Starts the agent if it is not running.",
		fails:   inSession(fromAgent...),
	}, s.runCommand)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/compact", id: "compact", tag: tagControl, scope: access.Prompt, status: http.StatusAccepted,
		summary: "Compact the agent's context, as a turn",
		long:    "Returns the turn, like a prompt. Starts the agent if it is not running.",
		fails:   inSession(fromAgent...),
	}, s.compact)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/models", id: "session-models", tag: tagControl, scope: access.Prompt,
		summary: "List the models that the session's agent can use",
		long:    "Starts the agent if it is not running. With view, by provider.",
		fails:   inSession(fromAgent...),
		dialect: s.sessionModelsDialect, views: []string{"hive"},
	}, s.sessionModels)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/context", id: "context", tag: tagControl, scope: access.Prompt,
		summary: "Show what fills the agent's context",
		long:    "Starts the agent if it is not running. Some agents only report how full it is.",
		fails:   inSession(fromAgent...),
	}, s.contextUsage)
}

func (s *Server) listCommands(ctx context.Context, in *SessionPath) (*body[terret.Page[terret.Command]], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	if need(ctx, access.Prompt) == nil {
		return page(s.engine.Commands(ctx, in.ID))
	}
	return page(s.knownCommands(ctx, in.ID))
}

// knownCommands are the commands that the agent last reported.
func (s *Server) knownCommands(ctx context.Context, session string) ([]terret.Command, error) {
	q := terret.ReadQuery{Session: session, Kinds: []terret.Kind{terret.KindSessionStart, terret.KindSessionCommands}, Backward: true, Limit: 10}
	for {
		entries, err := s.store.Read(ctx, q)
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		for _, e := range entries {
			q.Before = e.Seq
			ev, err := e.Decode()
			if err != nil {
				return nil, err
			}
			switch d := ev.Data.(type) {
			case terret.SessionStart:
				if d.Commands != nil {
					return d.Commands, nil
				}
			case terret.SessionCommands:
				return d.Commands, nil
			}
		}
	}
}

type newCommand struct {
	Name string      `json:"name" doc:"Without the slash."`
	Args string      `json:"args,omitempty"`
	When engine.When `json:"when,omitempty" enum:"reject,queue"`
}

func (s *Server) runCommand(ctx context.Context, in *struct {
	SessionPath
	Key  string `header:"Idempotency-Key" maxLength:"255"`
	Body newCommand
},
) (*body[terret.Turn], error) {
	if err := checkName("name", in.Body.Name); err != nil {
		return nil, err
	}
	if len(in.Body.Args) > s.limits.Prompt {
		return nil, tooLarge("args", "it has %d bytes; at most %d are allowed", len(in.Body.Args), s.limits.Prompt)
	}
	return s.turnByKey(ctx, in.ID, "command", in.Key, in.Body, func(turn string) (terret.Turn, error) {
		return s.engine.RunCommand(ctx, engine.CommandRequest{
			Session: in.ID, Name: in.Body.Name, Args: in.Body.Args, When: in.Body.When, By: caller(ctx), Turn: turn,
		})
	})
}

type newCompaction struct {
	Instructions string      `json:"instructions,omitempty" maxLength:"20000" doc:"What to keep."`
	When         engine.When `json:"when,omitempty" enum:"reject,queue"`
}

func (s *Server) compact(ctx context.Context, in *struct {
	SessionPath
	Key  string `header:"Idempotency-Key" maxLength:"255"`
	Body *newCompaction
},
) (*body[terret.Turn], error) {
	r := engine.CompactRequest{Session: in.ID, By: caller(ctx)}
	if in.Body != nil {
		r.Instructions, r.When = in.Body.Instructions, in.Body.When
	}
	return s.turnByKey(ctx, in.ID, "compact", in.Key, in.Body, func(turn string) (terret.Turn, error) {
		r.Turn = turn
		return s.engine.Compact(ctx, r)
	})
}

// turnByKey starts a turn that is not a prompt.
func (s *Server) turnByKey(ctx context.Context, session, what, key string, request any, start func(turn string) (terret.Turn, error)) (*body[terret.Turn], error) {
	record, err := s.session(ctx, session)
	if err != nil {
		return nil, err
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := s.mayWork(ctx, record); err != nil {
		return nil, err
	}
	by := caller(ctx)
	t, err := s.keys.do(ctx, key, []any{by, what, session}, request, func() (any, error) {
		if key == "" {
			return start("")
		}
		return start(turnOfKey(by, session, what, key))
	}, nil)
	turn, _ := t.(terret.Turn)
	return reply(turn, err)
}

func (s *Server) sessionModels(ctx context.Context, in *SessionPath) (*body[terret.Page[terret.Model]], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	return page(s.engine.Models(ctx, in.ID))
}

func (s *Server) contextUsage(ctx context.Context, in *SessionPath) (*body[terret.ContextUsage], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	return reply(s.engine.Context(ctx, in.ID))
}
