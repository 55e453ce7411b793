package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/terret-dev/terret"
)

// agent is a program at work on a session, in one process for many turns. The process
// is replaced when it has ended, and when a turn needs a session that was opened with
// other things. In a one-shot session each turn has its own.
type agent struct {
	d    *Driver
	req  terret.OpenRequest
	env  []string       // of its processes
	work sync.WaitGroup // what waits for processes and turns

	life context.Context // ends when the agent is closed
	end  context.CancelCauseFunc

	// switching is held while a process is started, stopped or set up for a turn.
	switching sync.Mutex
	began     picked // what the session had when it was opened; switching is held
	lent      lent   // switching is held

	mu      sync.Mutex
	p       *process
	quiet   *process // its end is not that of the agent
	used    *process // in a one-shot session: it has had its turn
	closed  bool
	session picked

	// telling is held while something is told to the host, so that it is told in order.
	telling   sync.Mutex
	native    string // the agent's own id of the session
	replaying bool   // what is said is in the log already
	state     state
	turn      *turn // that runs, or nil
}

// cursor is what must be known to open the agent again.
type cursor struct {
	Cost terret.Cost `json:"cost,omitempty"` // of the session, as the agent counts it
}

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	a := &agent{
		d: d, req: r, env: d.environ(r.Env, r.Session.Cwd, r.Trusted), native: string(r.Session.NativeID),
		session: picked{r.Session.Model, r.Session.PermissionMode},
	}
	a.state.listed = make(chan struct{})
	a.life, a.end = context.WithCancelCause(context.Background())
	var c cursor
	decode(r.Cursor, &c)
	a.state.cost = c.Cost
	return a
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities {
	if can := a.d.p.Can; can != nil {
		return a.d.p.capabilities(*can)
	}
	a.mu.Lock()
	p := a.p
	a.mu.Unlock()
	if p == nil {
		return a.d.p.capabilities(Features{})
	}
	return a.d.p.capabilities(p.about.features(a.now().opened))
}

// ready returns a process that has the session as those settings want it. a.switching
// is held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*process, error) {
	l := a.d.p.launchOf(in)
	a.mu.Lock()
	p, closed, used := a.p, a.closed, a.p == a.used
	a.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if p != nil && !used && p.launch.equal(l) {
		select {
		case <-p.gone: // and this was not told yet
			<-p.ended
		default:
			return p, nil
		}
	} else if p != nil {
		a.retire(ctx, p)
	}
	return a.launch(ctx, l)
}

// launch starts a process and opens the session in it. a.switching is held.
func (a *agent) launch(ctx context.Context, l launch) (*process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.d.patience, terret.Errorf(terret.CodeTimeout,
		"%s did not answer within %s of its start; run it in the folder to see what keeps it", a.d.p.title(), a.d.patience))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(a.life, func() { stop(errClosed) })()
	p, err := a.start(ctx, l)
	if err != nil && a.d.p.quirks.startAgain && ctx.Err() == nil {
		a.req.Log.Warn("the agent is started again", "error", err)
		p, err = a.start(ctx, l)
	}
	if err != nil {
		return nil, err
	}
	s := a.now()
	a.began = picked{s.model, s.mode}
	a.mu.Lock()
	a.p = p
	a.mu.Unlock()
	a.work.Go(func() { a.follow(p) })
	return p, nil
}

// start starts a process and opens the session in it. Nobody follows it yet.
func (a *agent) start(ctx context.Context, l launch) (*process, error) {
	p, err := a.spawn(ctx, l)
	if err != nil {
		return nil, err
	}
	events := []terret.Event{{Data: terret.ProcessSpawn{Argv: p.argv, PID: p.proc.PID()}}}
	if err = p.greet(ctx); err == nil {
		var more []terret.Event
		more, err = a.open(ctx, p)
		events = append(events, more...)
	}
	if err == nil {
		err = a.tell(nil, func() []terret.Event { return append(events, a.ineffective(p)...) })
	}
	if err != nil {
		_ = p.stop(ctx)
		return nil, a.startFailed(p, err)
	}
	return p, nil
}

