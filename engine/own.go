package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
	"github.com/terret-dev/terret/engine/internal/remote"
)

// own makes this process the owner of the session. It fails with a conflict if another
// process owns it.
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
	if err := e.peers.Here(ctx, id); err != nil {
		return nil, err
	}
	return e.claimed(ctx, id, false)
}

// claimed claims a session. Closing says that it is only to be given back.
func (e *Engine) claimed(ctx context.Context, id string, closing bool) (*live, error) {
	l, err := e.claim(ctx, id, closing)
	for range 10 { // somebody may answer a request just as we decide that nobody did
		if !errors.Is(err, terret.ErrAlreadyDecided) {
			break
		}
		l, err = e.claim(ctx, id, closing)
	}
	return l, err
}

// lockClaim waits until nobody here is claiming the session, and keeps others out until
// the returned function is called: a second claim of ours would fence the first.
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

// on claims the session and runs fn with it, and retries if the session is given back
// at that moment. It fails with a foreignError if another process owns it.
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

// foreignError says that the session belongs to another process.
type foreignError struct{ error }

func (e foreignError) Unwrap() error { return e.error }

func isForeign(err error) bool {
	_, ok := errors.AsType[foreignError](err)
	return ok
}

// claim does the work of own, while nobody else here claims the session.
func (e *Engine) claim(ctx context.Context, id string, closing bool) (*live, error) {
	c, err := e.store.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &live{
		e: e, id: id, closing: closing, log: e.log.With("session", id, "agent", c.Session.Agent),
		session: c.Session, rest: restingState(c.Session.State), cursor: c.Cursor,
		open: map[string]*request{}, begun: map[string]bool{}, left: make(chan struct{}), secrets: secrets{known: e.secrets},
	}
	l.journal = e.journal.Open(c.Session, l)
	release := func() error { return e.store.Release(context.WithoutCancel(ctx), id, c.Session.Epoch) }
	if err = e.noteQueue(ctx, l); err != nil {
		return nil, errors.Join(err, release())
	}
	if err := e.adopt(ctx, l); err != nil {
		return nil, errors.Join(err, release())
	}
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.live[id] = l
	}
	e.mu.Unlock()
	if closed {
		return nil, errors.Join(refused(), release())
	}
	l.mu.Lock()
	l.startIdleTimer()
	l.mu.Unlock()
	e.watch.LookAgain()
	return l, nil
}

// restingState is the state that a session shows without a turn, given the state it was
// left in.
func restingState(s terret.SessionState) terret.SessionState {
	if s.Working() || s == terret.SessionStarting {
		return terret.SessionIdle
	}
	return s
}

// adopt cleans up a session whose last owner is gone: it ends an unfinished turn with
// an error and decides open requests. Nobody else knows the session yet.
func (e *Engine) adopt(ctx context.Context, l *live) error {
	s := l.sessionCopy()
	if s.LastSeq == 0 {
		return nil
	}
	open, err := e.undecided(ctx, l.id)
	if err != nil {
		return err
	}
	var spent terret.UsageUpdate
	if s.Turn != "" {
		if spent, err = e.spent(ctx, s); err != nil {
			return err
		}
	}
	l.mu.Lock()
	out := []terret.Event{l.envelopeOf("", terret.Event{Data: terret.SessionResumed{Epoch: s.Epoch}})}
	for _, r := range open {
		out = append(out, l.envelopeOf(s.Turn, terret.Event{By: r.Decision.By, Data: r.Decision.Data()}))
	}
	if s.Turn != "" {
		out = append(out, l.envelopeOf(s.Turn, terret.Event{Data: terret.TurnError{Usage: spent.Usage, CostUSD: spent.CostUSD, Error: terret.Error{
			Code: terret.CodeProcessFailed, Retryable: true,
			Message: "terret stopped while it ran this turn; retry, or send a message",
		}}}))
		l.session.Usage, l.session.CostUSD = s.Usage.Add(spent.Usage), s.CostUSD+spent.CostUSD
		l.rest = terret.SessionFailed
	}
	l.session.Turn = ""
	a := l.journal.Append(&journal.Write{Events: l.showState(out)})
	l.mu.Unlock()
	return a.Wait()
}

