package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/access"
)

func (s *Server) controlRoutes() {
	s.stopRoute("interrupt", "Stop the running turn and keep the agent", "Open requests are decided first. A turn that does not stop in time is killed. If no turn is running, that is a conflict.", s.engine.Interrupt)
	s.stopRoute("kill", "Kill the running turn and the agent's processes", "Returns when the processes are gone. If no turn is running, that is a conflict.", s.engine.Kill)
	s.stopRoute("close", "Close the session's agent", "The next prompt starts it again.", s.engine.CloseSession)
	s.rewindRoute("undo", "Undo the last turn", s.engine.Undo)
	s.rewindRoute("redo", "Redo the turn that was undone", s.engine.Redo)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/fork", id: "fork", tag: tagControl, scope: access.Prompt, status: http.StatusCreated,
		summary: "Fork a session",
		long:    "Creates a session that begins as a copy of this one, up to and including a message. The agent must support it.",
		fails:   inSession(fromAgent...),
	}, s.fork)
}

// stopRoute adds a route that ends something in a session.
func (s *Server) stopRoute(verb, summary, long string, do func(ctx context.Context, session, by string) error) {
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/" + verb, id: verb, tag: tagControl, scope: access.Prompt,
		summary: summary, long: long, fails: inSession(),
	}, func(ctx context.Context, in *SessionPath) (*body[terret.Session], error) {
		if _, err := s.session(ctx, in.ID); err != nil {
			return nil, err
		}
		if err := do(ctx, in.ID, caller(ctx)); err != nil {
			return nil, err
		}
		return s.replySession(ctx)(s.store.Session(ctx, in.ID))
	})
}

// rewindRoute adds a route that moves a session back or forward.
func (s *Server) rewindRoute(verb, summary string, do func(ctx context.Context, session, by string, force bool) (engine.Rewound, error)) {
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/" + verb, id: verb, tag: tagControl, scope: access.Prompt, summary: summary,
		long:  "Restores the files that the turn changed and, if the agent supports it, the conversation. If files have changed since, the conflict names them and nothing is touched, unless forced.",
		fails: inSession(fromAgent...),
	}, func(ctx context.Context, in *rewindInput) (*body[engine.Rewound], error) {
		record, err := s.session(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if _, err := s.inRoots("cwd", record.Cwd); err != nil {
			return nil, err
		}
		done, err := do(ctx, in.ID, caller(ctx), in.force())
		if done.Files == nil {
			done.Files = []string{}
		}
		return reply(done, err)
	})
}

type newRewind struct {
	Force bool `json:"force,omitempty" doc:"Overwrite files that have changed since."`
}

type rewindInput struct {
	SessionPath
	Body *newRewind
}

func (r rewindInput) force() bool { return r.Body != nil && r.Body.Force }

type newFork struct {
	MessageID string `json:"message_id,omitempty" doc:"Up to and including this message. Default: all."`
}

func (s *Server) fork(ctx context.Context, in *struct {
	SessionPath
	Body *newFork
},
) (*body[terret.Session], error) {
	record, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.inRoots("cwd", record.Cwd); err != nil {
		return nil, err
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	message := ""
	if in.Body != nil {
		message = in.Body.MessageID
	}
	if err := checkName("message_id", message); err != nil {
		return nil, err
	}
	if err := s.sessions.add(ctx, s); err != nil {
		return nil, err
	}
	made, err := s.engine.Fork(ctx, in.ID, message)
	if err != nil {
		s.sessions.remove()
	}
	return s.replySession(ctx)(made, err)
}
