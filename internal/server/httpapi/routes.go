package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// routes lists every route that OpenAPI describes, and mounts all routes.
func (s *Server) routes() {
	s.sessionRoutes()
	s.turnRoutes()
	s.queueRoutes()
	s.controlRoutes()
	s.eventRoutes()
	s.decisionRoutes()
	s.ruleRoutes()
	s.adviceRoutes()
	s.replayRoutes()
	s.agentRoutes()
	s.setupRoutes()
	s.usageRoutes()
	s.searchRoutes()
	s.folderRoutes()
	s.commitRoutes()
	s.terminalRoutes()
	s.branchRoutes()
	s.personaRoutes()
	s.trustRoutes()
	s.commandRoutes()
	s.transferRoutes()
	s.discoveredRoutes()
	s.tokenRoutes()
	s.markRoutes()
	s.presetRoutes()
	s.pushRoutes()
	s.notifyRoutes()
	s.teamRoutes()
	s.workflowRoutes()
	s.reviewRoutes()
	s.raceRoutes()
	s.fleetRoutes()
	s.bodyLimits = map[string]int64{"POST " + arrivalsPath: s.limits.Body}
	for _, op := range s.operations {
		s.bodyLimits[op.method+" "+op.path] = op.maxBody(s.limits)
		s.mux.Handle(op.method+" "+op.path, s.relaying(op.route, op.handler()))
	}
	s.plainRoutes()
	s.mountDoors()
}

// relaying passes requests on that another node of the fleet must answer.
func (s *Server) relaying(op route, here http.Handler) http.Handler {
	if s.fleet == nil {
		return here
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if node := s.elsewhere(r, op.id); node != "" {
			s.relay(w, r, op, node)
			return
		}
		here.ServeHTTP(w, r)
	})
}

// plainRoutes are the routes that OpenAPI does not describe.
func (s *Server) plainRoutes() {
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		spec, err := s.spec()
		if err != nil {
			writeProblem(w, terret.Errorf(terret.CodeInternal, "cannot describe the routes: %w", err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(spec)
	})
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.HandleFunc("GET /metrics", s.serveMetrics)
	s.mux.HandleFunc("POST "+arrivalsPath, s.arrivals)
	s.harnessRoutes()
}

// route describes one operation.
type route struct {
	method, path string
	id, summary  string
	long         string // further explanation for callers
	tag          string
	scope        access.Scope
	status       int // of success; zero means 200, or 204 without a body
	// fails lists the errors it can return besides those of every route.
	fails []terret.ErrorCode
	// dialect, if set, serves requests with the parameter view, which is one of views.
	// Of the route's other parameters it knows those in takes.
	dialect func(w http.ResponseWriter, r *http.Request, view string) error
	// reword, if set instead, says the route's own response in Hive's words.
	reword func(ctx context.Context, session string, response []byte) (map[string]any, error)
	views  []string
	takes  []string
	// answers and request describe what the handler itself writes and reads.
	answers func(huma.Registry) map[string]*huma.Response
	request *huma.RequestBody
}

// operation is a route that can be registered with huma.
type operation struct {
	route
	register func(huma.API)
}

// handler registers the route at its first request: reflecting over the types of all
// inputs and outputs would take longer than the rest of a start.
func (op operation) handler() http.Handler {
	registered := sync.OnceValue(func() *endpoint {
		var e endpoint
		api := newAPI(&e)
		op.register(api)
		tidy(api.OpenAPI())
		return &e
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(op.views) == 0 || !r.URL.Query().Has("view") {
			registered().ServeHTTP(w, r)
			return
		}
		err := need(r.Context(), op.scope)
		if err == nil {
			err = op.checkDialect(r.URL.Query())
		}
		switch {
		case err != nil:
		case op.reword != nil:
			op.inOtherWords(w, r, registered())
		default:
			err = op.dialect(w, r, r.URL.Query().Get("view"))
		}
		if err != nil {
			writeProblem(w, err)
		}
	})
}

// checkDialect refuses dialects that the route does not have, and parameters that they do
// not know.
func (r route) checkDialect(query url.Values) error {
	for name := range query {
		if name != "view" && !slices.Contains(r.takes, name) {
			return terret.Invalid(short(name), "cannot be used together with view")
		}
	}
	if view := query.Get("view"); !slices.Contains(r.views, view) {
		return terret.Invalid("view", "%.64q is not a dialect of this route; use %s", view, strings.Join(r.views, " or "))
	}
	return nil
}

// endpoint is the huma.Adapter of one route.
type endpoint struct {
	op    *huma.Operation
	serve func(huma.Context)
}

// Handle implements huma.Adapter.
func (e *endpoint) Handle(op *huma.Operation, serve func(huma.Context)) { e.op, e.serve = op, serve }

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.serve(humago.NewContext(e.op, r, w))
}

