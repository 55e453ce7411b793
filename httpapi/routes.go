package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
)

// routes registers everything.
func (s *Server) routes() {
	s.api = humago.New(s.mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Terret", Version: "1",
				Description: "One harness for every coding agent. Records and events are those of docs/ARCHITECTURE.md.",
			},
			Components: &huma.Components{
				Schemas:         newRegistry(),
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}},
			},
		},
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{transformProblem},
	})
	s.sessionRoutes()
	s.turnRoutes()
	s.queueRoutes()
	s.controlRoutes()
	s.eventRoutes()
	s.decisionRoutes()
	s.ruleRoutes()
	s.agentRoutes()
	s.usageRoutes()
	s.folderRoutes()
	s.personaRoutes()
	s.commandRoutes()
	s.transferRoutes()
	s.tokenRoutes()

	tidy(s.api.OpenAPI())
	// Few ask for it, and it takes longer than all the rest of a start.
	s.spec = sync.OnceValues(func() ([]byte, error) { return indented(s.api.OpenAPI()) })
	s.plainRoutes()
}

// Describe is the description of all routes, as every server serves it.
func Describe() ([]byte, error) {
	s := &Server{limits: Limits{}.withDefaults(), mux: http.NewServeMux()}
	s.routes()
	return s.spec()
}

// plainRoutes are those that OpenAPI does not describe.
func (s *Server) plainRoutes() {
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		spec, err := s.spec()
		if err != nil {
			writeProblem(w, terret.Errorf(terret.CodeInternal, "describe the routes: %w", err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(spec)
	})
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.HandleFunc("GET /metrics", s.serveMetrics)
	s.harnessRoutes()
}

// route is one operation: what it needs, and what it is called.
type route struct {
	method, path string
	id, summary  string
	tag          string
	scope        access.Scope
	status       int    // of success; zero means 200, or 204 without a body
	long         string // further description
}

// handle registers a route. Errors of fn become problems.
func handle[I, O any](s *Server, r route, fn func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.long, Tags: []string{r.tag},
		DefaultStatus: r.status, MaxBodyBytes: s.limits.Body, BodyReadTimeout: bodyTimeout,
		Security:  []map[string][]string{{"token": {}}},
		Responses: s.problemResponse(),
		Extensions: map[string]any{
			"x-scope": string(r.scope),
		},
	}
	if r.scope == "" { // the one way in without a token
		op.Security, op.Extensions = []map[string][]string{}, nil
	} else { // before the body is read
		op.Middlewares = huma.Middlewares{func(c huma.Context, next func(huma.Context)) {
			if err := need(c.Context(), r.scope); err != nil {
				_, w := humago.Unwrap(c)
				writeProblem(w, err)
				return
			}
			next(c)
		}}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		if rc, ok := ctx.Value(controllerKey{}).(*http.ResponseController); ok {
			// The body is here. Without this, the time for reading it would end the
			// request.
			_ = rc.SetReadDeadline(time.Time{})
		}
		out, err := fn(ctx, in)
		if err == nil {
			return out, nil
		}
		if seconds, ok := access.RetryAfter(err); ok {
			return nil, huma.ErrorWithHeaders(problemOf(err), http.Header{"Retry-After": {strconv.Itoa(seconds)}})
		}
		return nil, problemOf(err)
	})
}

func (s *Server) problemResponse() map[string]*huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(typeOf[Problem](), true, "Problem")
	return map[string]*huma.Response{"default": {
		Description: "What went wrong",
		Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
	}}
}

// body is an answer that is nothing but its body.
type body[T any] struct{ Body T }

func reply[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// nothing is an answer without a body.
type nothing struct{}

// page makes a list of something that comes whole.
func page[T any](items []T, err error) (*body[terret.Page[T]], error) {
	if items == nil {
		items = []T{}
	}
	return reply(terret.Page[T]{Items: items}, err)
}
