package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
)

func (s *Server) controlRoutes() {
	s.stopRoute("interrupt", "Stop the running turn and keep the agent", "Open requests are decided first. A turn that does not stop in time is killed. If no turn is running, that is a conflict.", s.engine.Interrupt)
	s.stopRoute("kill", "Kill the running turn and the agent's processes", "Returns when the processes are gone. If no turn is running, that is a conflict.", s.engine.Kill)
	s.stopRoute("close", "Close the session's agent", "The session's terminals end with it. The next prompt starts the agent again.", s.closeSession)
	s.rewindRoute("undo", "Undo the last turn", s.engine.Undo)
	s.rewindRoute("redo", "Redo the turn that was undone", s.engine.Redo)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/copies", id: "list-copies", tag: tagControl, scope: access.View,
		summary: "List copies of overwritten files",
		long:    "What forced undos and redos overwrote in the session's folder, the newest first. Copies are dropped after 30 days, or when there are 100 newer ones or more than 256 MiB.",
		fails:   inSession(terret.CodeUnsupported),
	}, s.copies)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/copies/{copy}/restore", id: "restore-copy", tag: tagControl, scope: access.Prompt,
		summary: "Put the files of a copy back",
		long:    "If files have changed since the copy was made, the conflict names them and nothing is touched, unless forced; then a copy of them is kept.",
		fails:   inSession(terret.CodeNotFound, terret.CodeUnsupported, terret.CodeSessionBusy),
	}, s.restoreCopy)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/fork", id: "fork", tag: tagControl, scope: access.Prompt, status: http.StatusCreated,
		summary: "Fork a session",
		long:    "Creates a session that begins as a copy of this one, up to and including a message. The agent must support it.",
		fails:   inSession(fromAgent...),
	}, s.fork)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/handoff", id: "handoff", tag: tagControl, scope: access.Prompt, status: http.StatusCreated,
		summary: "Hand a session over to another agent or node",
		long:    "Creates a session with another agent in the same folder, under the same restrictions, and starts its first turn with a bounded account of this one: messages, decisions, plan and changed files, and what was left out. This session's handed_to then names the new one, whose forked_from names this one. Nothing else changes here: a running turn goes on, and requests can be answered. An agent that is not installed or signed in is refused. In a fleet, node has a session on another node go on with the work of one that was begun from a git repository and in which nothing happens, in a clone with the same commits, branches and changed files; what git ignores stays behind. Queued prompts go along, and the account comes with the first prompt there. This needs scope decide.",
		fails:   inSession(terret.CodeAgentNotFound, terret.CodeNotAuthenticated, terret.CodeUnsupported, terret.CodeSessionBusy),
	}, s.handoff)
}

// stopRoute adds a route that ends something in a session.
func (s *Server) stopRoute(verb, summary, long string, do func(ctx context.Context, session, by string) error) {
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/" + verb, id: verb, tag: tagControl, scope: access.Prompt,
		summary: summary, long: long, fails: inSession(), reword: done, views: []string{"hive"},
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

// closeSession ends the agent of a session, and its terminals.
func (s *Server) closeSession(ctx context.Context, id, by string) error {
	err := s.engine.CloseSession(ctx, id, by)
	if err == nil {
		s.terminals.RemoveAll(id)
	}
	return err
}

// rewindRoute adds a route that moves a session back or forward.
func (s *Server) rewindRoute(verb, summary string, do func(ctx context.Context, session, by string, force bool) (engine.Rewound, error)) {
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/" + verb, id: verb, tag: tagControl, scope: access.Prompt, summary: summary,
		long:  "Restores the files that the turn changed and, if the agent supports it, the conversation. If files have changed since, the conflict names them and nothing is touched, unless forced; then a copy of them is kept. The answer says what is not taken back.",
		fails: inSession(fromAgent...), reword: s.hiveRewound, views: []string{"hive"},
	}, func(ctx context.Context, in *rewindInput) (*body[engine.Rewound], error) {
		if err := s.folderInRoots(ctx, in.ID); err != nil {
			return nil, err
		}
		done, err := do(ctx, in.ID, caller(ctx), in.force())
		if done.Files == nil {
			done.Files = []string{}
		}
		return reply(done, err)
	})
}

