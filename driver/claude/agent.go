package claude

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// authAttempts is how often the agent may try with a refused key. By itself it would
// continue for minutes.
const authAttempts = 2

// agent is Claude Code at work on a session, in one process for many turns. The process
// is replaced when a turn needs another start, and when the conversation goes back.
type agent struct {
	*seat.Seat[*process]
	d   *Driver
	env []string // of its processes

	mu      sync.Mutex
	quiet   *process        // its end does not end the turn
	native  string          // the agent's own session, see type native
	model   string          // of the current process
	mode    string          // permission mode of the current process, or soon
	session choice          // the session's
	turn    terret.Settings // the turn's
	refused bool            // the key was refused, in this turn
}

// choice is what may change while a process runs.
type choice struct{ model, mode string }

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	return &agent{
		Seat: seat.New[*process](r), d: d, env: d.sessionEnv(r), native: string(r.Session.NativeID),
		session: choice{r.Session.Model, r.Session.PermissionMode}, turn: r.Settings,
	}
}

// ready returns a process that can take a turn with those settings. a.Switching must be
// held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*process, error) {
	l := a.d.launchOf(a.Req, a.env, in)
	fits := func(p *process) bool {
		if p.launch.serves(l) {
			return true
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.quiet = p // the turn continues with the next process
		return false
	}
	return a.Ready(ctx, fits, func(ctx context.Context) (*process, error) { return a.launch(ctx, l) })
}

// launch starts a process that resumes the session. If the agent has lost the session,
// it starts a new one and says so, unless OnStale forbids that.
func (a *agent) launch(ctx context.Context, l launch) (*process, error) {
	a.mu.Lock()
	current, model, mode := a.native, a.session.model, a.session.mode
	a.mu.Unlock()
	n, err := nativeOf(current)
	if err != nil {
		return nil, err
	}
	start := func(args []string, o options) (*process, error) {
		o.keepRaw = a.Req.Settings.KeepRaw
		return a.d.start(ctx, l, append(args, modelArgs(model, mode, budget(a.Req, o.source))...), o, a.Req.Owner, a.Req.Log)
	}
	p, err := start(n.args())
	if failed, ok := errors.AsType[*terret.Error](err); ok && failed.Code == terret.CodeResumeFailed {
		if a.Req.Settings.OnStale == terret.OnStaleError {
			return nil, lost(n, failed)
		}
		p, err = start(n.anew(failed.Message))
	}
	if err != nil {
		return nil, err
	}
	if err := a.take(ctx, p, model, mode); err != nil {
		return nil, err
	}
	return p, nil
}

func lost(n native, why *terret.Error) error {
	return terret.Errorf(terret.CodeResumeFailed, "Claude Code has lost session %s: %s", n.id, why.Message)
}

func nativeOf(s string) (native, error) {
	if s == "" {
		return native{}, nil
	}
	return parseNative(s)
}

// modelArgs are the arguments that may change while the process runs.
func modelArgs(model, mode string, budget terret.Cost) []string {
	var args []string
	if model != "" {
		args = append(args, "--model="+model)
	}
	if mode != "" {
		args = append(args, "--permission-mode="+mode)
	}
	if budget > 0 {
		args = append(args, "--max-budget-usd="+budget.String())
	}
	return args
}

// budget is the cost limit for the agent, or zero for none. Newer versions include the
// earlier cost of a resumed session, and that of a copy's original: in those cases only
// the engine watches the budget.
func budget(r terret.OpenRequest, source string) terret.Cost {
	limit := r.Settings.MaxCostUSD
	switch {
	case limit == 0 || source == "fork":
		return 0
	case source == "resume":
		return limit
	}
	return max(limit-r.Session.CostUSD, 1)
}

// take makes a process the session's, and starts reading it.
func (a *agent) take(ctx context.Context, p *process, model, mode string) error {
	if err := a.Req.Host.Emit(ctx, append([]terret.Event{p.Spawned()}, droppedSettings(p.launch)...), nil); err != nil {
		p.Discard(ctx)
		return err
	}
	a.mu.Lock()
	a.model, a.mode = model, cmp.Or(mode, p.about.PermissionMode)
	a.session.mode = cmp.Or(a.session.mode, a.mode)
	a.mu.Unlock()
	a.Take(p)
	a.Work.Go(func() { p.serve(a) })
	return nil
}

// emit passes on what the agent says.
func (a *agent) emit(p *process, events []terret.Event) error {
	out := make([]terret.Event, 0, len(events)+1)
	a.mu.Lock()
	for _, ev := range events {
		out = a.note(out, p, ev)
	}
	a.mu.Unlock()
	if len(out) == 0 {
		return nil
	}
	return a.Req.Host.Emit(context.Background(), out, nil)
}

