package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// controllerKey is where handlers find the response's controller.
type controllerKey struct{}

// outer wraps every request, from the outside in: logging, panics, the gate, the token,
// the route.
func (s *Server) outer(next http.Handler) http.Handler {
	return s.noted(s.gate.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.ours(r.URL.Path) {
			s.web(w, r)
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, s.bodyLimit(r))
		}
		ctx := context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))
		if !s.public(r) {
			id, err := s.gate.Authenticate(r)
			if err != nil {
				s.refuse(w, r, err)
				return
			}
			noteCaller(w, id.Name)
			if err := s.mayAgent(r, id); err != nil {
				s.refuse(w, r, err)
				return
			}
			ctx = access.With(ctx, id)
		}
		w.Header().Set("Cache-Control", "no-store")
		r = r.WithContext(ctx)
		if err := checkURL(r.URL); err != nil {
			s.refuse(w, r, err)
			return
		}
		if _, pattern := s.mux.Handler(r); pattern == "" {
			s.noRoute(w, r)
			return
		}
		r, release, err := s.admitBody(r)
		if err != nil {
			w.Header().Set("Retry-After", retryBody)
			s.refuse(w, r, err)
			return
		}
		defer release()
		answer := s.taking(w, r)
		defer answer.done()
		next.ServeHTTP(answer, r)
	})))
}

// checkURL refuses what handlers would not see: parts of a query that cannot be read,
// which would be left out, values after the first, and paths that lead to another route.
func checkURL(u *url.URL) error {
	if path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") || !isText(u.Path) {
		return terret.Invalid("url", "a part of the path %.200q is not a name: it is empty, only dots, or not text", u.Path)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return terret.Invalid("query", "it cannot be read; write %%25 for a percent sign and %%3B for a semicolon")
	}
	for name, values := range query {
		switch {
		case !isText(name):
			return terret.Invalid("query", "%.64q is not the name of a parameter", name)
		case len(values) > 1:
			return terret.Invalid(short(name), "given %d times; give it once, with commas between several values", len(values))
		case !isText(values[0]):
			return terret.Invalid(short(name), "%.64q is not text", values[0])
		}
	}
	return nil
}

// isText reports whether a string is UTF-8 without zero bytes, at which databases stop
// reading.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// ours reports whether a path belongs to the API. All others belong to the web UI.
func (s *Server) ours(at string) bool {
	for _, p := range []string{"/v1", "/api", "/healthz", "/readyz", "/metrics", "/openapi.json"} {
		if at == p || strings.HasPrefix(at, p+"/") {
			return true
		}
	}
	return s.doorOf(at) != nil
}

func (s *Server) web(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Web == nil {
		writeProblem(w, terret.Errorf(terret.CodeNotFound, "there is nothing at %s; the API is at /v1, its description at /openapi.json", r.URL.Path))
		return
	}
	s.cfg.Web.ServeHTTP(w, r)
}

// noRoute answers a request with no route, or with the wrong method.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) {
	if s.doorOf(r.URL.Path) != nil { // to the door itself
		s.refuse(w, r, terret.Errorf(terret.CodeNotFound, "there is nothing at %s", r.URL.Path))
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, plainProblem(http.StatusMethodNotAllowed, fmt.Sprintf("%s supports %s, not %s", r.URL.Path, strings.Join(allowed, " or "), r.Method)))
		return
	}
	writeProblem(w, terret.Errorf(terret.CodeNotFound, "there is no route %s; /openapi.json lists them", r.URL.Path))
}

// noting is a response that remembers its status and size.
type noting struct {
	http.ResponseWriter
	status int
	bytes  int64
	caller string
}

// Unwrap is for http.ResponseController.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (n *noting) WriteHeader(status int) {
	if n.status == 0 {
		n.status = status
	}
	n.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (n *noting) Write(b []byte) (int, error) {
	if n.status == 0 {
		n.status = http.StatusOK
	}
	written, err := n.ResponseWriter.Write(b)
	n.bytes += int64(written)
	return written, err
}

func noteCaller(w http.ResponseWriter, name string) {
	for {
		switch v := w.(type) {
		case *noting:
			v.caller = name
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return
		}
	}
}

// noted logs and counts requests, and turns a panic into a response. It logs neither
// query nor headers: they may hold secrets.
func (s *Server) noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n := &noting{ResponseWriter: w}
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // compared as it was panicked with
				s.log.ErrorContext(r.Context(), "a request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if n.status == 0 { // otherwise it is too late for a response
					s.refuse(n, r, terret.Errorf(terret.CodeInternal, "internal error; see the server's log"))
					p = nil
				}
			}
			if p != nil {
				defer panic(http.ErrAbortHandler)
			}
			took := time.Since(began)
			_, pattern := s.mux.Handler(r)
			s.metrics.request(r.Method, pattern, n.status, took)
			s.log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "status", n.status, "bytes", n.bytes, "took", took, "caller", n.caller)
		}()
		next.ServeHTTP(n, r)
	})
}

// health reports that the server is running.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"status\":\"ok\",\"version\":%q}\n", nonEmpty(s.cfg.Version, "dev"))
}

// ready reports whether the server accepts work: not while it is stopping, if it cannot
// read its store, or if it has lost its lease.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	err := s.stopping()
	if err == nil {
		err = s.inTouch(r.Context())
	}
	if err != nil {
		writeProblem(w, terret.Errorf(terret.CodeStartupRefused, "not ready: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintln(w, `{"status":"ready"}`)
}
