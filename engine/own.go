package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/terret-dev/terret"
)

// mine returns the session if this process owns it.
func (e *Engine) mine(id string) *live {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[id]
}

// own makes this process the owner of the session. It fails with a conflict while
// another process is.
func (e *Engine) own(ctx context.Context, id string) (*live, error) {
	if l := e.mine(id); l != nil {
		return l, nil
	}
	defer e.lockClaim(id)()
	if l := e.mine(id); l != nil {
		return l, nil
	}
	if e.isClosed() {
		return nil, refused()
	}
	l, err := e.claim(ctx, id)
	for range 10 { // somebody answers a request while we decide that nobody did
		if !errors.Is(err, terret.ErrAlreadyDecided) {
			break
		}
		l, err = e.claim(ctx, id)
	}
	return l, err
}

// lockClaim waits until nobody claims the session, and keeps others from it until the
// returned function is called: each claim of ours would fence the one before.
func (e *Engine) lockClaim(id string) (unlock func()) {
	mine := make(chan struct{})
	for {
		e.mu.Lock()
		other := e.claiming[id]
		if other == nil {
			e.claiming[id] = mine
		}
		e.mu.Unlock()
		if other == nil {
			break
		}
		<-other
	}
	return func() {
		e.mu.Lock()
		delete(e.claiming, id)
		e.mu.Unlock()
		close(mine)
	}
}