// note remembers what matters later in an event, and adds the event to what is passed
// on. a.mu must be held.
func (a *agent) note(out []terret.Event, p *process, ev terret.Event) []terret.Event {
	switch d := ev.Data.(type) {
	case terret.SessionStart:
		a.mode = cmp.Or(d.PermissionMode, a.mode)
		a.native = cmp.Or(d.NativeID, a.native)
		if a.turn.Model != "" || a.turn.PermissionMode != "" { // these are the turn's, not the session's
			own := a.session
			return append(out, ev, terret.Event{Data: terret.SessionUpdated{Model: &own.model, PermissionMode: &own.mode}})
		}
		a.session.mode = cmp.Or(a.session.mode, a.mode)
	case terret.SessionNativeID:
		a.native = d.New
	case terret.SessionUpdated:
		if d = a.changed(d); d == (terret.SessionUpdated{}) {
			return out
		}
		ev.Data = d
	case terret.Retry:
		if d.HTTPStatus == 401 && d.Attempt >= authAttempts && !a.refused {
			a.refused = true
			p.send(requestLine(terret.NewID(terret.PrefixControl), interruptRequest))
		}
	case terret.TurnError:
		if a.refused && d.Error.Code == terret.CodeInterrupted {
			d.Error = terret.Error{Code: terret.CodeNotAuthenticated, Message: notSignedIn, HTTPStatus: 401}
			ev.Data = d
		}
		a.refused = false
	case terret.TurnComplete:
		a.refused = false
	}
	if a.turn.WholeMessages && ev.Kind().Delta() {
		return out
	}
	return append(out, ev)
}

// changed returns the part of a process's change that changes the session. What was
// chosen for one turn does not, and what we told the agent ourselves is already known.
// a.mu must be held.
func (a *agent) changed(d terret.SessionUpdated) terret.SessionUpdated {
	if a.turn.Model != "" {
		d.Model = nil
	}
	if mode := d.PermissionMode; mode != nil {
		own := *mode == a.mode
		a.mode = *mode
		if own || a.turn.PermissionMode != "" {
			d.PermissionMode = nil
		} else {
			a.session.mode = *mode // for example, a plan was approved
		}
	}
	return d
}

// ended reports what a process leaves behind.
func (a *agent) ended(p *process) {
	wanted := a.Ended(p)
	a.mu.Lock()
	quiet := a.quiet == p
	a.mu.Unlock()
	why := p.ExitError("Claude Code ended in the middle of the turn", "prompt the session to continue")
	p.mu.Lock()
	events := p.t.abandon(*why, time.Now())
	p.mu.Unlock()
	if quiet {
		events = slices.DeleteFunc(events, isEnd)
	}
	if err := a.Req.Host.Emit(context.Background(), append(events, p.Exited(wanted)...), nil); err != nil {
		a.Req.Log.Warn("could not log the end of the agent", "error", err)
	}
}

func isEnd(ev terret.Event) bool {
	switch ev.Data.(type) {
	case terret.TurnComplete, terret.TurnError:
		return true
	}
	return false
}

// Prompt implements terret.Agent.
func (a *agent) Prompt(ctx context.Context, _ string, prompt terret.Prompt, in terret.Settings) error {
	if err := checkSettings(in, a.Req.Session); err != nil {
		return err
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	id := p.announce(prompt.MessageID, prompt.Blocks)
	if err := a.setUp(ctx, p, in); err != nil {
		p.retract(id)
		return err
	}
	return p.prompt(ctx, id, prompt.Blocks)
}

// lastSettings are those of the last turn, or those that the agent was opened with.
func (a *agent) lastSettings() terret.Settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn
}

// setUp sets the model and the permission mode for the turn. From here on, what was
// undone cannot be redone.
func (a *agent) setUp(ctx context.Context, p *process, in terret.Settings) error {
	a.mu.Lock()
	model, mode := cmp.Or(in.Model, a.session.model), cmp.Or(in.PermissionMode, a.session.mode)
	if mode == "" && a.turn.PermissionMode != "" {
		mode = "default" // an older agent does not report it
	}
	setModel, setMode := model != a.model, mode != "" && mode != a.mode
	a.turn, a.refused = in, false
	a.mu.Unlock()
	if err := a.Onward(ctx); err != nil {
		return err
	}
	if setModel {
		if err := a.tellModel(ctx, p, model); err != nil {
			return err
		}
	}
	if setMode {
		return a.tellMode(ctx, p, mode)
	}
	return nil
}

// Steer implements terret.Steerer. The agent reads the message after the tools that it
// is about to run.
func (a *agent) Steer(ctx context.Context, _ string, prompt terret.Prompt) error {
	p, err := a.Occupied()
	if err != nil {
		return err
	}
	return p.prompt(ctx, p.announce(prompt.MessageID, prompt.Blocks), prompt.Blocks)
}

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(ctx context.Context, _ string) error {
	p, err := a.Occupied()
	if err != nil {
		return nil // then no turn is running
	}
	return p.interrupt(ctx)
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities { return capabilities() }
