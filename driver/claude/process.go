package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/ndjson"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
)

// process is a running Claude Code that takes lines and gives lines. One goroutine
// writes, one reads; requests of either side wait elsewhere.
type process struct {
	proc    *proc.Process
	lines   *ndjson.Reader
	log     *slog.Logger
	redact  *redact.Redactor
	servers map[string]MCPServer
	argv    []string
	began   time.Time
	about   initializeAnswer
	early   []terret.Event // said before anybody listened
	config  string         // file to be removed after the process

	life context.Context // ends with the process
	end  context.CancelCauseFunc
	work sync.WaitGroup // writer, reader, and what waits for decisions

	outMu sync.Mutex
	out   []outgoing
	wake  chan struct{}

	mu    sync.Mutex
	t     *translator
	calls map[string]chan<- answered
	asks  map[string]context.CancelCauseFunc // requests of the agent that wait
	used  map[string]bool                    // ids of prompts
}

// outgoing is a line to be written. done, if there is one, has room for the error.
type outgoing struct {
	line []byte
	done chan<- error
}

var (
	errWithdrawn = errors.New("the agent no longer waits for an answer")
	errEnded     = errors.New("the agent's process has ended")
)

// start starts a process and greets it. When it returns, the agent has answered and
// nobody reads: serve does.
func (d *Driver) start(ctx context.Context, l launch, extra []string, o options, owner string, log *slog.Logger) (*process, error) {
	argv := append([]string{
		d.cfg.Path, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--replay-user-messages",
	}, l.args...)
	argv = append(argv, extra...)
	o.replay, o.preToolHook = true, true
	p := &process{
		log: log, redact: redact.New(redact.FromEnv(l.env)), servers: d.cfg.Servers, began: time.Now(), wake: make(chan struct{}, 1),
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
	if err := p.greet(ctx, l); err != nil {
		p.stop(ctx)
		return nil, err
	}
	return p, nil
}

func (p *process) spawn(ctx context.Context, s proc.Spec) (err error) {
	s.OnStderr = func(line string) { p.log.Warn("the agent complains", "line", p.redact.String(line)) }
	p.argv = p.redact.Args(s.Argv)
	if p.proc, err = proc.Start(ctx, s); err != nil {
		return startError(err, s.Argv[0])
	}
	p.lines = ndjson.NewReader(p.proc.Stdout(), 0)
	p.life, p.end = context.WithCancelCause(context.Background())
	p.work.Go(p.write)
	return nil
}

// greet introduces us and waits for the answer. The agent may ask and tell things
// meanwhile.
func (p *process) greet(ctx context.Context, l launch) error {
	stop := context.AfterFunc(ctx, func() { _, _ = p.proc.Stop(ctx) })
	defer stop()
	answer := make(chan answered, 1)
	p.request(greeting(l, p.servers), answer)
	for {
		line, err := p.lines.Next()
		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](err); ok {
			p.log.Warn("a line of the agent was skipped", "error", tooLong)
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
				return terret.Errorf(terret.KindStartupRefused, "Claude Code refused to start: %s", p.redact.String(a.err))
			}
			decode(a.body, &p.about)
			return nil
		default:
		}
	}
}

// neverReady says why a process ended before it was ready.
func (p *process) neverReady(ctx context.Context) error {
	exit, _ := p.proc.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, ev := range p.early {
		if end, ok := ev.Data.(terret.TurnError); ok {
			return &end.Error
		}
	}
	return terret.Errorf(terret.KindStartupRefused, "Claude Code did not start (%s)%s", exit, p.lastWords())
}

func (p *process) lastWords() string { return lastWords(p.redact, p.proc) }

// lastWords is the end of what a process wrote to its standard error.
func lastWords(r *redact.Redactor, p *proc.Process) string {
	said := strings.TrimSpace(r.String(p.StderrTail()))
	if said == "" {
		return ""
	}
	if len(said) > 2000 {
		said = "…" + strings.ToValidUTF8(said[len(said)-2000:], "")
	}
	return ": " + said
}

// translate is the translator's, for one goroutine at a time.
func (p *process) translate(line []byte) ([]terret.Event, []control) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.t.translate(line, time.Now())
}

// serve reads until the process ends. It hands out what the agent says, and then
// what the process leaves behind.
func (p *process) serve(a *agent) {
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
	if err != nil { // the log takes nothing more from us
		p.log.Warn("the agent is stopped", "error", err)
		_, _ = p.proc.Kill()
	}
	_, _ = io.Copy(io.Discard, p.proc.Stdout())
	exit, waitErr := p.proc.Wait()
	if waitErr != nil {
		p.log.Error("the agent's processes", "error", waitErr)
	}
	p.end(errEnded)
	p.work.Wait() // requests are decided before the turn ends
	p.removeConfig()
	a.ended(p, exit)
}

// handle does what the agent asks for. a is nil while it is greeted.
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

