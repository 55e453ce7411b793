package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/claude"
)

func claudeHTTPSection() section {
	return section{
		name: "Claude Code over HTTP",
		intro: "The same turn through `terret serve` in a process of its own: a client POSTs prompts and reads the session's stream, in " +
			"alternation with the direct program, in several processes of each. CPU is that of the server, without the agent's, with what it does between its turns.",
		run: func(ctx context.Context, dir string) ([]row, error) { return serverSteps(ctx, dir, benchClaudeHTTP) },
	}
}

func benchClaudeHTTP(ctx context.Context, bin, home string) (rows []row, err error) {
	b := claudeBench{program: claudeProgram()}
	if b.program == "" {
		return []row{{"Claude Code", "not installed: run `make conformance` first", ""}}, nil
	}
	s, model, err := b.serve(ctx, bin, home)
	if err != nil {
		return nil, err
	}
	defer model.close()
	defer func() { err = errors.Join(err, s.stop()) }()
	var own, direct []took
	var starts []time.Duration
	var cpu time.Duration
	for range httpPairs {
		p, err := s.pair(ctx, b)
		if err != nil {
			return nil, err
		}
		own, direct, starts, cpu = append(own, p.own...), append(direct, p.direct...), append(starts, p.starts...), cpu+p.cpu/httpPairs
	}
	text, bareText := medianOf(own, textOf), medianOf(direct, textOf)
	return []row{
		{fmt.Sprintf("warm turn, POST to end, median of %d", len(own)), ratioOf(medianOf(own, endOf), medianOf(direct, endOf)), "ratio 1.15"},
		{"first text in a warm turn", fmt.Sprintf("%.1f ms; direct %.1f ms: added %.1f ms", ms(text), ms(bareText), ms(text-bareText)), ""},
		{"POST to `turn.start`", fmt.Sprintf("%.1f ms", ms(medianTime(starts))), ""},
		{"CPU of the server in a warm turn, mean (Linux)", fmt.Sprintf("%.2f ms", ms(cpu)), ""},
	}, nil
}

// serve starts a model and a server on which the program runs, and notes where it works.
func (b *claudeBench) serve(ctx context.Context, bin, home string) (*server, *served, error) {
	model, err := startModel(ctx, home)
	if err != nil {
		return nil, nil, err
	}
	b.env = append(claudeEnv(home, model.url), "PATH="+filepath.Dir(b.program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	s, err := startServer(ctx, bin, home, b.env...)
	if err != nil {
		model.close()
		return nil, nil, err
	}
	b.work = s.work
	return s, model, nil
}

// Two processes of the program differ by up to 3 ms a turn for as long as they live, so
// several are needed of each.
const httpPairs, pairTurns = 6, 25

// pair is what turns took in a session and in a process of its own.
type pair struct {
	own, direct []took
	starts      []time.Duration
	cpu         time.Duration // of the server, for one turn
}

func (s *server) pair(ctx context.Context, b claudeBench) (p pair, err error) {
	d, err := b.startDirect(ctx)
	if err != nil {
		return pair{}, err
	}
	defer d.close()
	c, err := s.client(ctx, claude.Name)
	if err != nil {
		return pair{}, err
	}
	defer func() {
		err = errors.Join(err, c.stream.Close(), s.do(ctx, http.MethodDelete, "/v1/sessions/"+c.id, nil, nil))
	}()
	before := cpuOf(s.cmd.Process.Pid)
	all, err := alternate(pairTurns, func() (took, error) { return c.turn(ctx) }, d.turn)
	if err != nil {
		return pair{}, err
	}
	cpu := cpuOf(s.cmd.Process.Pid) - before
	return pair{own: all[0], direct: all[1], starts: c.starts[len(c.starts)-pairTurns:], cpu: cpu / time.Duration(len(c.starts))}, nil
}

// httpClient prompts a session and reads its stream.
type httpClient struct {
	s      *server
	id     string
	stream io.ReadCloser // the owner closes it
	lines  *bufio.Reader
	starts []time.Duration // of all turns
}

// client makes a session and opens its stream.
func (s *server) client(ctx context.Context, agent string) (*httpClient, error) {
	id, err := s.session(ctx, agent)
	if err != nil {
		return nil, err
	}
	stream, err := s.follow(ctx, id)
	if err != nil {
		return nil, err
	}
	c := &httpClient{s: s, id: id, stream: stream, lines: bufio.NewReaderSize(stream, 1<<20)}
	if _, err := c.turn(ctx); err != nil { // starts the agent
		return nil, errors.Join(err, stream.Close())
	}
	c.starts = nil
	return c, nil
}

func (c *httpClient) turn(ctx context.Context) (t took, err error) {
	began, answered := time.Now(), make(chan error, 1)
	go func() {
		answered <- c.s.do(ctx, http.MethodPost, "/v1/sessions/"+c.id+"/turns", map[string]string{"prompt": "hello"}, nil)
	}()
	err = untilKind(c.lines, terret.KindTurnStart)
	start := time.Since(began)
	if err == nil {
		err = untilKind(c.lines, terret.KindMessageDelta)
	}
	t.text = time.Since(began)
	if err == nil {
		err = untilKind(c.lines, terret.KindTurnComplete)
	}
	t.end = time.Since(began)
	if err != nil {
		return took{}, err // the request ends with the context
	}
	c.starts = append(c.starts, start)
	return t, <-answered
}

// untilKind reads a stream to the next event of a kind. A turn that fails ends it.
func untilKind(lines *bufio.Reader, kind terret.Kind) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		switch got, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); {
		case ok && got == string(kind):
			return nil
		case ok && got == string(terret.KindTurnError):
			return errors.New("the turn failed")
		}
	}
}

// cpuOf is what the threads of a process have used so far, on Linux; elsewhere 0.
func cpuOf(pid int) (sum time.Duration) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(text), " ")
		if n, err := strconv.ParseInt(ran, 10, 64); err == nil {
			sum += time.Duration(n)
		}
	}
	return sum
}
