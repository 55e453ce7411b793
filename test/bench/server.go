package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

const (
	serverStarts   = 20
	serverTurns    = 60
	serverDeadline = 5 * time.Minute
)

func serverSection() section {
	return section{
		name:  "Server",
		intro: "`terret serve` in a process of its own, with the mock agent, over HTTP on loopback. Readers share the machine with it.",
		run:   benchServer,
	}
}

func deadSection() section {
	return section{
		name:  "Dead readers",
		intro: "As many connections to `terret serve` as it takes, but one, ask for a stream of events and never read it.",
		run: func(ctx context.Context, dir string) ([]row, error) {
			return serverSteps(ctx, dir, benchDeadReaders)
		},
	}
}

func benchServer(ctx context.Context, dir string) ([]row, error) {
	return serverSteps(ctx, dir, benchServe, benchFirstEvent)
}

// serverSteps builds the program and runs each step with a home of its own.
func serverSteps(ctx context.Context, dir string, steps ...func(ctx context.Context, bin, home string) ([]row, error)) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, serverDeadline)
	defer cancel()
	bin, _, err := built(ctx, dir)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, step := range steps {
		home, err := os.MkdirTemp(dir, "home-")
		if err != nil {
			return nil, err
		}
		more, err := step(ctx, bin, home)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// server is a `terret serve` that answers.
type server struct {
	cmd   *exec.Cmd
	out   io.Reader
	url   string
	token string
	work  string
	http  *http.Client
}

// serve starts a server with a mock agent.
func serve(ctx context.Context, bin, home string, script mock.Script) (*server, error) {
	path := filepath.Join(home, "script.json")
	text, err := json.Marshal(script)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	return startServer(ctx, bin, home, "TERRET_MOCK_SCRIPT="+path)
}

// startServer starts a server whose data and sessions are in a folder, and returns once it
// has answered a request.
func startServer(ctx context.Context, bin, home string, env ...string) (*server, error) {
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, bin, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = work, append(clean(home), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, out: out, work: work, http: &http.Client{Transport: &http.Transport{}}}
	if err := s.greet(ctx, home); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) greet(ctx context.Context, home string) error {
	lines := bufio.NewReader(s.out)
	s.out = lines
	line, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server said %q: %w", line, err)
	}
	s.url = strings.TrimSpace(line[strings.Index(line, "http"):])
	if err := s.do(ctx, http.MethodGet, "/healthz", nil, nil); err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(home, "data", "token"))
	s.token = strings.TrimSpace(string(token))
	return err
}

// stop ends the server as Ctrl-C does; what it used is known after.
func (s *server) stop() error {
	s.http.CloseIdleConnections()
	_ = s.cmd.Process.Signal(os.Interrupt)
	_, err := io.Copy(io.Discard, s.out)
	return errors.Join(err, s.cmd.Wait())
}

func (s *server) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, text)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}

// do makes a request and decodes its answer.
func (s *server) do(ctx context.Context, method, path string, body, into any) error {
	r, err := s.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	a, err := s.http.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(a.Body)
	err = errors.Join(err, a.Body.Close())
	switch {
	case err != nil:
		return err
	case a.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %s", method, path, a.Status, text)
	case into != nil:
		return json.Unmarshal(text, into)
	}
	return nil
}

func (s *server) session(ctx context.Context, agent string) (id string, err error) {
	var made terret.Session
	err = s.do(ctx, http.MethodPost, "/v1/sessions", map[string]any{"agent": agent, "cwd": s.work}, &made)
	return made.ID, err
}

// events opens a stream of server-sent events. The caller must close it.
func (s *server) events(r *http.Request) (io.ReadCloser, error) {
	r.Header.Set("Accept", "text/event-stream")
	a, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", r.URL.Path, a.Status), a.Body.Close())
	}
	return a.Body, nil
}

// drain makes a request whose answer is a stream, and reads it to its end.
func (s *server) drain(r *http.Request) error {
	stream, err := s.events(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stream)
	return errors.Join(err, stream.Close())
}

