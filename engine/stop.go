package engine

import (
	"context"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/remote"
)

// Interrupt stops the running turn and keeps the agent. It decides open requests first.
// A turn that does not end in time is killed. It returns when the agent has been told.
// If no turn is running, that is a conflict. If by names somebody, what waits in the queue
// is held until somebody sends it on ([Engine.SendQueued]).
func (e *Engine) Interrupt(ctx context.Context, session, by string) error {
	return e.stop(ctx, session, terret.InboxInterrupt, by)
}

// Kill ends the running turn and the agent's processes by force, and returns when
// they are gone. It holds the queue as Interrupt does.
func (e *Engine) Kill(ctx context.Context, session, by string) error {
	return e.stop(ctx, session, terret.InboxKill, by)
}

func (e *Engine) stop(ctx context.Context, session string, how terret.InboxKind, by string) error {
	l := e.mine(session)
	if l == nil {
		return e.stopForeign(ctx, session, how, by)
	}
	t := l.current()
	if t == nil {
		return notRunning(session)
	}
	if how == terret.InboxInterrupt && e.about(l.sessionCopy().Agent).Watched {
		return terret.Errorf(terret.CodeUnsupported, "session %s runs in a terminal of its own; stop it there", session)
	}
	e.stopLocal(ctx, l, t, how, by)
	return nil
}

func (e *Engine) stopLocal(ctx context.Context, l *live, t *turn, how terret.InboxKind, by string) {
	if l.beginHold(t, by) {
		e.holdQueue(l, by)
	}
	if how == terret.InboxKill {
		e.killTurn(ctx, l, t, because(terret.CodeKilled, "killed", by))
		return
	}
	l.mu.Lock()
	first := l.turn == t && t.stop == nil && l.phase != settling // otherwise it is ending
	if first {
		l.write(l.markStopped(t, because(terret.CodeInterrupted, "interrupted", by), nil), nil)
	}
	l.mu.Unlock()
	if first {
		e.stopTurn(l, t)
	}
}

func notRunning(session string) error {
	return terret.Errorf(terret.CodeConflict, "no turn is running in session %s", session)
}

func because(code terret.ErrorCode, how, by string) *terret.Error {
	if by != "" {
		how += " by " + by
	}
	return &terret.Error{Code: code, Message: "the turn was " + how}
}

// markStopped records why the turn must end. A turn that is already settling keeps its
// phase and ends as it was going to: whoever stops it comes too late. l.mu must be held.
func (l *live) markStopped(t *turn, why *terret.Error, out []terret.Event) []terret.Event {
	if l.phase == settling {
		return out
	}
	t.stop = why
	if l.phase == starting || l.phase == running {
		return l.to(stopping, out)
	}
	return out
}

// stopFor stops the running turn for a reason of the engine's. l.mu must be held, so
// the agent is told in the background.
func (l *live) stopFor(why *terret.Error, out []terret.Event) []terret.Event {
	t := l.turn
	l.e.goBackground(func() { l.e.stopTurn(l, t) })
	return l.markStopped(t, why, out)
}

// stopTurn tells the agent to stop the turn, and has it killed if that takes too long.
// t.stop must be set.
func (e *Engine) stopTurn(l *live, t *turn) {
	e.goBackground(func() { e.killLate(l, t) })
	t.cancel(terret.ErrInterrupted)
	for _, r := range l.openOf(func(r *request) bool { return r.turn == t.id }) {
		e.giveUp(r, terret.ByInterrupt)
	}
	e.interruptAgent(l, t)
}

// killLate kills a stopped turn that does not end in time.
func (e *Engine) killLate(l *live, t *turn) {
	wait := time.NewTimer(e.cfg.InterruptGrace)
	defer wait.Stop()
	select {
	case <-t.done:
	case <-wait.C:
		l.mu.Lock()
		why := t.stop
		l.mu.Unlock()
		l.log.Warn("the agent did not stop in time; killing it", "turn", t.id)
		e.killTurn(context.Background(), l, t, why)
	}
}

// killTurn ends the agent by force, and then the turn if the agent has not ended it.
func (e *Engine) killTurn(ctx context.Context, l *live, t *turn, why *terret.Error) {
	l.mu.Lock()
	if l.turn != t {
		l.mu.Unlock()
		return // it has ended
	}
	l.write(l.markStopped(t, why, nil), nil)
	h := l.detach()
	l.mu.Unlock()
	t.cancel(terret.ErrKilled)
	for _, r := range l.openOf(func(r *request) bool { return r.turn == t.id || r.host == h }) {
		e.giveUp(r, terret.ByInterrupt)
	}
	if h != nil {
		e.killAgent(ctx, l, h)
	} else if t.prepared != nil { // it is still being opened: cancel that
		wait := time.NewTimer(e.cfg.CloseGrace)
		defer wait.Stop()
		select {
		case <-t.prepared:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	e.endTurn(l, t, why)
}

// watchSilence stops a turn in which the agent says and asks nothing for too long. While
// somebody is asked, the agent may wait. l.mu must be held.
func (l *live) watchSilence(t *turn) {
	if limit := l.e.cfg.Silence; limit > 0 {
		t.silence = time.AfterFunc(limit, func() { l.e.goBackground(func() { l.silent(t, limit) }) })
	}
}

// silent stops the turn if its agent has been silent for that long. Otherwise it sets the
// timer for the earliest time when it can have been.
func (l *live) silent(t *turn, limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t || t.stop != nil || l.phase == settling {
		return
	}
	left := limit - time.Since(t.heard)
	if len(l.open) > 0 {
		left = limit
	}
	if left > 0 {
		t.silence.Reset(left)
		return
	}
	why := terret.Errorf(terret.CodeTimeout, "the agent said nothing for %s and was stopped; prompt the session to go on, or set silent_after", limit)
	out := l.put(nil, terret.Event{Data: terret.DiagWarning{Text: "the agent has said nothing for " + limit.String() + " and is stopped"}})
	l.write(l.stopFor(why, out), nil)
}

// spoke notes that the agent gave a sign of life. l.mu must be held.
func (l *live) spoke(h *host) {
	if t := l.turn; t != nil && (t.host == nil || t.host == h) {
		t.heard = time.Now()
	}
}

// overLimit says why a running turn must end because of a limit, or nil. l.mu must be
// held.
func (l *live) overLimit() *terret.Error {
	t := l.turn
	if l.phase != running {
		return nil
	}
	if limit := t.in.MaxTurns; limit > 0 && t.steps > limit {
		return terret.Errorf(terret.CodeMaxTurns, "the agent took more than %d steps; raise max_turns to let it continue", limit)
	}
	spent := l.session.CostUSD + t.usage.CostUSD
	if limit := t.in.MaxCostUSD; limit > 0 && spent >= limit && t.usage.CostUSD > 0 {
		return overBudget(spent, limit)
	}
	return nil
}

func overBudget(spent, limit terret.Cost) *terret.Error {
	return terret.Errorf(terret.CodeMaxBudget, "the session has used $%s of its budget of $%s; raise max_cost to let it continue", spent, limit)
}

func (e *Engine) stopForeign(ctx context.Context, session string, how terret.InboxKind, by string) error {
	s, err := e.store.Session(ctx, session)
	if err != nil {
		return err
	}
	if s.Owner == "" || s.Turn == "" {
		return notRunning(session)
	}
	return e.peers.Send(ctx, session, how, by, remote.Wish{Turn: s.Turn})
}
