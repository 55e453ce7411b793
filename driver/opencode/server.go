package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/ndjson"
)

// strayLines is how many lines of its output that mean nothing are kept.
const strayLines = 20

// server is a running `opencode serve`. Who has it is for the pool to know.
type server struct {
	*seat.Process // its Work is the reader of its output
	base          string
	password      string
	version       string
	http          *http.Client
	stray         []string // lines that it printed before it was ready
}

var ready = lazyregexp.New(`listening on (http://(?:127\.0\.0\.1|localhost|\[::1\]):\d+)`)

// startServer starts a server and waits until it can be talked to. The context bounds
// the start.
func startServer(ctx context.Context, l launch, owner string, patience time.Duration, log *slog.Logger) (*server, error) {
	s := &server{password: rand.Text(), http: newHTTP()}
	env := append(slices.Clip(l.env), passwordVar+"="+s.password)
	var err error
	if s.Process, err = program(l.argv[0], nil).Start(ctx, seat.Spec{Argv: l.argv, Dir: "/", Env: env, Owner: owner, Log: log}); err != nil {
		return nil, err
	}
	if err := s.greet(ctx, patience); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// greet waits for the line that says where the server listens, and asks who it is.
func (s *server) greet(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, terret.Errorf(terret.CodeTimeout,
		"OpenCode's server did not say where it listens within %s of its start; run `opencode serve` to see what keeps it", patience))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _, _ = s.Kill() })
	defer stop()
	lines := ndjson.NewReader(s.Stdout(), 0)
	for s.base == "" {
		line, err := lines.Next()
		if _, tooLong := errors.AsType[*ndjson.LineTooLongError](err); tooLong {
			continue
		}
		if err != nil {
			return s.neverReady(ctx)
		}
		if found := ready.FindSubmatch(line); found != nil {
			s.base = string(found[1])
		} else if text := strings.TrimSpace(string(line)); text != "" && len(s.stray) < strayLines {
			s.stray = append(s.stray, brief.Cut(s.Redact.String(text), diagLimit))
		}
	}
	s.Work.Go(func() { _, _ = io.Copy(io.Discard, s.Stdout()) })
	var health struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"version"`
	}
	if err := s.client("").get(ctx, "/global/health", &health); err != nil {
		select {
		case <-s.Done():
			return s.neverReady(ctx)
		default:
			return err
		}
	}
	if !health.Healthy || health.Version == "" {
		return terret.Errorf(terret.CodeMalformedOutput, "what listens at %s is not OpenCode's server", s.base)
	}
	s.version = health.Version
	return nil
}

// neverReady says why a server ended before it was ready.
func (s *server) neverReady(ctx context.Context) error {
	_ = s.Force() // it may live on with its output closed
	return s.NeverReady(ctx, "OpenCode's server did not start", "run `opencode serve` to see what it lacks")
}

// client talks to the server about a folder.
func (s *server) client(dir string) *client {
	return &client{base: s.base, password: s.password, dir: dir, http: s.http}
}

// stop ends the server and its tree, and waits until nothing of it is left. It does
// not heed the end of its input, so it is told by a signal.
func (s *server) stop() {
	_ = s.Force()
	s.Discard(context.Background())
	s.http.CloseIdleConnections()
}
