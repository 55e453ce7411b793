package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request, as the real API does.
const maxBody = 32 << 20

// Options configures a server. The zero value is useful.
type Options struct {
	// Vars are the values of {{names}} in the scenario.
	Vars map[string]string
	// Record gets every request before it is answered, one at a time. If it fails, the
	// request is answered with status 500. See RecordTo.
	Record func(Recorded) error
	// Log gets one line for each request; nil discards it.
	Log *slog.Logger
}

// Server serves a scenario over HTTP. Use it as an http.Handler, or Start it.
type Server struct {
	player *Player
	log    *slog.Logger
	mux    *http.ServeMux

	mu       sync.Mutex // also held during Record
	requests int
	record   func(Recorded) error
}

// NewServer makes a server that plays the scenario from the start.
func NewServer(s *Scenario, o Options) (*Server, error) {
	player, err := NewPlayer(s, o.Vars)
	if err != nil {
		return nil, err
	}
	srv := &Server{player: player, log: o.Log, record: o.Record, mux: http.NewServeMux()}
	if srv.log == nil {
		srv.log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []Dialect{anthropic{}, chat{}, responses{}, gemini{}} {
		srv.routes(d)
	}
	srv.mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	srv.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		srv.serve(w, r, anthropic{}, func(*Scenario, *http.Request, []byte) (any, error) { return nil, nothingAt(r) })
	})
	return srv, nil
}

func nothingAt(r *http.Request) *Error {
	return &Error{Status: http.StatusNotFound, Message: "sim: nothing is served at " + r.Method + " " + r.URL.Path}
}

// Player is what answers, for Unmatched and Remaining.
func (s *Server) Player() *Player { return s.player }

// ServeHTTP implements http.Handler. To drop a connection it panics with
// http.ErrAbortHandler, which net/http expects.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) routes(d Dialect) {
	for pattern, aside := range d.Routes() {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, d, aside) })
	}
}

// exchange is one request and its answer.
type exchange struct {
	*Output
	dialect Dialect
	r       *http.Request
	body    []byte
	rec     Recorded
	noted   bool // it is recorded
}

// serve answers a request, aside or by asking the player.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, d Dialect, aside Aside) {
	x, err := s.receive(w, r, d)
	switch {
	case err != nil:
	case aside != nil:
		err = s.answerAside(r.Context(), x, aside)
	default:
		err = errAskModel
	}
	if errors.Is(err, errAskModel) {
		err = s.ask(r.Context(), x)
	}
	s.end(r.Context(), x, err)
}

// receive reads the request and admits it.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, d Dialect) (*exchange, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	s.mu.Lock()
	s.requests++
	number := s.requests
	s.mu.Unlock()
	x := &exchange{
		Output:  &Output{w: w, requestID: fmt.Sprintf("req_sim_%d", number)},
		dialect: d, r: r, body: body, rec: recorded(r, number, body),
	}
	w.Header().Set("Request-Id", x.requestID)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		err = &Error{Status: http.StatusRequestEntityTooLarge, Message: "Request exceeds the maximum size"}
	}
	if err != nil {
		return x, err
	}
	return x, s.admit(r)
}

// admit checks the key as the real API does, if the scenario requires one.
func (s *Server) admit(r *http.Request) error {
	want := s.player.scenario.key
	if want == "" {
		return nil
	}
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), "Bearer ")
	got := cmp.Or(r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"), r.URL.Query().Get("key"), bearer)
	switch got {
	case want:
		return nil
	case "":
		return &Error{Status: http.StatusUnauthorized, Message: "x-api-key header is required"}
	default:
		return &Error{Status: http.StatusUnauthorized, Message: "invalid x-api-key"}
	}
}

func (s *Server) answerAside(ctx context.Context, x *exchange, aside Aside) error {
	answer, err := aside(s.player.scenario, x.r, x.body)
	if !errors.Is(err, errAskModel) {
		x.rec.Step = "aside"
	}
	if err == nil {
		err = s.note(x, nil)
	}
	if err != nil {
		return err
	}
	return x.Whole(ctx, Reply{}, answer)
}

// ask lets the player answer.
func (s *Server) ask(ctx context.Context, x *exchange) error {
	req, err := x.dialect.Decode(x.r, x.body)
	if err != nil {
		return err
	}
	if models := s.player.scenario.models; len(models) > 0 && !slices.Contains(models, req.Model) {
		return &Error{Status: http.StatusNotFound, Message: "model: " + req.Model}
	}
	c := s.player.choose(req)
	x.rec.Step, x.rec.Request = c.step, &req
	if err := s.note(x, c.err); err != nil {
		return err
	}
	reply, err := c.perform(ctx)
	switch {
	case err != nil:
		return err
	case reply.Garbage != "":
		return x.garbage(req, reply.Garbage)
	default:
		return x.dialect.Write(ctx, x.Output, req, reply)
	}
}

// garbage answers with text that does not follow the API.
func (x *exchange) garbage(req Request, text string) error {
	if req.Stream {
		return x.Raw(text + "\n\n")
	}
	x.start(len(text))
	_, err := io.WriteString(x.w, text)
	return err
}

// note records the request. Its error is an *Error.
func (s *Server) note(x *exchange, err error) error {
	x.noted = true
	if err != nil {
		x.rec.Error = err.Error()
	}
	if s.record == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.record(x.rec); err != nil {
		return &Error{Status: http.StatusInternalServerError, Message: "sim: could not record the request: " + err.Error()}
	}
	return nil
}

// end writes an *Error, cuts the connection on all others, and logs.
func (s *Server) end(ctx context.Context, x *exchange, err error) {
	if !x.noted {
		if failed := s.note(x, err); failed != nil {
			err = failed
		}
	}
	log := s.log.With("method", x.rec.Method, "path", x.rec.Path, "number", x.rec.Number, "step", x.rec.Step)
	if err == nil {
		log.InfoContext(ctx, "answered")
		return
	}
	log.InfoContext(ctx, "answered with trouble", "error", err.Error())
	if e, ok := errors.AsType[*Error](err); ok {
		err = x.fail(e)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// fail writes an error as the API does.
func (x *exchange) fail(e *Error) error {
	body := []byte(e.Body)
	h := x.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8") // what proxies in between send
	if e.Body == "" {
		h.Set("Content-Type", "application/json")
		var err error
		if body, err = encode(x.dialect.Error(e, x.requestID)); err != nil {
			return err
		}
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		if e.RetryAfter%time.Second != 0 {
			h.Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
		}
	}
	for name, value := range e.Headers {
		h.Set(name, value)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(e.Status)
	_, err := x.w.Write(body)
	return err
}
