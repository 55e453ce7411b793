package httpapi

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) decisionRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/decisions", id: "list-requests", tag: tagDecisions, scope: access.View,
		summary: "List the requests that wait for a decision, oldest first",
		long:    "With state=all, decided ones too. With view, open ones as the events that announced them.",
		fails:   inSession(),
		dialect: s.listDialect, views: []string{"hive"}, takes: []string{"session"},
	}, s.listRequests)
	handle(s, route{
		method: "GET", path: "/v1/decisions/{request}", id: "get-request", tag: tagDecisions, scope: access.View,
		summary: "Get a request",
		long:    "Includes its decision, if there is one.",
		fails:   stored(terret.CodeNotFound),
	}, s.getRequest)
	handle(s, route{
		method: "POST", path: "/v1/decisions/{request}", id: "decide", tag: tagDecisions, scope: access.Decide,
		summary: "Decide a request",
		long:    "Exactly one of several answers counts; the others get 409 already_decided. The log records the token's name as the decider. With view, the body is a decision in that system's own form.",
		fails:   stored(terret.CodeNotFound, terret.CodeAlreadyDecided),
		dialect: s.decideDialect, views: []string{"athena", "hive"},
	}, s.decide)
}

func (s *Server) listRequests(ctx context.Context, in *struct {
	Session string `query:"session"`
	State   string `query:"state" enum:"open,all" doc:"Default open."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" doc:"Maximum number of items. Default 100."`
	Cursor  string `query:"cursor" doc:"The next of the previous page."`
},
) (*body[terret.Page[terret.Request]], error) {
	if in.Cursor != "" && !terret.ValidID(terret.PrefixRequest, in.Cursor) {
		return nil, badCursor()
	}
	f := terret.RequestFilter{Session: in.Session, State: terret.RequestOpen, Limit: in.Limit, Cursor: in.Cursor}
	if in.State == "all" {
		f.State = ""
	}
	if f.Session == "" {
		f.Session = access.From(ctx).Session
	}
	if f.Session != "" {
		if _, err := s.session(ctx, f.Session); err != nil {
			return nil, err
		}
	}
	return reply(s.store.ListRequests(ctx, f))
}

// RequestPath names a request in the path.
type RequestPath struct {
	Request string `path:"request" doc:"The request's id."`
}

// request returns a request, if the caller may see its session.
func (s *Server) request(ctx context.Context, id string) (terret.Request, error) {
	missing := terret.Errorf(terret.CodeNotFound, "there is no request %.64q; GET /v1/decisions lists them", id)
	if !terret.ValidID(terret.PrefixRequest, id) {
		return terret.Request{}, missing
	}
	r, err := s.store.Request(ctx, id)
	if err == nil && mayTouch(ctx, r.Session) != nil {
		err = missing
	}
	return r, err
}

func (s *Server) getRequest(ctx context.Context, in *RequestPath) (*body[terret.Request], error) {
	return reply(s.request(ctx, in.Request))
}

type newDecision struct {
	Behavior     terret.Behavior          `json:"behavior" enum:"allow,deny,answer,reject,approve,revise,block,ask,passthrough"`
	Scope        terret.Scope             `json:"scope,omitempty" enum:"once,session,always" doc:"Default once. The others are for permissions, and make a rule; always needs a token with scope admin."`
	Reason       string                   `json:"reason,omitempty" maxLength:"20000" doc:"Reason to give to the agent."`
	Rule         string                   `json:"rule,omitempty" maxLength:"2000" doc:"The rule to make for scope session or always. Default: all rules that the request suggests."`
	InputHash    string                   `json:"input_hash,omitempty" doc:"Hash of the input you reviewed; a mismatch is refused."`
	UpdatedInput terret.JSON              `json:"updated_input,omitempty" doc:"Input to use instead of the tool's own."`
	Answers      map[string]terret.Choice `json:"answers,omitempty" doc:"What was chosen or written, by question id."`
	NextMode     string                   `json:"next_mode,omitempty" doc:"The permission mode to continue in after a plan is approved."`
	Interrupt    bool                     `json:"interrupt,omitempty" doc:"Also stop the turn."`
}

func (s *Server) decide(ctx context.Context, in *struct {
	RequestPath
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same answer with the same key counts only once."`
	Body newDecision
},
) (*body[terret.Request], error) {
	r, err := s.request(ctx, in.Request)
	if err != nil {
		return nil, err
	}
	b := in.Body
	return reply(s.decideAs(ctx, r, in.Key, terret.Decision{
		RequestID: r.RequestID, Behavior: b.Behavior, Scope: b.Scope, Source: terret.ByUser, Reason: b.Reason, Rule: b.Rule,
		InputHash: b.InputHash, UpdatedInput: unlessNull(b.UpdatedInput), Answers: b.Answers, NextMode: b.NextMode, Interrupt: b.Interrupt,
	}))
}

// decideAs decides a request in the name of the caller, and returns it.
func (s *Server) decideAs(ctx context.Context, r terret.Request, key string, b terret.Decision) (terret.Request, error) {
	if err := checkName("next_mode", b.NextMode); err != nil {
		return terret.Request{}, err
	}
	if b.Scope == terret.ScopeAlways { // a rule for every session is an admin's to make, as by PUT /v1/rules
		if err := access.From(ctx).May(access.Admin, ""); err != nil {
			return terret.Request{}, err
		}
	}
	b.By = caller(ctx)
	_, err := s.keys.do(ctx, key, []any{b.By, "decide", r.RequestID}, b, func() (any, error) { return nil, s.engine.Decide(ctx, b) }, nil)
	if err != nil {
		return terret.Request{}, err
	}
	return s.store.Request(ctx, r.RequestID)
}
