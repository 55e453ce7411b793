package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/ndjson"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
)

const (
	// strayLines is how many lines of its output that mean nothing are kept.
	strayLines = 20
	// lastWords is how many lines of its standard error a server that failed is
	// remembered by.
	lastWords = 10
)

// server is a running `opencode serve`. Who has it is for the pool to know.
type server struct {
	proc     *proc.Process
	argv     []string
	base     string
	password string
	version  string
	began    time.Time
	log      *slog.Logger
	redact   *redact.Redactor
	http     *http.Client
	stray    []string       // lines that it printed before it was ready
	work     sync.WaitGroup // the reader of its output
}

var ready = lazyregexp.New(`listening on (http://(?:127\.0\.0\.1|localhost|\[::1\]):\d+)`)

// startServer starts a server and waits until it can be talked to. The context bounds
// the start.
func startServer(ctx context.Context, l launch, owner string, patience time.Duration, log *slog.Logger) (*server, error) {
	s := &server{password: rand.Text(), began: time.Now(), log: log, http: newHTTP()}
	env := append(slices.Clip(l.env), passwordVar+"="+s.password)
	s.redact = redact.New(redact.FromEnv(env))
	s.argv = s.redact.Args(l.argv)
	p, err := proc.Start(ctx, proc.Spec{
		Argv: l.argv, Dir: "/", Env: env, Owner: owner,
		OnStderr: func(line string) { log.Warn("the agent complains", "line", s.redact.String(line)) },
	})
	if err != nil {
		return nil, startError(err, l.argv[0])
	}
	s.proc = p
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
	stop := context.AfterFunc(ctx, func() { _, _ = s.proc.Kill() })
	defer stop()
	lines := ndjson.NewReader(s.proc.Stdout(), 0)
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
			s.stray = append(s.stray, brief.Cut(s.redact.String(text), diagLimit))
		}
	}
	s.work.Go(func() { _, _ = io.Copy(io.Discard, s.proc.Stdout()) })
	var health struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"version"`
	}
	if err := s.client("").get(ctx, "/global/health", &health); err != nil {
		select {
		case <-s.proc.Done():
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
	exit, _ := s.proc.Kill() // it may live on with its output closed
	if err := context.Cause(ctx); err != nil {
		return err
	}
	why := s.exitError(exit, "OpenCode's server did not start", "run `opencode serve` to see what it lacks")
	why.Retryable = false
	return &why
}

// exitError says that a server ended when it should not have, and what to do.
func (s *server) exitError(exit proc.Exit, what, next string) terret.Error {
	out := terret.Error{Code: terret.CodeProcessFailed, Retryable: true, Signal: exit.Signal, Message: what + " (" + exit.String() + ")"}
	if exit.Signal == "" {
		out.ExitCode = &exit.Code
	}
	for line := range strings.Lines(s.redact.String(s.proc.StderrTail())) {
		if line = strings.TrimSpace(line); line != "" {
			out.Stderr = append(out.Stderr, line)
		}
	}
	if n := len(out.Stderr); n > 0 {
		out.Stderr = out.Stderr[max(0, n-lastWords):]
		out.Message += ": " + out.Stderr[len(out.Stderr)-1]
	}
	out.Message += "; " + next
	return out
}

// client talks to the server about a folder.
func (s *server) client(dir string) *client {
	return &client{base: s.base, password: s.password, dir: dir, http: s.http}
}

// alive reports whether the server runs.
func (s *server) alive() bool {
	select {
	case <-s.proc.Done():
		return false
	default:
		return true
	}
}

// stop ends the server and its tree, and waits until nothing of it is left. It does
// not heed the end of its input, so it is told by a signal.
func (s *server) stop() proc.Exit {
	exit, err := s.proc.Kill()
	if err != nil {
		s.log.Error("the agent's processes", "error", err)
	}
	_ = s.proc.Stdout().Close()
	s.work.Wait()
	s.http.CloseIdleConnections()
	return exit
}

// startError says why a server could not be started, and what to do.
func startError(err error, program string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return terret.Errorf(terret.CodeAgentNotFound, "OpenCode is not installed: %s was not found; run `%s`, or set agents.opencode.path", program, install)
	}
	return terret.Errorf(terret.CodeStartupRefused, "%w", err)
}
