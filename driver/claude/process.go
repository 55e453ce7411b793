package claude

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/complaint"
	"github.com/terret-dev/terret/internal/ndjson"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
)

// process is a running Claude Code that reads and writes lines. One goroutine reads.
// Another one writes, except for prompts that find nobody writing. Requests of either
// side wait elsewhere.
type process struct {
	proc    *proc.Process
	lines   *ndjson.Reader
	log     *slog.Logger
	redact  *redact.Redactor
	servers map[string]MCPServer
	launch  launch
	argv    []string
	began   time.Time
	about   initializeAnswer
	early   []terret.Event // said before anybody listened
	config  string         // file to remove after the process
	stderr  *complaint.Log

	life context.Context // ends with the process
	end  context.CancelCauseFunc
	work sync.WaitGroup // writer, and what waits for decisions
	told chan struct{}  // closed when serve has reported everything

	writing sync.Mutex // held by whoever writes lines; for good once nothing more will be
	writer  *ndjson.Writer
	outMu   sync.Mutex
	out     []outgoing
	wake    chan struct{}
	wrote   chan struct{} // closed when nothing more will be written

	mu       sync.Mutex
	t        *translator
	calls    map[string]chan<- answered
	asks     map[string]context.CancelCauseFunc // waiting requests of the agent
	used     map[string]bool                    // ids of prompts
	stopping bool                               // the turn must end as soon as it has begun
}

var (
	errWithdrawn = errors.New("the agent no longer waits for an answer")
	errTurnOver  = errors.New("the turn is over")
	errEnded     = errors.New("the agent's process has ended")
)

// startPatience is how long a process may take to answer the greeting. It may start
// servers before that.
const startPatience = 2 * time.Minute

// start starts a process and greets it. When it returns, the agent has answered and
// nobody is reading: serve does.
func (d *Driver) start(ctx context.Context, l launch, extra []string, o options, owner string, log *slog.Logger) (*process, error) {
	// Without -p, as the agent's own SDK starts it: with pipes it behaves the same, and
	// older versions do less at the end of each turn.
	argv := append([]string{
		d.cfg.Path, "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--replay-user-messages",
	}, l.args...)
	argv = append(argv, extra...)
	o.replay, o.preToolHook, o.read = true, true, fileReader(l.dir)
	p := &process{
		log: log, redact: redact.New(redact.FromEnv(l.env)), servers: d.cfg.Servers, launch: l, began: time.Now(),
		wake: make(chan struct{}, 1), wrote: make(chan struct{}), told: make(chan struct{}),
		t: newTranslator(o), calls: map[string]chan<- answered{}, asks: map[string]context.CancelCauseFunc{}, used: map[string]bool{},
	}
	config, err := d.serverConfig(l.servers)
	if err != nil {
		return nil, err
	}
	if p.config = config; config != "" {
		argv = append(argv, "--mcp-config="+config)
	}
	if err := p.spawn(ctx, proc.Spec{Argv: argv, Dir: l.dir, Env: l.env, Owner: owner}); err != nil {
		p.removeConfig()
		return nil, err
	}
	if err := p.greet(ctx, d.patience); err != nil {
		p.stop(ctx)
		return nil, err
	}
	p.removeConfig() // it has been read
	return p, nil
}

func (p *process) spawn(ctx context.Context, s proc.Spec) (err error) {
	p.stderr = complaint.New(p.log, p.redact)
	s.OnStderr = p.stderr.Line
	p.argv = p.redact.Args(s.Argv)
	if p.proc, err = proc.Start(ctx, s); err != nil {
		return startError(err, s.Argv[0])
	}
	p.lines, p.writer = ndjson.NewReader(p.proc.Stdout(), 0), ndjson.NewWriter(p.proc.Stdin())
	p.life, p.end = context.WithCancelCause(context.Background())
	p.work.Go(p.write)
	return nil
}

// greet introduces us and waits for the answer. The agent may send requests and
// messages meanwhile.
func (p *process) greet(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, terret.Errorf(terret.CodeTimeout,
		"Claude Code did not answer within %s of its start; run `claude` in the folder to see why", patience))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _, _ = p.proc.Stop(ctx) })
	defer stop()
	answer := make(chan answered, 1)
	p.request(greeting(p.launch, p.servers), answer)
	for {
		line, err := p.lines.Next()
		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](err); ok {
			p.log.Warn("skipped a line of the agent", "error", tooLong)
			continue
		}
		if err != nil {
			return p.neverReady(ctx)
		}
		events, controls := p.translate(line)
		p.early = append(p.early, events...)
		p.handle(nil, controls)
		select {
		case a := <-answer:
			if a.err != "" {
				return terret.Errorf(terret.CodeStartupRefused, "Claude Code refused to start: %s", p.redact.String(a.err))
			}
			decode(a.body, &p.about)
			return nil
		default:
		}
	}
}

// neverReady says why a process ended before it was ready.
func (p *process) neverReady(ctx context.Context) error {
	exit, _ := p.proc.Stop(ctx) // it may live on with its output closed
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, ev := range p.early {
		if end, ok := ev.Data.(terret.TurnError); ok {
			return &end.Error
		}
	}
	why := exitError(p.redact, p.proc, exit, "Claude Code did not start", "run `claude` in the folder to see why")
	why.Retryable = false
	return &why
}

// lastWords is how many stderr lines of a failed process are kept.
const lastWords = 10