// benchServe starts the server again and again, as an empty program is started.
func benchServe(ctx context.Context, bin, home string) ([]row, error) {
	var took, bare []time.Duration
	var idle string
	for i := range serverStarts {
		began := time.Now()
		if err := exec.CommandContext(ctx, bin, "version").Run(); err != nil {
			return nil, err
		}
		bare = append(bare, time.Since(began))
		began = time.Now()
		s, err := serve(ctx, bin, home, mock.Script{})
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if i == serverStarts-1 {
			time.Sleep(time.Second) // until nothing is left to be done
			idle = residentSize(s.cmd.Process.Pid)
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	return []row{
		{
			fmt.Sprintf("`terret serve`, start to the first answer, median of %d", serverStarts),
			fmt.Sprintf("%.1f ms; `terret version` %.1f ms", ms(medianTime(took)), ms(medianTime(bare))), "15 ms",
		},
		{"`terret serve`, memory when idle", idle, "18 MB"},
	}, nil
}

// benchFirstEvent takes the time from a prompt to the first event on the turn's own
// stream.
func benchFirstEvent(ctx context.Context, bin, home string) (rows []row, err error) {
	s, err := serve(ctx, bin, home, mock.Script{Turns: [][]mock.Step{{{Text: "Hello."}}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	id, err := s.session(ctx, "mock")
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range serverTurns + 5 {
		r, err := s.request(ctx, http.MethodPost, "/v1/sessions/"+id+"/turns", map[string]string{"prompt": "hello"})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		stream, err := s.events(r)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewReader(stream)
		_, err = nextNumber(lines)
		if i >= 5 { // the first ones are slower
			took = append(took, time.Since(began))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, lines)
		}
		if err = errors.Join(err, stream.Close()); err != nil {
			return nil, err
		}
	}
	open, err := s.openStream(ctx, id)
	if err != nil {
		return nil, err
	}
	return []row{
		{
			fmt.Sprintf("POST of a turn to its start on a stream that is open, median of %d", serverTurns),
			fmt.Sprintf("%.1f ms", ms(medianTime(open))), "1 ms",
		},
		{
			fmt.Sprintf("POST of a turn to its first event on the turn's own stream, median of %d", serverTurns),
			fmt.Sprintf("%.1f ms", ms(medianTime(took))), "",
		},
	}, nil
}

// follow opens the stream of a session. The caller closes it.
func (s *server) follow(ctx context.Context, id string) (io.ReadCloser, error) {
	r, err := s.request(ctx, http.MethodGet, "/v1/sessions/"+id+"/events", nil)
	if err != nil {
		return nil, err
	}
	return s.events(r)
}

// openStream takes the time from a prompt to the turn's start on a stream of the session
// that was there before, as user interfaces have it.
func (s *server) openStream(ctx context.Context, id string) (took []time.Duration, err error) {
	stream, err := s.follow(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	lines := bufio.NewReader(stream)
	until := func(kind terret.Kind) error { return untilKind(lines, kind) }
	for range serverTurns + 5 { // those that were there
		if err := until(terret.KindTurnComplete); err != nil {
			return nil, err
		}
	}
	for i := range serverTurns + 5 {
		began, answered := time.Now(), make(chan error, 1)
		go func() {
			answered <- s.do(ctx, http.MethodPost, "/v1/sessions/"+id+"/turns", map[string]string{"prompt": "hello"}, nil)
		}()
		err := until(terret.KindTurnStart)
		if i >= 5 { // the first ones are slower
			took = append(took, time.Since(began))
		}
		if err = errors.Join(err, <-answered); err == nil {
			err = until(terret.KindTurnComplete)
		}
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// nextNumber skips to the next event of a stream and returns its number.
func nextNumber(lines *bufio.Reader) (int64, error) {
	for {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long one
			_, err = lines.ReadSlice('\n')
			line = nil
		}
		if err != nil {
			return 0, err
		}
		if number, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			return strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
		}
	}
}