// handle adds a route. Errors of fn become problems.
func handle[I, O any](s *Server, r route, fn func(context.Context, *I) (*O, error)) {
	s.operations = append(s.operations, operation{r, func(api huma.API) {
		op := r.operation(api)
		op.MaxBodyBytes, op.BodyReadTimeout = s.limits.Body+1, bodyTimeout // one more: outer has the limit of the route
		op.Middlewares = append(op.Middlewares, receive)
		if takesBody[I]() {
			op.Extensions["x-max-body-bytes"] = r.maxBody(s.limits)
		}
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			bodyRead(ctx)
			out, err := fn(ctx, in)
			return out, failed(err)
		})
	}})
}

// takesBody reports whether an input has a body.
func takesBody[I any]() bool {
	_, ok := reflect.TypeFor[I]().FieldByName("Body")
	return ok
}

// operation converts the route to huma's form.
func (r route) operation(api huma.API) huma.Operation {
	op := huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.long, Tags: []string{r.tag},
		DefaultStatus: r.status, RequestBody: r.request,
		Security:   []map[string][]string{{"token": {}}},
		Responses:  map[string]*huma.Response{},
		Extensions: map[string]any{"x-errors": r.errors()},
	}
	if len(r.views) > 0 {
		enum := make([]any, len(r.views))
		for i, v := range r.views {
			enum[i] = v
		}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "view", In: "query", Description: "Speak another system's dialect.", Schema: &huma.Schema{Type: huma.TypeString, Enum: enum},
		})
	}
	if r.answers != nil {
		op.Responses = r.answers(api.OpenAPI().Components.Schemas)
	}
	op.Responses["default"] = &huma.Response{Ref: responseRef + "Problem"}
	if r.scope == "" { // signing in, and answers with a token of their own
		op.Security = []map[string][]string{}
		return op
	}
	op.Extensions["x-scope"] = string(r.scope)
	// Before the body is read.
	op.Middlewares = huma.Middlewares{func(c huma.Context, next func(huma.Context)) {
		if err := need(c.Context(), r.scope); err != nil {
			_, w := humago.Unwrap(c)
			writeProblem(w, err)
			return
		}
		next(c)
	}}
	return op
}

// bodyRead clears the read deadline of the request, which would also end the response.
func bodyRead(ctx context.Context) {
	if rc, ok := ctx.Value(controllerKey{}).(*http.ResponseController); ok {
		_ = rc.SetReadDeadline(time.Time{})
	}
}

// failed converts an error to what huma returns.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if seconds, ok := access.RetryAfter(err); ok {
		return huma.ErrorWithHeaders(problemOf(err), http.Header{"Retry-After": {strconv.Itoa(seconds)}})
	}
	return problemOf(err)
}

// body is a response with only a body.
type body[T any] struct{ Body T }

func reply[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// nothing is a response without a body.
type nothing struct{}

// page makes a page from a complete list.
func page[T any](items []T, err error) (*body[terret.Page[T]], error) {
	if items == nil {
		items = []T{}
	}
	return reply(terret.Page[T]{Items: items}, err)
}
