package acp

import (
	"context"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// agent is a program at work on a session, in one process for many turns. The process
// is replaced when it has ended, and when a turn needs a session that was opened with
// other things. In a one-shot session each turn has its own.
type agent struct {
	*seat.Seat[*process]
	d     *Driver
	env   []string // of its processes
	began picked   // what the session had when it was opened; Switching is held
	lent  lent     // Switching is held

	mu      sync.Mutex
	session picked

	// telling is held while something is told to the host, so that it is told in order.
	telling   sync.Mutex
	native    string // the agent's own id of the session
	replaying bool   // what is said is in the log already
	state     state
	turn      *turn // that runs, or nil
}

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	return &agent{
		Seat: seat.New[*process](r), d: d, env: d.environ(r.Env, r.Session.Cwd, r.Trusted), native: string(r.Session.NativeID),
		session: picked{r.Session.Model, r.Session.PermissionMode},
		state:   state{listed: make(chan struct{}), cost: seat.ReadCursor(r.Cursor).Cost},
	}
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities {
	if can := a.d.p.Can; can != nil {
		return a.d.p.capabilities(*can)
	}
	p := a.Current()
	if p == nil {
		return a.d.p.capabilities(Features{})
	}
	return a.d.p.capabilities(p.about.features(a.now().opened))
}

// ready returns a process that has the session as those settings want it. Switching is
// held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*process, error) {
	l := a.d.p.launchOf(in)
	fits := func(p *process) bool { return p.launch.equal(l) }
	return a.Ready(ctx, fits, func(ctx context.Context) (*process, error) { return a.launch(ctx, l) })
}

// launch starts a process and opens the session in it. Switching is held.
func (a *agent) launch(ctx context.Context, l launch) (*process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.d.patience, terret.Errorf(terret.CodeTimeout,
		"%s did not answer within %s of its start; run it in the folder to see what keeps it", a.d.p.title(), a.d.patience))
	defer cancel()
	p, err := a.start(ctx, l)
	if err != nil && a.d.p.quirks.startAgain && ctx.Err() == nil {
		a.Req.Log.Warn("the agent is started again", "error", err)
		p, err = a.start(ctx, l)
	}
	if err != nil {
		return nil, err
	}
	s := a.now()
	a.began = picked{s.model, s.mode}
	a.Take(p)
	a.Work.Go(func() {
		<-p.Done()
		p.End(func() { a.ended(p) })
	})
	return p, nil
}

// start starts a process and opens the session in it. Nobody follows it yet.
func (a *agent) start(ctx context.Context, l launch) (*process, error) {
	p, err := a.spawn(ctx, l)
	if err != nil {
		return nil, err
	}
	events := []terret.Event{p.Spawned()}
	if err = p.greet(ctx); err == nil {
		var more []terret.Event
		more, err = a.open(ctx, p)
		events = append(events, more...)
	}
	if err == nil {
		err = a.tell(nil, func() []terret.Event { return append(events, a.ineffective(p)...) })
	}
	if err != nil {
		p.Discard(ctx)
		return nil, a.startFailed(p, err)
	}
	return p, nil
}

// ineffective warns of settings that the agent cannot be told of.
func (a *agent) ineffective(p *process) []terret.Event {
	in := a.Req.Settings
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

// ended tells the end of a process, after that of its turn.
func (a *agent) ended(p *process) {
	wanted := a.Ended(p)
	a.telling.Lock()
	t := a.turn
	a.telling.Unlock()
	if t != nil && t.p == p {
		<-t.told
	}
	if err := a.tell(nil, func() []terret.Event { return p.Exited(wanted) }); err != nil {
		a.Req.Log.Warn("the end of the agent could not be logged", "error", err)
	}
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
		if _, unknown := ev.Data.(terret.Unknown); unknown || a.Req.Settings.KeepRaw && len(out) == 0 {
			ev.Raw = raw
		}
		out = append(out, ev)
	}
	if len(out) == 0 {
		return nil
	}
	return a.Req.Host.Emit(context.Background(), out, nil)
}

// Context implements terret.ContextReader.
func (a *agent) Context(context.Context) (terret.ContextUsage, error) {
	c := a.now().context
	if c.Max == 0 {
		return c, terret.Errorf(terret.CodeUnsupported, "%s has not said what fills its context", a.d.p.title())
	}
	return c, nil
}
