package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/rpc"
)

// process is a running app server with at most one thread of ours.
type process struct {
	*seat.Process // its Work is calls that nobody waits for
	conn          *rpc.Conn
	relay         *relay // nil where hooks do not work
	launch        launch

	version string
	trusted map[string]any // the hooks that Codex may run, as its settings say it
	hooked  bool           // our hooks run

	// mu is held while events are made and handed out, so that their order is the one
	// in which things happened.
	mu    sync.Mutex
	t     *translator
	model string         // that the thread goes on with; empty if we do not know
	a     *agent         // nil until one takes the process
	early []terret.Event // said before
	heard chan struct{}  // closed at the next message
	open  map[string]context.CancelCauseFunc
}

// startPatience is how long a process may take to answer the greeting.
const startPatience = 2 * time.Minute

// startAttempts is how often a process is started: two that begin at the same time in a
// new home may get in each other's way when they make Codex's database.
const startAttempts = 3

// start starts a process and greets it.
func (d *Driver) start(ctx context.Context, l launch, owner string, log *slog.Logger) (p *process, err error) {
	for range startAttempts {
		if p, err = d.startOnce(ctx, l, owner, log); err == nil || !strings.Contains(err.Error(), "sqlite state runtime") {
			break
		}
	}
	return p, err
}

func (d *Driver) startOnce(ctx context.Context, l launch, owner string, log *slog.Logger) (*process, error) {
	p := &process{launch: l, heard: make(chan struct{}), t: newTranslator(), open: map[string]context.CancelCauseFunc{}}
	p.t.cwd = l.dir
	argv := append([]string{d.cfg.Path}, l.args...)
	if hooksWork && !d.noHooks {
		r, err := newRelay()
		if err != nil {
			return nil, terret.Errorf(terret.CodeStartupRefused, "make a folder for hooks: %w", err)
		}
		p.relay = r
		argv = append(argv, hookArgs(r.command(), l.gates)...)
	}
	argv = append(argv, "app-server")
	var err error
	if p.Process, err = d.program().Start(ctx, seat.Spec{Argv: argv, Dir: l.dir, Env: l.env, Owner: owner, Log: log}); err != nil {
		if p.relay != nil {
			p.relay.close()
		}
		return nil, err
	}
	p.connect()
	if err := p.greet(ctx, d.patience); err != nil {
		p.Discard(ctx)
		return nil, err
	}
	return p, nil
}

// connect begins to listen to the process.
func (p *process) connect() {
	p.conn = rpc.New(rpc.Join(p.Stdout(), p.Stdin()), rpc.Options{
		Request: p.serveRequest, Notification: p.hear, Stray: p.stray, Bare: true,
	})
	if p.relay != nil {
		p.relay.serve(p.hook)
	}
	go p.watch() // ends with the process, which Discard and its agent wait for
}

