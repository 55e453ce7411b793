package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/work/review"
)

func (s *Server) reviewRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/reviews", id: "list-reviews", tag: tagWork, scope: access.View,
		summary: "List reviews, the newest first",
		long:    "A review is running, interrupted if nobody works on it, completed, or failed if no agent could review.",
		fails:   stored(),
	}, s.listReviews)
	handle(s, route{
		method: "POST", path: "/v1/reviews", id: "start-review", tag: tagWork, scope: access.Prompt, status: http.StatusAccepted,
		summary: "Have agents review a change",
		long:    "Agents work in the background, and only read. Several agents make an ensemble, whose findings are merged. A finding is verified if the diff shows its line. If there is nothing to review, the answer says empty and has no id.",
		fails:   stored(terret.CodeAgentNotFound),
	}, s.startReview)
	handle(s, route{
		method: "GET", path: "/v1/reviews/{id}", id: "get-review", tag: tagWork, scope: access.View,
		summary: "Show a review",
		long:    "The id is that of the session that holds its log, which can be followed like any other.",
		fails:   stored(terret.CodeNotFound),
	}, s.getReview)
	handle(s, route{
		method: "POST", path: "/v1/reviews/{id}/resume", id: "resume-review", tag: tagWork, scope: access.Prompt, status: http.StatusAccepted,
		summary: "Continue a review that was interrupted",
		long:    "Agents that had answered are not asked again.",
		fails:   stored(terret.CodeNotFound, terret.CodeConflict),
	}, s.resumeReview)
}

type newReview struct {
	Cwd      string   `json:"cwd" doc:"The folder to review; it must be inside one of the roots."`
	Template string   `json:"template,omitempty" enum:"code,tasks,plan,security" doc:"Default code."`
	Diff     string   `json:"diff,omitempty" maxLength:"500" doc:"The commit to compare with, or a range. Default: what is not committed."`
	Agents   []string `json:"agents,omitempty" maxItems:"10" doc:"Default: the configured one."`
	Model    string   `json:"model,omitempty"`
	Input    string   `json:"input,omitempty" maxLength:"100000" doc:"The tasks or the plan, or what else the template asks for."`
}

// reviews runs reviews on what the server works with.
func (s *Server) reviews() *review.Runner {
	r := s.maker.Reviews()
	r.Host.Store, r.List = s.store, s.store.ListSessions
	return r
}

func (s *Server) listReviews(ctx context.Context, _ *struct{}) (*body[terret.Page[review.Report]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return page(s.reviews().All(ctx))
}

func (s *Server) getReview(ctx context.Context, in *struct {
	SessionPath
	Diff string `query:"diff" enum:"0,1" doc:"1 shows what was reviewed."`
},
) (*body[review.Report], error) {
	r, report, err := s.review(ctx, in.ID)
	if err == nil && in.Diff == "1" {
		report.Diff, err = r.Diff(ctx, in.ID)
	}
	return reply(report, err)
}

// review returns a review.
func (s *Server) review(ctx context.Context, id string) (*review.Runner, review.Report, error) {
	r := s.reviews()
	if err := checkID(id); err != nil {
		return r, review.Report{}, err
	}
	if err := everywhere(ctx); err != nil {
		return r, review.Report{}, err
	}
	report, err := r.Get(ctx, id)
	return r, report, err
}

func (s *Server) resumeReview(ctx context.Context, in *SessionPath) (*body[review.Report], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	_, report, err := s.review(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.inRoots("cwd", report.Cwd); err != nil {
		return nil, err
	}
	if report.State != interrupted {
		return nil, terret.Errorf(terret.CodeConflict, "review %s is %s", in.ID, report.State)
	}
	s.work(in.ID, job{Kind: jobReview, By: caller(ctx)})
	report.State = "running"
	return reply(report, nil)
}

func (s *Server) startReview(ctx context.Context, in *struct{ Body newReview }) (*body[review.Report], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	n := in.Body
	if err := checkNames("agents", n.Agents); err != nil {
		return nil, err
	}
	if err := checkName("model", n.Model); err != nil {
		return nil, err
	}
	t, err := review.Load(nonEmpty(n.Template, "code"))
	if err != nil {
		return nil, err
	}
	q := review.Request{Template: t, Base: n.Diff, Agents: n.Agents, Model: n.Model, Input: n.Input}
	if q.Cwd, err = s.inRoots("cwd", n.Cwd); err != nil {
		return nil, err
	}
	r := s.reviews()
	report, err := r.Start(ctx, caller(ctx), q)
	if err != nil || report.Empty {
		return reply(report, err)
	}
	s.work(report.ID, job{Kind: jobReview, By: caller(ctx)})
	report.State = "running"
	return reply(report, nil)
}
