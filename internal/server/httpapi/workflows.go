package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/work/workflow"
)

func (s *Server) workflowRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/workflows", id: "list-workflows", tag: tagWork, scope: access.View,
		summary: "List runs of workflows, the newest first",
		long:    "A run is interrupted if it has not ended and nobody works on it.",
		fails:   stored(),
	}, s.listWorkflows)
	handle(s, route{
		method: "POST", path: "/v1/workflows", id: "start-workflow", tag: tagWork, scope: access.Decide, status: http.StatusAccepted,
		summary: "Run a workflow",
		long:    "The server works on it in the background. Its checks are commands that run here, and its agents edit files without asking, which is why this needs a token that may decide. The run's id is that of the session that holds its log.",
		fails:   stored(terret.CodeAgentNotFound),
	}, s.startWorkflow)
	handle(s, route{
		method: "GET", path: "/v1/workflows/{id}", id: "get-workflow", tag: tagWork, scope: access.View,
		summary: "Show a run and its steps",
		long:    "The session of a step shows what its agent does.",
		fails:   stored(terret.CodeNotFound),
	}, s.getWorkflow)
	handle(s, route{
		method: "POST", path: "/v1/workflows/{id}/resume", id: "resume-workflow", tag: tagWork, scope: access.Decide, status: http.StatusAccepted,
		summary: "Continue a run that was interrupted or waits",
		long:    "A run that waits for a person needs a decision about the step that failed: retry, skip or stop.",
		fails:   stored(terret.CodeNotFound, terret.CodeConflict),
	}, s.resumeWorkflow)
}

// workflows runs workflows on what the server works with.
func (s *Server) workflows() *workflow.Runner {
	r := s.maker.Workflows(s.cfg.Env)
	r.Host.Store, r.List = s.store, s.store.ListSessions
	return r
}

type newWorkflow struct {
	Workflow string `json:"workflow" minLength:"1" maxLength:"1000000" doc:"The workflow's file, in YAML."`
	Cwd      string `json:"cwd" doc:"The folder to work in; it must be inside one of the roots."`
	Input    string `json:"input,omitempty" doc:"What {{input}} stands for."`
}

func (s *Server) listWorkflows(ctx context.Context, _ *struct{}) (*body[terret.Page[workflow.Run]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return page(s.workflows().All(ctx))
}

func (s *Server) getWorkflow(ctx context.Context, in *SessionPath) (*body[workflow.Run], error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return reply(s.workflows().Get(ctx, in.ID))
}

func (s *Server) startWorkflow(ctx context.Context, in *struct{ Body newWorkflow }) (*body[workflow.Run], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	n := in.Body
	cwd, err := s.inRoots("cwd", n.Cwd)
	if err != nil {
		return nil, err
	}
	r := s.workflows()
	run, err := r.Start(ctx, caller(ctx), "workflow", []byte(n.Workflow), cwd, n.Input)
	if err != nil {
		return nil, err
	}
	s.work(run.ID, job{Kind: jobWorkflow, By: caller(ctx)})
	run.State = workflow.Running
	return reply(run, nil)
}

func (s *Server) resumeWorkflow(ctx context.Context, in *struct {
	SessionPath
	Body *struct {
		Decision string `json:"decision,omitempty" enum:"retry,skip,stop"`
	}
},
) (*body[workflow.Run], error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	r := s.workflows()
	run, err := r.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.inRoots("cwd", run.Cwd); err != nil {
		return nil, err
	}
	decision := ""
	if in.Body != nil {
		decision = in.Body.Decision
	}
	switch {
	case decision != "":
		err = r.Decide(ctx, caller(ctx), in.ID, decision)
	case run.State == workflow.Waiting:
		err = terret.Invalid("decision", "the run waits for a person; say retry, skip or stop")
	case run.State != workflow.Interrupted:
		err = terret.Errorf(terret.CodeConflict, "run %s is %s", in.ID, run.State)
	}
	if err != nil {
		return nil, err
	}
	s.work(in.ID, job{Kind: jobWorkflow, By: caller(ctx)})
	if run, err = r.Get(ctx, in.ID); run.State == workflow.Interrupted {
		run.State = workflow.Running // the work is about to begin
	}
	return reply(run, err)
}