// hear takes in a notification.
func (p *process) hear(_ context.Context, m rpc.Message) error {
	if m.Method == "serverRequest/resolved" {
		p.withdraw(m)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	over := p.t.turn.over
	events := p.t.hear(m.Method, m.Params, m.Raw, time.Now())
	close(p.heard)
	p.heard = make(chan struct{})
	if limit := p.t.turn.over; limit != nil && over == nil || m.Method == "turn/started" && p.t.turn.stopping {
		p.stopTurn(p.t.turn.id)
	}
	err := p.tell(events)
	if m.Method == "turn/completed" && p.t.turn.running && p.t.turn.id == "" && p.t.turn.plan != "" {
		plan := p.t.turn.plan
		p.t.turn.plan = ""
		p.Work.Go(func() { p.a.present(p, plan) })
	}
	return err
}

// stray keeps a line that is no message.
func (p *process) stray(line []byte, why error) {
	var head struct {
		Type   string `json:"type"`
		Method string `json:"method"`
	}
	ev := terret.Event{Data: terret.DiagParseError{Text: brief.Cut(string(line), diagLimit)}}
	if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &head) == nil {
		name := head.Method
		if name == "" {
			name = head.Type
		}
		if name == "" {
			name = fmt.Sprint(why)
		}
		ev = terret.Event{Data: terret.Unknown{NativeType: name}, Raw: line}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pass([]terret.Event{ev}); err != nil {
		p.Log.Warn("a line of the agent is not kept", "error", err)
	}
}

// say makes events and hands them out.
func (p *process) say(source string, raw []byte, make func(*translator)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.set(source, raw, time.Now())
	make(p.t)
	if err := p.tell(p.t.take()); err != nil {
		p.Log.Warn("the log takes nothing more from the agent", "error", err)
	}
}

// tell is pass for what Codex did. In a session in which each turn has its own process, the
// end of a turn is the end of the process. p.mu must be held.
func (p *process) tell(events []terret.Event) error {
	if p.a != nil && p.a.Req.Session.OneShot && slices.ContainsFunc(events, func(ev terret.Event) bool { return ev.Kind().EndsTurn() }) {
		p.a.Release(p) // before the end is told: the next turn may begin with that
	}
	return p.pass(events)
}

// pass hands out events, or keeps them until somebody listens. p.mu must be held.
func (p *process) pass(events []terret.Event) error {
	if len(events) == 0 {
		return nil
	}
	if p.a == nil {
		p.early = append(p.early, events...)
		return nil
	}
	return p.a.Req.Host.Emit(context.Background(), events, nil)
}

// serveRequest answers a request of Codex, until Codex says that it needs no answer.
func (p *process) serveRequest(ctx context.Context, m rpc.Message) (any, error) {
	if p.host() == nil {
		return nil, &rpc.Error{Code: rpc.CodeInternal, Message: "the session has not begun"}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.mu.Lock()
	p.open[m.ID] = cancel
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.open, m.ID)
		p.mu.Unlock()
	}()
	return p.answer(ctx, m)
}

func (p *process) withdraw(m rpc.Message) {
	var n struct {
		ID json.RawMessage `json:"requestId"`
	}
	seat.Decode(m.Params, &n)
	p.mu.Lock()
	cancel := p.open[string(n.ID)]
	p.mu.Unlock()
	if cancel != nil {
		cancel(seat.ErrWithdrawn)
	}
}

// host is that of the agent, or nil if nobody has taken the process.
func (p *process) host() terret.Host {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.a == nil {
		return nil
	}
	return p.a.Req.Host
}

// interrupt stops the turn, if one runs.
func (p *process) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.t.turn.running {
		p.t.turn.stopping = true
		p.stopTurn(p.t.turn.id)
	}
}

// stopTurn tells Codex to stop a turn, if it has begun: else it is told when it has. p.mu
// must be held.
func (p *process) stopTurn(turn string) {
	if turn == "" {
		return
	}
	thread := p.t.thread
	p.Work.Go(func() {
		if err := p.conn.Call(p.Life, "turn/interrupt", object{"threadId": thread, "turnId": turn}, nil); err != nil {
			p.Log.Debug("the turn was not interrupted", "error", err)
		}
	})
}

// watch waits for the end of the process, and tells what it leaves behind.
func (p *process) watch() {
	if err := p.conn.Wait(); !errors.Is(err, io.EOF) && !errors.Is(err, rpc.ErrClosed) {
		p.Log.Warn("the agent is stopped", "error", err)
	}
	p.End(func() {
		if p.relay != nil {
			p.relay.close() // its hooks are decided before the turn ends
		}
		p.mu.Lock()
		a := p.a
		p.mu.Unlock()
		if a != nil {
			a.ended(p)
		}
	})
}

// Discard implements seat.Prepared: it ends the process, and waits until nothing of it is
// left.
func (p *process) Discard(ctx context.Context) {
	_ = p.Leave(ctx)
	<-p.Told()
}
