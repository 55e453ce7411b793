package engine

import (
	"context"
	"errors"
	"time"

	"github.com/terret-dev/terret"
)

// Interrupt stops the running turn and keeps the agent. It decides open requests first.
// A turn that does not end in time is killed. It returns when the agent has been told.
// If no turn is running, that is a conflict.
func (e *Engine) Interrupt(ctx context.Context, session, by string) error {
	return e.stop(ctx, session, terret.InboxInterrupt, by)
}

// Kill ends the running turn and the agent's processes by force, and returns when
// they are gone.
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
	e.stopLocal(ctx, l, t, how, by)
	return nil
}

func (e *Engine) stopLocal(ctx context.Context, l *live, t *turn, how terret.InboxKind, by string) {
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

// interruptAgent interrupts the agent, if it has the turn.
func (e *Engine) interruptAgent(l *live, t *turn) {
	l.mu.Lock()
	h := l.host
	if l.turn != t || t.host == nil || t.host != h {
		h = nil
	}
	l.mu.Unlock()
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(e.life, e.cfg.InterruptGrace)
	defer cancel()
	if err := h.agent.Interrupt(ctx, t.id); err != nil {
		l.log.Warn("could not interrupt the agent", "error", err)
	}
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

func (e *Engine) killAgent(ctx context.Context, l *live, h *host) {
	l.opening.Lock()
	defer l.opening.Unlock()
	ctx, cancel := context.WithTimeout(ctx, e.cfg.CloseGrace)
	defer cancel()
	var err error
	if k, ok := h.agent.(terret.Killer); ok {
		err = k.Kill(ctx)
	}
	err = errors.Join(err, h.agent.Close(ctx))
	h.end(errClosed)
	if err != nil {
		l.log.Warn("the agent was killed", "error", err)
	}
}

// closeAgent ends an agent politely. It decides the agent's requests first, so that the
// agent does not wait for them.
func (e *Engine) closeAgent(l *live, h *host) {
	l.opening.Lock()
	defer l.opening.Unlock()
	e.endAgent(l, h)
}

// endAgent does the work of closeAgent while l.opening is held.
func (e *Engine) endAgent(l *live, h *host) {
	for _, r := range l.openOf(func(r *request) bool { return r.host == h }) {
		e.giveUp(r, terret.ByAgentExit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.CloseGrace)
	defer cancel()
	if err := h.agent.Close(ctx); err != nil {
		l.log.Warn("the agent did not close cleanly", "error", err)
	}
	h.end(errClosed)
}
