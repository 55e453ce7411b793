package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/view"
)

// conversation runs turns of one session and shows them.
type conversation struct {
	app     *app
	engine  *engine.Engine
	session terret.Session
	after   int64 // last event shown
	fresh   bool  // the session was made for this conversation

	json    bool      // canonical events instead of a rendering
	view    view.View // another dialect instead of a rendering; may be nil
	raw     bool
	render  *renderer
	asker   *asker // nil if nobody can be asked here
	ahead   *ahead // nil if nobody can type while a turn runs
	stopped bool   // the last turn, by the person here
	timeout time.Duration

	offersMu sync.Mutex
	offers   []terret.Command // of the agent
}

// turn sends a text and shows the turn to its end. The error is that of the turn.
func (c *conversation) turn(ctx context.Context, text string) (terret.TurnComplete, error) {
	return c.prompt(ctx, terret.Prompt{Blocks: []terret.Block{terret.Text(text)}})
}

// prompt sends a prompt and shows the turn to its end. The error is that of the turn.
func (c *conversation) prompt(ctx context.Context, p terret.Prompt) (terret.TurnComplete, error) {
	return c.run(ctx, c.prompting(p, engine.WhenReject))
}

func (c *conversation) prompting(p terret.Prompt, when engine.When) starter {
	return func(ctx context.Context) (terret.Turn, error) {
		return c.engine.Prompt(ctx, engine.PromptRequest{Session: c.session.ID, Prompt: p, By: c.app.user(), When: when})
	}
}

// run begins a turn and shows it to its end. The error is that of the turn.
func (c *conversation) run(ctx context.Context, start starter) (terret.TurnComplete, error) {
	// The turn outlives Ctrl-C: it ends properly, and its end is shown.
	life, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	ctx, unsent := context.WithCancelCause(ctx)
	defer unsent(nil)
	var stopped, twice, late atomic.Bool
	var stopping sync.WaitGroup
	defer stopping.Wait()
	halt := func() bool {
		if !stopped.CompareAndSwap(false, true) {
			return false
		}
		stopping.Go(func() {
			c.render.screen.line("stopping the turn; Ctrl-C again kills it")
			unsent(terret.ErrInterrupted)
			c.stop(life, c.engine.Interrupt)
		})
		return true
	}
	kill := func() { twice.Store(true); c.stop(life, c.engine.Kill); abort(errSecondInterrupt) }
	stop := interrupts(func() {
		if !halt() { // Esc was first
			kill()
		}
	}, kill)
	defer func() {
		stop()
		c.stopped = stopped.Load()
	}()
	t, err := start(ctx)
	if err != nil {
		return terret.TurnComplete{}, err
	}
	c.ahead.begin(life, func() { halt() })
	defer c.ahead.end()
	if c.timeout > 0 {
		timer := time.AfterFunc(c.timeout, func() { late.Store(true); c.stop(life, c.engine.Interrupt) })
		defer timer.Stop()
	}
	done, err := c.follow(life, t.ID)
	switch {
	case twice.Load():
		err = errSecondInterrupt
	case late.Load() && errors.Is(err, terret.ErrInterrupted):
		err = terret.Errorf(terret.CodeTimeout, "the turn took longer than %s and was stopped", c.timeout)
	}
	return done, err
}

var errSecondInterrupt = terret.Errorf(terret.CodeInterrupted, "the turn was stopped at once")

func (c *conversation) stop(ctx context.Context, how func(context.Context, string, string) error) {
	if err := how(ctx, c.session.ID, c.app.user()); err != nil && !errors.Is(err, terret.ErrConflict) {
		c.render.screen.line("cannot stop the turn: %v", err)
	}
}

// follow shows events until the turn ends.
func (c *conversation) follow(ctx context.Context, turn string) (terret.TurnComplete, error) {
	desk := newDesk(ctx, c)
	defer desk.close()
	var done terret.TurnComplete
	var failed error
	ended, spawned := false, false
	for entry, err := range c.engine.Events(ctx, engine.EventQuery{Session: c.session.ID, After: c.after, Follow: true, Raw: c.raw}) {
		if err != nil {
			return terret.TurnComplete{}, err
		}
		c.after = entry.Seq
		ev, err := entry.Decode()
		if err != nil {
			return terret.TurnComplete{}, err
		}
		c.show(entry, ev)
		if err := c.app.out.lost(); err != nil {
			return terret.TurnComplete{}, err
		}
		desk.note(ev)
		c.learn(ev)
		if _, ok := ev.Data.(terret.ProcessSpawn); ok && c.session.OneShot {
			spawned = true // a one-shot process ends after its turn, and dialects report that
		}
		if _, gone := ev.Data.(terret.ProcessExit); gone && ended {
			return done, failed
		}
		if ev.Turn != turn {
			continue
		}
		switch d := ev.Data.(type) {
		case terret.TurnComplete:
			done, ended = d, true
		case terret.TurnError:
			done, failed, ended = terret.TurnComplete{Text: d.Text, Usage: d.Usage, CostUSD: d.CostUSD, DurationMS: d.DurationMS}, &d.Error, true
		}
		if ended && (c.view == nil || !spawned) {
			return done, failed
		}
	}
	return terret.TurnComplete{}, terret.Errorf(terret.CodeInternal, "the stream of events ended before the turn did")
}