// ineffective warns of settings that the agent cannot be told of.
func (a *agent) ineffective(p *process) []terret.Event {
	in := a.req.Settings
	var out []terret.Event
	warn := func(text string) {
		out = append(out, terret.Event{Data: terret.DiagWarning{Text: a.d.p.title() + " " + text}})
	}
	if in.Tools != nil || len(in.RemovedTools) > 0 {
		warn("cannot be told which tools it has: only those that it asks about are refused")
	}
	if len(in.AddDirs) > 0 && a.d.p.quirks.dirs == "" && !has(p.about.Capabilities.Session.Dirs) {
		warn("cannot be told of further folders")
	}
	if in.SystemAppend != "" && a.d.p.quirks.meta == nil {
		warn("has a system prompt that cannot be added to")
	}
	return out
}

// follow tells the end of a process.
func (a *agent) follow(p *process) {
	defer close(p.ended)
	<-p.gone
	a.mu.Lock()
	quiet := a.quiet == p || a.closed
	if a.p == p {
		a.p = nil
	}
	a.mu.Unlock()
	a.telling.Lock()
	t := a.turn
	a.telling.Unlock()
	if t != nil && t.p == p {
		<-t.told
	}
	events := []terret.Event{{Data: p.exitEvent()}}
	if !quiet {
		events = append(events, terret.Event{Data: terret.SessionEnd{Reason: "agent_exit", NativeReason: p.exit.String()}})
	}
	if err := a.tell(nil, func() []terret.Event { return events }); err != nil {
		a.req.Log.Warn("the end of the agent could not be logged", "error", err)
	}
}

// retire ends a process that is to be replaced, and waits until that is told.
func (a *agent) retire(ctx context.Context, p *process) {
	a.mu.Lock()
	a.quiet = p
	a.mu.Unlock()
	if err := p.stop(ctx); err != nil {
		a.req.Log.Error("the agent's processes", "error", err)
	}
	<-p.ended
}

// tell hands events to the host. What makes them runs alone, and may change the state.
// Raw is the message that they come of.
func (a *agent) tell(raw []byte, events func() []terret.Event) error {
	a.telling.Lock()
	defer a.telling.Unlock()
	return a.emit(raw, events())
}

// emit hands events to the host. a.telling is held.
func (a *agent) emit(raw []byte, events []terret.Event) error {
	out := make([]terret.Event, 0, len(events))
	for _, ev := range events {
		if a.turn != nil && a.turn.whole && ev.Kind().Delta() {
			continue
		}
		if _, unknown := ev.Data.(terret.Unknown); unknown || a.req.Settings.KeepRaw && len(out) == 0 {
			ev.Raw = raw
		}
		out = append(out, ev)
	}
	if len(out) == 0 {
		return nil
	}
	return a.req.Host.Emit(context.Background(), out, nil)
}

// process is the one that runs.
func (a *agent) process() *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.p
}

// Close implements terret.Agent.
func (a *agent) Close(ctx context.Context) error {
	return a.shut(func(p *process) error { return p.stop(ctx) })
}

// Kill implements terret.Killer.
func (a *agent) Kill(context.Context) error { return a.shut((*process).kill) }

// shut ends the agent for good.
func (a *agent) shut(end func(*process) error) error {
	a.mu.Lock()
	a.closed = true
	p := a.p
	a.mu.Unlock()
	a.end(errClosed) // of what is being started
	a.telling.Lock()
	if a.turn != nil {
		a.turn.abandoned = true
	}
	a.telling.Unlock()
	var err error
	if p != nil {
		err = end(p)
	}
	a.switching.Lock() // a process that was being started has been taken, or given up
	late := a.process()
	a.switching.Unlock()
	if late != nil && late != p {
		err = end(late)
	}
	a.work.Wait()
	return err
}

// Context implements terret.ContextReader.
func (a *agent) Context(context.Context) (terret.ContextUsage, error) {
	c := a.now().context
	if c.Max == 0 {
		return c, terret.Errorf(terret.CodeUnsupported, "%s has not said what fills its context", a.d.p.title())
	}
	return c, nil
}

// encode is JSON without escapes for HTML.
func encode(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // it is made of numbers and strings
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