// on runs fn with a session that it makes ours first, and again if the session is
// given back in that moment. It fails with a foreignError while another process owns
// it.
func (e *Engine) on(ctx context.Context, id string, fn func(*live) error) error {
	for {
		l, err := e.own(ctx, id)
		if errors.Is(err, terret.ErrConflict) {
			return foreignError{err}
		}
		if err != nil {
			return err
		}
		if err := fn(l); !errors.Is(err, errGone) {
			return err
		}
		select {
		case <-l.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errGone = errors.New("the session is being given back")

// foreignError says that the session belongs to another process.
type foreignError struct{ error }

func (e foreignError) Unwrap() error { return e.error }

func isForeign(err error) bool {
	_, ok := errors.AsType[foreignError](err)
	return ok
}

// unusable says why nothing can be begun in the session. l.mu must be held.
func (l *live) unusable() error {
	if l.leaving || l.gone || l.broken != nil {
		return errGone
	}
	return nil
}

// claim is own, while nobody else here claims the session.
func (e *Engine) claim(ctx context.Context, id string) (*live, error) {
	c, err := e.store.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &live{
		e: e, id: id, log: e.log.With("session", id, "agent", c.Session.Agent),
		session: c.Session, cursor: c.Cursor, last: c.Session.LastSeq,
		open: map[string]*request{}, left: make(chan struct{}), secrets: secrets{known: e.cfg.Secrets},
	}
	if l.leftover, err = e.queued(ctx, id); err != nil {
		return nil, err
	}
	release := func() error { return e.store.Release(context.WithoutCancel(ctx), id, c.Session.Epoch) }
	if err := e.adopt(ctx, l); err != nil {
		e.forget(l)
		return nil, errors.Join(err, release())
	}
	l.mu.Lock()
	l.startIdleTimer()
	l.mu.Unlock()
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.live[id] = l
	}
	e.mu.Unlock()
	if closed {
		e.forget(l)
		return nil, errors.Join(refused(), release())
	}
	e.watch.lookAgain()
	return l, nil
}

// adopt puts a session in order whose last owner is gone: a turn that was running
// ends with an error, and open requests are decided.
func (e *Engine) adopt(ctx context.Context, l *live) error {
	l.mu.Lock()
	fresh, running, state := l.last == 0, l.session.Turn, l.session.State
	l.mu.Unlock()
	if fresh {
		return nil
	}
	open, err := e.undecided(ctx, l.id)
	if err != nil {
		return err
	}
	var spent terret.UsageUpdate
	if running != "" {
		if spent, err = e.spent(ctx, l, running); err != nil {
			return err
		}
	}
	l.mu.Lock()
	out := l.stamp(nil, terret.Event{Data: terret.SessionResumed{Epoch: l.session.Epoch}})
	if running != "" {
		l.turn = l.newTurn(running, "", terret.Prompt{})
	}
	for _, r := range open {
		out = l.stamp(out, terret.Event{By: r.Decision.By, Data: r.Decision.Data()})
	}
	if running != "" {
		out = l.stamp(out, terret.Event{Data: terret.TurnError{Usage: spent.Usage, CostUSD: spent.CostUSD, Error: terret.Error{
			Code: terret.CodeProcessFailed, Retryable: true,
			Message: "the process that ran this turn ended before the turn did; prompt the session to go on",
		}}})
		l.session.Usage, l.session.CostUSD = l.session.Usage.Add(spent.Usage), l.session.CostUSD+spent.CostUSD
		l.turn.cancel(nil)
		l.turn = nil
	}
	l.session.Turn = ""
	switch {
	case running != "":
		out = l.setState(out, terret.SessionFailed, "")
	case state.Working() || state == terret.SessionStarting:
		out = l.setState(out, terret.SessionIdle, "")
	}
	a := l.enqueue(&appending{events: out})
	l.mu.Unlock()
	return a.wait()
}

// spent is what the log knows of the cost of a turn that did not come to its end.
func (e *Engine) spent(ctx context.Context, l *live, turn string) (terret.UsageUpdate, error) {
	l.mu.Lock()
	total := l.session
	l.mu.Unlock()
	var out terret.UsageUpdate
	for entry, err := range e.entries(ctx, l.id, terret.KindUsageUpdate) {
		if err != nil {
			return out, err
		}
		ev, err := entry.Decode()
		if d, ok := ev.Data.(terret.UsageUpdate); ok && err == nil && ev.Turn == turn {
			out.Usage, out.CostUSD = d.Sub(total.Usage), d.CostUSD-total.CostUSD
		}
	}
	return out, nil
}

// undecided returns the requests of a session whose decision is not in the log,
// each with the decision it is to get: the one that somebody has given, or else a
// refusal because the agent is gone.
func (e *Engine) undecided(ctx context.Context, session string) ([]terret.Request, error) {
	out, err := e.store.Answered(ctx)
	if err != nil {
		return nil, err
	}
	var mine []terret.Request
	for _, r := range out {
		if r.Session == session {
			mine = append(mine, r)
		}
	}
	page, err := e.store.ListRequests(ctx, terret.RequestFilter{Session: session, State: terret.RequestOpen, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, r := range page.Items {
		d := refusal(r.Gate, terret.ByAgentExit, "the agent is gone")
		d.RequestID = r.RequestID
		r.Decision = &d
		mine = append(mine, r)
	}
	return mine, nil
}

// recoverAtOnce bounds how many sessions are taken over at the same time.
const recoverAtOnce = 8

// recover takes over what dead processes left behind.
func (e *Engine) recover(ctx context.Context) error {
	orphans, err := e.store.Orphans(ctx)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	room := make(chan struct{}, recoverAtOnce)
	for _, s := range orphans {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-room }()
			e.recoverOne(ctx, s.ID)
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (e *Engine) recoverOne(ctx context.Context, id string) {
	l, err := e.own(ctx, id)
	switch {
	case errors.Is(err, terret.ErrConflict) || errors.Is(err, terret.ErrSessionNotFound): // another process was faster
	case err != nil: // one bad session must not keep us from working on the others
		if ctx.Err() == nil {
			e.log.Error("a session of a dead process could not be put in order", "session", id, "error", err)
		}
	default:
		e.shut(ctx, l, "")
	}
}

// queued lists the ids of the prompts in a session's queue.
func (e *Engine) queued(ctx context.Context, id string) (map[string]bool, error) {
	queue, err := e.Queue(ctx, id)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(queue))
	for _, t := range queue {
		ids[t.ID] = true
	}
	return ids, nil
}