// spent is the logged cost of the session's unfinished turn.
func (e *Engine) spent(ctx context.Context, s terret.Session) (terret.UsageUpdate, error) {
	var out terret.UsageUpdate
	for entry, err := range e.hub.Entries(ctx, s.ID, terret.KindUsageUpdate) {
		if err != nil {
			return out, err
		}
		ev, err := entry.Decode()
		if d, ok := ev.Data.(terret.UsageUpdate); ok && err == nil && ev.Turn == s.Turn {
			out.Usage, out.CostUSD = d.Sub(s.Usage), d.CostUSD-s.CostUSD
		}
	}
	return out, nil
}

// undecided returns the requests of a session whose decision is not in the log, each
// with its decision: the one somebody has given, or else a refusal because the agent is
// gone.
func (e *Engine) undecided(ctx context.Context, session string) ([]terret.Request, error) {
	// The open ones come first: one that is answered meanwhile is then in both lists.
	open, err := e.store.ListRequests(ctx, terret.RequestFilter{Session: session, State: terret.RequestOpen, Limit: 1000})
	if err != nil {
		return nil, err
	}
	out, err := e.store.Answered(ctx)
	if err != nil {
		return nil, err
	}
	var mine []terret.Request
	answered := map[string]bool{}
	for _, r := range out {
		if r.Session == session {
			mine, answered[r.RequestID] = append(mine, r), true
		}
	}
	for _, r := range open.Items {
		if answered[r.RequestID] {
			continue
		}
		d := desk.Refusal(r.Gate, terret.ByAgentExit, "the agent is gone")
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
			e.recoverOne(ctx, s)
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// recoverOne ends what a dead process has begun in a session. If another process was
// faster it does nothing, also if that one has given the session back by now.
func (e *Engine) recoverOne(ctx context.Context, orphan terret.Session) {
	id := orphan.ID
	defer e.lockClaim(id)()
	now, err := e.store.Session(ctx, id)
	var l *live
	switch {
	case err == nil && now.Owner != orphan.Owner, e.isClosed(), e.mine(id) != nil: // if it is ours, it is being given up
		return
	case err == nil:
		l, err = e.claimed(ctx, id, true)
	}
	switch {
	case errors.Is(err, terret.ErrConflict) || errors.Is(err, terret.ErrSessionNotFound): // another process was faster
	case err != nil: // one bad session must not keep us from working on the others
		if ctx.Err() == nil && !e.isClosed() {
			e.log.Error("could not clean up a session of a dead process", "session", id, "error", err)
		}
	default:
		e.retire(l, "")
	}
}

// orForeign returns err, which says what to do if another process owns the session.
func orForeign(err error) error {
	if other, ok := errors.AsType[remote.NodeError](err); ok {
		return other.Err
	}
	if isForeign(err) {
		return terret.Errorf(terret.CodeConflict, "%w; ask there, or close it there first", err)
	}
	return err
}

// leased is a store of which a worker owns sessions for a time only. If it cannot renew
// that, the channel is closed, and the store goes on as another worker.
type leased interface {
	Lost() <-chan struct{}
	Lease() time.Duration
}

// recoverLoop looks for sessions of workers that died while we run, and ends what they
// have begun. Their agents need not be here for that: it is about the log. It looks
// several times in a lease, so that most of the wait is the lease itself.
func (e *Engine) recoverLoop(lease time.Duration) {
	every := time.NewTicker(lease / 5)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-e.life.Done():
			return
		}
		if err := e.recover(e.life); err != nil && e.life.Err() == nil {
			e.log.Warn("cannot look for sessions of dead processes", "error", err)
		}
	}
}

// dropLost stops the agents of sessions that others may own by now: the store is no
// longer the worker that claimed them. It stops them at once, without a word in the log.
func (e *Engine) dropLost() {
	s, ok := e.store.(leased)
	if !ok {
		return
	}
	lost := false
	select {
	case <-s.Lost():
		lost = true
	default:
	}
	worker := e.store.Worker()
	for _, l := range e.lives() {
		l.mu.Lock()
		owner := l.session.Owner
		l.mu.Unlock()
		if lost || owner != worker {
			l.Failed(terret.ErrFenced)
		}
	}
}

// mine returns the session if this process owns it.
func (e *Engine) mine(id string) *live {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[id]
}