// show writes an event in the requested form. The output remembers write errors.
func (c *conversation) show(entry terret.Entry, ev terret.Event) {
	switch {
	case c.json:
		_, _ = c.app.out.Write(append(entry.AppendJSON(nil), '\n'))
	case c.view != nil:
		for _, m := range c.view.Event(ev) {
			_, _ = c.app.out.Write(append(m.Data, '\n'))
		}
	default:
		c.render.show(ev)
	}
}

// desk asks the person at the terminal, one request at a time, while events keep
// coming: it withdraws a question that is decided elsewhere. Without a terminal it says
// what the turn waits for, and how to answer.
type desk struct {
	c       *conversation
	waiting []terret.Event
	asking  string      // request id
	given   atomic.Bool // the person has answered it
	cancel  context.CancelFunc
	done    chan struct{}
	ctx     context.Context
}

func newDesk(ctx context.Context, c *conversation) *desk { return &desk{c: c, ctx: ctx} }

// note handles requests and decisions. One goroutine calls it.
func (d *desk) note(ev terret.Event) {
	if d.c.asker == nil {
		d.tell(ev)
		return
	}
	if ev.Expects != nil {
		if _, open := d.open(ev.Expects.RequestID); open && ev.Expects.Gate != terret.GateTrust {
			d.waiting = append(d.waiting, ev)
		}
	}
	if by, ok := terret.DecisionOf(ev.Data); ok {
		if by.RequestID == d.asking {
			d.withdraw(&by)
		}
		d.waiting = slices.DeleteFunc(d.waiting, func(w terret.Event) bool { return w.Expects.RequestID == by.RequestID })
	}
	if d.asking == "" && len(d.waiting) > 0 {
		d.ask(d.waiting[0])
		d.waiting = d.waiting[1:]
	}
}

// tell says what the turn is waiting for, and which command answers it.
func (d *desk) tell(ev terret.Event) {
	if ev.Expects == nil {
		return
	}
	if r, open := d.open(ev.Expects.RequestID); open {
		what, how := d.c.app.describeRequest(r)
		d.c.render.screen.line("waiting for a decision: %s\n  answer from another terminal: %s", what, how)
	}
}

// open returns a request, and whether it waits for a person. One that a rule or the
// policy decides comes with its decision.
func (d *desk) open(id string) (r terret.Request, waits bool) {
	r, err := d.c.app.harness.Store.Request(d.ctx, id)
	return r, err == nil && r.State == terret.RequestOpen
}

func (d *desk) ask(ev terret.Event) {
	ctx, cancel := context.WithCancel(d.ctx)
	d.asking, d.cancel, d.done = ev.Expects.RequestID, cancel, make(chan struct{})
	d.given.Store(false)
	done := d.done
	go func() {
		defer close(done)
		for d.askOnce(ctx, ev) {
		}
	}()
}

// askOnce asks, and reports whether to ask again because the answer was invalid.
func (d *desk) askOnce(ctx context.Context, ev terret.Event) (again bool) {
	answer, err := d.c.asker.ask(ctx, ev)
	switch {
	case errors.Is(err, errNoInput):
		answer = d.c.asker.refuse(ev)
	case err != nil:
		return false // decided elsewhere
	}
	d.given.Store(true)
	err = d.c.engine.Decide(d.ctx, answer)
	if err != nil && !errors.Is(err, terret.ErrAlreadyDecided) {
		d.c.render.screen.line("  %s", oneLine(err.Error()))
	}
	return errors.Is(err, terret.ErrInvalid) && ctx.Err() == nil
}

// withdraw ends the current question and waits for it. If another person or program has decided, it
// says so.
func (d *desk) withdraw(by *terret.Decision) {
	if d.asking == "" {
		return
	}
	answered := d.given.Load()
	d.cancel()
	<-d.done
	d.asking = ""
	switch {
	case answered || by == nil:
	case by.Source == terret.ByUser || by.Source == terret.ByChannel:
		d.c.render.screen.line("\n  decided elsewhere: %s, by %s", by.Behavior, oneLine(nonEmpty(by.By, string(by.Source))))
	default:
		d.c.render.screen.line("\n  decided without you: %s", nonEmpty(oneLine(by.Reason), string(by.Behavior)))
	}
}

func (d *desk) close() { d.withdraw(nil) }