// ask puts a request of the agent to the host, and answers it. A request that cannot
// be decided is refused: an error would let the tool through.
func (p *process) ask(a *agent, q asking) {
	if a == nil {
		p.send(q.line(terret.Decision{Behavior: terret.BehaviorDeny, Reason: "the session has not begun"}))
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
		over := context.Cause(ctx) != nil
		if err == nil {
			p.t.decided(q.id, d)
		}
		p.mu.Unlock()
		switch {
		case over:
			return // nobody waits for the answer
		case err != nil:
			p.log.Warn("a request of the agent is refused", "error", err)
			p.send(q.line(terret.Decision{Behavior: terret.BehaviorDeny, Reason: "it could not be decided"}))
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
			return terret.Errorf(terret.KindConflict, "Claude Code refused: %s", p.redact.String(a.err))
		}
		if into != nil && len(a.body) > 0 && json.Unmarshal(a.body, into) != nil {
			return terret.Errorf(terret.KindExecutionError, "Claude Code gave an answer that cannot be read")
		}
		return nil
	case <-p.life.Done():
		return terret.Errorf(terret.KindProcessFailed, "%w", errEnded)
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

// prompt writes a message, and returns when that is done.
func (p *process) prompt(ctx context.Context, messageID string, blocks []terret.Block) error {
	p.mu.Lock()
	id := lineID(messageID)
	if p.used[id] { // it would be dropped without a word
		id = terret.NewSessionID()
	}
	p.used[id] = true
	p.t.prompted(id, terret.TextOf(blocks))
	p.mu.Unlock()
	done := make(chan error, 1)
	p.put(outgoing{line: promptLine(id, blocks), done: done})
	select {
	case err := <-done:
		if err != nil {
			return terret.Errorf(terret.KindProcessFailed, "write the prompt: %w", err)
		}
		return nil
	case <-p.life.Done():
		return terret.Errorf(terret.KindProcessFailed, "%w", errEnded)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send writes a line some time.
func (p *process) send(line []byte) { p.put(outgoing{line: line}) }

func (p *process) put(o outgoing) {
	p.outMu.Lock()
	p.out = append(p.out, o)
	p.outMu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// write writes what is put, until the process ends.
func (p *process) write() {
	w := ndjson.NewWriter(p.proc.Stdin())
	for {
		select {
		case <-p.wake:
		case <-p.proc.Done():
			return
		}
		p.outMu.Lock()
		out := p.out
		p.out = nil
		p.outMu.Unlock()
		for _, o := range out {
			err := w.WriteRaw(o.line)
			if err != nil && !errors.Is(err, os.ErrClosed) {
				p.log.Warn("a line could not be written to the agent", "error", err)
			}
			if o.done != nil {
				o.done <- err
			}
		}
	}
}

// stop ends a process that nobody serves, and waits until nothing of it is left.
func (p *process) stop(ctx context.Context) {
	_, err := p.proc.Stop(ctx)
	if err != nil {
		p.log.Error("the agent's processes", "error", err)
	}
	p.end(errEnded)
	p.work.Wait()
	_ = p.proc.Stdout().Close()
	p.removeConfig()
}

// serverConfig writes the file of MCP servers, which may hold secrets and so must
// not be in the arguments.
func (d *Driver) serverConfig(servers terret.JSON) (string, error) {
	if len(servers) == 0 && len(d.cfg.Servers) == 0 {
		return "", nil
	}
	config := mcpConfig(servers)
	for name := range d.cfg.Servers {
		config[name] = encode(map[string]string{"type": "sdk", "name": name})
	}
	f, err := os.CreateTemp("", "terret-mcp-*.json") // readable by us alone
	if err != nil {
		return "", terret.Errorf(terret.KindInternal, "write the list of MCP servers: %w", err)
	}
	_, err = f.Write(encode(map[string]any{"mcpServers": config}))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", terret.Errorf(terret.KindInternal, "write the list of MCP servers: %w", err)
	}
	return f.Name(), nil
}

// mcpConfig lists servers by name. The list may be wrapped, as in a file.
func mcpConfig(servers terret.JSON) map[string]json.RawMessage {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if decode(servers, &file) && file.Servers != nil {
		return file.Servers
	}
	bare := map[string]json.RawMessage{}
	decode(servers, &bare)
	return bare
}

func (p *process) removeConfig() {
	if p.config != "" {
		_ = os.Remove(p.config)
	}
}

// serveMCP answers a message to a server in our process.
func (p *process) serveMCP(c mcpCall) []byte {
	server := p.servers[c.server]
	if server == nil {
		return errorLine(c.id, fmt.Sprintf("there is no server %q here", c.server))
	}
	response, err := server.Serve(p.life, c.message)
	if err != nil {
		return errorLine(c.id, p.redact.String(err.Error()))
	}
	if len(bytes.TrimSpace(response)) == 0 { // a notification wants an answer too
		response = json.RawMessage(`{"jsonrpc":"2.0","result":{}}`)
	}
	return successLine(c.id, map[string]json.RawMessage{"mcp_response": response})
}