// folderInRoots refuses a session whose folder is outside of the server's roots.
func (s *Server) folderInRoots(ctx context.Context, id string) error {
	record, err := s.session(ctx, id)
	if err == nil {
		_, err = s.inRoots("cwd", record.Cwd)
	}
	return err
}

func (s *Server) copies(ctx context.Context, in *SessionPath) (*body[terret.Page[engine.Copy]], error) {
	if err := s.folderInRoots(ctx, in.ID); err != nil {
		return nil, err
	}
	list, err := s.engine.Copies(ctx, in.ID)
	return reply(terret.Page[engine.Copy]{Items: list}, err)
}

func (s *Server) restoreCopy(ctx context.Context, in *struct {
	SessionPath
	Copy string `path:"copy"`
	Body *newRewind
},
) (*body[engine.Restored], error) {
	if err := s.folderInRoots(ctx, in.ID); err != nil {
		return nil, err
	}
	return reply(s.engine.RestoreCopy(ctx, in.ID, in.Copy, caller(ctx), in.Body != nil && in.Body.Force))
}

type newRewind struct {
	Force bool `json:"force,omitempty" doc:"Overwrite files that have changed since, and keep a copy of them."`
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

type newHandoff struct {
	Agent  string `json:"agent,omitempty" doc:"The agent that takes over. Only with node it may be left out: then it is the same."`
	Model  string `json:"model,omitempty" doc:"Default: the agent's own."`
	Prompt string `json:"prompt,omitempty" doc:"What to do next. Default: to continue the work."`
	Node   string `json:"node,omitempty" maxLength:"200" doc:"The node of the fleet on which to go on, or \"any\": the one with the fewest sessions that has the labels of this one. Default: the same node, in the same folder."`
	Idle   bool   `json:"idle,omitempty" doc:"With node: begin no turn. The account then comes with the first prompt that somebody sends."`
}

// HandedOver is the session that continues another one.
type HandedOver struct {
	terret.Session
	First *terret.Turn `json:"first,omitempty" doc:"The turn in which the agent learns what happened, if there is one already."`
	Notes []string     `json:"notes,omitempty" doc:"What to know about the session."`
}

func (s *Server) handoff(ctx context.Context, in *struct {
	SessionPath
	Body newHandoff
},
) (*body[HandedOver], error) {
	if err := s.folderInRoots(ctx, in.ID); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	n := in.Body
	if err := checkName("agent", n.Agent); err != nil {
		return nil, err
	}
	if err := checkName("model", n.Model); err != nil {
		return nil, err
	}
	if len(n.Prompt) > s.limits.Prompt {
		return nil, tooLarge("prompt", "it has %d bytes; at most %d are allowed", len(n.Prompt), s.limits.Prompt)
	}
	if n.Node != "" {
		return s.moveTo(ctx, in.ID, n)
	}
	if n.Idle {
		return nil, terret.Invalid("idle", "it goes with node")
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := s.sessions.add(ctx, s); err != nil {
		return nil, err
	}
	var notes []string
	made, prompt, err := s.maker.HandOver(ctx, assemble.HandOver{
		Session: in.ID, Agent: n.Agent, Model: n.Model, Prompt: n.Prompt, By: caller(ctx),
	}, assemble.CreateOptions{Tell: func(note string) { notes = append(notes, note) }})
	if err != nil {
		s.sessions.remove()
		return nil, err
	}
	first, err := s.engine.Prompt(ctx, engine.PromptRequest{Session: made.ID, Prompt: prompt, When: engine.WhenReject, By: caller(ctx)})
	return reply(HandedOver{shown(access.From(ctx), made), &first, notes}, err)
}
