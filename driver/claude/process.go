package claude

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/ndjson"
)

// process is a running Claude Code that reads and writes lines. One goroutine reads.
// Another one writes, except for prompts that find nobody writing. Requests of either
// side wait elsewhere.
type process struct {
	*seat.Process // its Work is the writer, and what waits for decisions
	lines         *ndjson.Reader
	servers       map[string]MCPServer
	launch        launch
	about         initializeAnswer
	early         []terret.Event // said before anybody listened

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

var errTurnOver = errors.New("the turn is over")

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
	config, err := d.serverConfig(l.servers)
	if err != nil {
		return nil, err
	}
	if config != "" {
		argv = append(argv, "--mcp-config="+config)
		defer func() { _ = os.Remove(config) }() // it has been read when the greeting is answered
	}
	started, err := d.program().Start(ctx, seat.Spec{Argv: argv, Dir: l.dir, Env: l.env, Owner: owner, Log: log})
	if err != nil {
		return nil, err
	}
	p := &process{
		Process: started, lines: ndjson.NewReader(started.Stdout(), 0), writer: ndjson.NewWriter(started.Stdin()), servers: d.cfg.Servers, launch: l,
		wake: make(chan struct{}, 1), wrote: make(chan struct{}),
		t: newTranslator(o), calls: map[string]chan<- answered{}, asks: map[string]context.CancelCauseFunc{}, used: map[string]bool{},
	}
	p.Work.Go(p.write)
	if err := p.greet(ctx, d.patience); err != nil {
		p.Discard(ctx)
		return nil, err
	}
	return p, nil
}

// greet introduces us and waits for the answer. The agent may send requests and
// messages meanwhile.
func (p *process) greet(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, terret.Errorf(terret.CodeTimeout,
		"Claude Code did not answer within %s of its start; run `claude` in the folder to see why", patience))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) })
	defer stop()
	answer := make(chan answered, 1)
	p.request(greeting(p.launch, p.servers), answer)
	for {
		line, err := p.lines.Next()
		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](err); ok {
			p.Log.Warn("skipped a line of the agent", "error", tooLong)
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
				return terret.Errorf(terret.CodeStartupRefused, "Claude Code refused to start: %s", p.Redact.String(a.err))
			}
			decode(a.body, &p.about)
			return nil
		default:
		}
	}
}

// neverReady says why a process ended before it was ready.
func (p *process) neverReady(ctx context.Context) error {
	for _, ev := range p.early {
		if end, ok := ev.Data.(terret.TurnError); ok && ctx.Err() == nil {
			return &end.Error
		}
	}
	return p.NeverReady(ctx, "Claude Code did not start", "run `claude` in the folder to see why")
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
	p.StderrTo(a.Req.Host)
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
		p.Log.Warn("stopping the agent", "error", err)
		_ = p.Force()
	}
	_, _ = io.Copy(io.Discard, p.Stdout())
	p.End(func() { a.ended(p) })
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
			p.Work.Go(func() { p.send(p.serveMCP(c)) })
		case asking:
			p.ask(a, c)
		case withdrawn:
			p.mu.Lock()
			cancel := p.asks[c.id]
			p.mu.Unlock()
			if cancel != nil {
				cancel(seat.ErrWithdrawn)
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
	ctx, cancel := context.WithCancelCause(p.Life)
	p.mu.Lock()
	p.asks[q.id] = cancel
	p.mu.Unlock()
	p.Work.Go(func() {
		defer cancel(nil)
		d, err := a.Req.Host.Ask(ctx, q.ask)
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
			p.Log.Warn("refused a request of the agent", "error", err)
			p.send(q.refuse("it could not be decided"))
			return
		}
		done := make(chan error, 1)
		p.put(outgoing{line: q.line(d), done: done})
		if wrote(p.Life, done) == nil {
			_ = a.Req.Host.Delivered(ctx, d.RequestID) // for the record only
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
			return terret.Errorf(terret.CodeConflict, "Claude Code refused: %s", p.Redact.String(a.err))
		}
		if into != nil && len(a.body) > 0 && json.Unmarshal(a.body, into) != nil {
			return terret.Errorf(terret.CodeExecutionError, "cannot read Claude Code's answer")
		}
		return nil
	case <-p.Life.Done():
		return terret.Errorf(terret.CodeProcessFailed, "%w", seat.ErrEnded)
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
