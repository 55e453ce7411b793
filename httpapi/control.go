package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/access"
)

func (s *Server) controlRoutes() {
	const tag = "control"
	stop := func(verb, summary string, do func(context.Context, string, string) error) {
		handle(s, route{method: "POST", path: "/v1/sessions/{id}/" + verb, id: verb, tag: tag, scope: access.Prompt, summary: summary},
			func(ctx context.Context, in *SessionPath) (*body[terret.Session], error) {
				if _, err := s.session(ctx, in.ID); err != nil {
					return nil, err
				}
				if err := do(ctx, in.ID, caller(ctx)); err != nil {
					return nil, err
				}
				return s.replySession(ctx)(s.store.Session(ctx, in.ID))
			})
	}
	stop("interrupt", "Stop the running turn and keep the agent", s.engine.Interrupt)
	stop("kill", "End the running turn and the agent's processes by force", s.engine.Kill)
	stop("close", "End the session's agent; the session can be prompted again", s.engine.CloseSession)

	rewind := func(verb, summary string, do func(context.Context, string, string, bool) (engine.Rewound, error)) {
		handle(s, route{
			method: "POST", path: "/v1/sessions/{id}/" + verb, id: verb, tag: tag, scope: access.Prompt, summary: summary,
			long: "Files that somebody changed since are a conflict that names them, and nothing is changed then, unless forced.",
		},
			func(ctx context.Context, in *rewindInput) (*body[engine.Rewound], error) {
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
	rewind("undo", "Take back what the last turn changed", s.engine.Undo)
	rewind("redo", "Bring back what undo took", s.engine.Redo)
	handle(s, route{method: "POST", path: "/v1/sessions/{id}/fork", id: "fork", tag: tag, scope: access.Prompt, status: http.StatusCreated, summary: "Make a session that begins as a copy of this one"}, s.fork)
}

type newRewind struct {
	Force bool `json:"force,omitempty" doc:"Overwrite files that were changed since."`
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