// exitError reports a process that ended when it should not have, and what to do.
func exitError(r *redact.Redactor, p *proc.Process, exit proc.Exit, what, next string) terret.Error {
	out := terret.Error{Code: terret.CodeProcessFailed, Retryable: true, Signal: exit.Signal, Message: what + " (" + exit.String() + ")"}
	if exit.Signal == "" {
		out.ExitCode = &exit.Code
	}
	for line := range strings.Lines(r.String(p.StderrTail())) {
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

// translate calls the translator, for one goroutine at a time.
func (p *process) translate(line []byte) ([]terret.Event, []control) {
	p.mu.Lock()
	defer p.mu.Unlock()
	events, controls := p.t.translate(line, time.Now())
	// Before the end of the turn is told: a request that is told after it would look like
	// the beginning of another turn, which never ends.
	for _, id := range p.t.overdue {
		if cancel := p.asks[id]; cancel != nil {
			cancel(errTurnOver)
		}
	}
	p.t.overdue = nil
	switch {
	case !p.stopping:
	case !p.t.busy():
		p.stopping = false
	case p.t.head.name() == "system/init": // now it has begun
		p.send(requestLine(terret.NewID(terret.PrefixControl), interruptRequest))
	}
	return events, controls
}

// serve reads until the process ends. It passes on what the agent says, and then what
// the process leaves behind.
func (p *process) serve(a *agent) {
	defer close(p.told)
	p.stderr.To(a.req.Host)
	err := a.emit(p, p.early)
	for err == nil {
		line, readErr := p.lines.Next()
		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](readErr); ok {
			err = a.emit(p, []terret.Event{{Data: terret.DiagWarning{Text: tooLong.Error()}}})
			continue
		}
		if readErr != nil {
			break
		}
		events, controls := p.translate(line)
		if len(events) > 0 {
			err = a.emit(p, events)
		}
		p.handle(a, controls)
	}
	if err != nil { // the log accepts nothing more from us
		p.log.Warn("stopping the agent", "error", err)
		_, _ = p.proc.Kill()
	}
	_, _ = io.Copy(io.Discard, p.proc.Stdout())
	exit, stopErr := p.proc.Stop(context.Background()) // it may live on with its output closed
	if stopErr != nil {
		p.log.Error("could not end the agent's processes", "error", stopErr)
	}
	p.end(errEnded)
	p.work.Wait() // requests are decided before the turn ends
	a.ended(p, exit)
}

// handle does what the agent asks for. a is nil during the greeting.
func (p *process) handle(a *agent, controls []control) {
	for _, c := range controls {
		switch c := c.(type) {
		case reply:
			p.send(c.line)
		case answered:
			p.mu.Lock()
			to := p.calls[c.id]
			delete(p.calls, c.id)
			p.mu.Unlock()
			if to != nil {
				to <- c
			}
		case mcpCall:
			p.work.Go(func() { p.send(p.serveMCP(c)) })
		case asking:
			p.ask(a, c)
		case withdrawn:
			p.mu.Lock()
			cancel := p.asks[c.id]
			p.mu.Unlock()
			if cancel != nil {
				cancel(errWithdrawn)
			}
		case stateChange: // the translator has ended the turn
		}
	}
}

// ask passes a request of the agent to the host, and answers it. A request that cannot
// be decided gets the safe answer of its gate: an error would let a tool through.
func (p *process) ask(a *agent, q asking) {
	if a == nil {
		p.send(q.refuse("the session has not begun"))
		return
	}
	ctx, cancel := context.WithCancelCause(p.life)
	p.mu.Lock()
	p.asks[q.id] = cancel
	p.mu.Unlock()
	p.work.Go(func() {
		defer cancel(nil)
		d, err := a.req.Host.Ask(ctx, q.ask)
		p.mu.Lock()
		delete(p.asks, q.id)
		over := context.Cause(ctx)
		if err == nil {
			p.t.decided(q.id, d)
		} else {
			delete(p.t.asked, q.id)
		}
		p.mu.Unlock()
		switch {
		case errors.Is(over, errTurnOver):
			p.send(q.tooLate())
			return
		case over != nil:
			return // nobody waits for the answer
		case err != nil:
			p.log.Warn("refused a request of the agent", "error", err)
			p.send(q.refuse("it could not be decided"))
			return
		}
		done := make(chan error, 1)
		p.put(outgoing{line: q.line(d), done: done})
		if wrote(p.life, done) == nil {
			_ = a.req.Host.Delivered(ctx, d.RequestID) // for the record only
		}
	})
}

func wrote(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call makes a request to the agent and waits for its answer.
func (p *process) call(ctx context.Context, body any, into any) error {
	answer := make(chan answered, 1)
	id := p.request(body, answer)
	defer func() {
		p.mu.Lock()
		delete(p.calls, id)
		p.mu.Unlock()
	}()
	select {
	case a := <-answer:
		if a.err != "" {
			return terret.Errorf(terret.CodeConflict, "Claude Code refused: %s", p.redact.String(a.err))
		}
		if into != nil && len(a.body) > 0 && json.Unmarshal(a.body, into) != nil {
			return terret.Errorf(terret.CodeExecutionError, "cannot read Claude Code's answer")
		}
		return nil
	case <-p.life.Done():
		return terret.Errorf(terret.CodeProcessFailed, "%w", errEnded)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *process) request(body any, answer chan<- answered) string {
	id := terret.NewID(terret.PrefixControl)
	p.mu.Lock()
	p.calls[id] = answer
	p.mu.Unlock()
	p.send(requestLine(id, body))
	return id
}

// stop ends a process that nobody serves, and waits until nothing of it is left.
func (p *process) stop(ctx context.Context) {
	_, err := p.proc.Stop(ctx)
	if err != nil {
		p.log.Error("could not end the agent's processes", "error", err)
	}
	p.end(errEnded)
	p.work.Wait()
	_ = p.proc.Stdout().Close()
	p.removeConfig()
}
