package engine

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// Reasons to shut a session.
const (
	idleReaped = "idle_reaped"
	deleted    = "deleted"
)

// shut ends the session's agent and gives the session back. The reason, if any, goes
// into the log if there was an agent. It returns when the session is no longer ours.
// After the context ends it uses force.
func (e *Engine) shut(ctx context.Context, l *live, reason string) {
	l.mu.Lock()
	busy := l.phase != idle || l.closing || l.host != nil && len(l.host.tasks) > 0
	if reason == idleReaped && busy {
		l.mu.Unlock()
		return
	}
	first := !l.closing
	l.closing = true
	if l.stopOpening != nil {
		l.stopOpening(errGone)
	}
	l.mu.Unlock()
	e.stopAll(ctx, l, reason)
	if first {
		e.retire(l, reason)
	}
	<-l.left
}

// stopAll ends all activity in a session that is being closed, so that nothing new
// begins in it.
func (e *Engine) stopAll(ctx context.Context, l *live, reason string) {
	for {
		l.mu.Lock()
		now, t, resumed := l.phase, l.turn, l.resumed
		l.mu.Unlock()
		switch {
		case now == quiet: // it cannot be stopped half-way
			<-resumed
		case !now.inTurn():
			return
		case reason == deleted:
			e.killTurn(ctx, l, t, because(terret.CodeKilled, "killed because its session is deleted", ""))
		default:
			e.stopLocal(ctx, l, t, terret.InboxInterrupt, "")
			select {
			case <-t.done:
			case <-ctx.Done():
				e.killTurn(context.WithoutCancel(ctx), l, t, because(terret.CodeInterrupted, "interrupted because terret was shut down", ""))
			}
		}
	}
}

// retire closes the agent of a session in which nothing is going on and nothing may
// begin, logs that, and gives the session back.
func (e *Engine) retire(l *live, reason string) {
	l.mu.Lock()
	if l.phase != idle {
		l.mu.Unlock()
		return // its log failed: somebody is already giving it up
	}
	l.write(l.to(leaving, nil), nil)
	h := l.detach()
	l.mu.Unlock()
	l.parting.Wait() // the next owner must not meet an agent of ours
	l.opening.Lock() // whoever opens one closes it, since nobody wants it any more
	if h != nil {
		e.closeAgent(l, h)
	}
	l.opening.Unlock()
	l.mu.Lock()
	var out []terret.Event
	if reason != "" && h != nil {
		out = l.put(out, terret.Event{Data: terret.SessionEnd{Reason: reason}})
	}
	a := l.journal.Append(&journal.Write{Events: out})
	epoch := l.session.Epoch
	l.mu.Unlock()
	if err := a.Wait(); err != nil {
		l.log.Warn("could not log the end of the session", "error", err)
		if l.isBroken() {
			return // somebody is already giving it up
		}
	}
	if err := e.store.Release(context.Background(), l.id, epoch); err != nil {
		l.log.Warn("could not release the session", "error", err)
	}
	e.forget(l)
	if reason != deleted {
		e.reclaim(l)
	}
}

// forget ends our use of a session that was given back. What somebody still wanted to
// write is not written: the session may be ours again at once.
func (e *Engine) forget(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == gone { // it was lost while it was given back
		return
	}
	e.mu.Lock()
	if e.live[l.id] == l {
		delete(e.live, l.id)
	}
	e.mu.Unlock()
	l.to(gone, nil)
	l.journal.End(errGone) // two batches for one session would fail a whole commit
}

// abandon stops the agent of a session whose log failed, and gives the session back, so
// that the next owner can clean up.
func (e *Engine) abandon(l *live) {
	l.mu.Lock()
	why, epoch, t := l.why, l.session.Epoch, l.turn
	h := l.detach()
	for _, r := range l.open {
		r.fail(why)
	}
	l.mu.Unlock()
	if t != nil {
		t.cancel(why)
	}
	if h != nil {
		e.killAgent(context.Background(), l, h)
	}
	if t != nil {
		l.mu.Lock()
		l.turn = nil
		l.mu.Unlock()
		t.over()
	}
	if !errors.Is(why, terret.ErrFenced) {
		if err := e.store.Release(context.Background(), l.id, epoch); err != nil {
			l.log.Warn("could not release the session", "error", err)
		}
	}
	e.forget(l)
}

// Failed implements journal.Owner. It gives up on the session: it writes nothing more,
// tells whoever waits, and stops the agent. The log stays as it is; the next owner cleans
// up.
func (l *live) Failed(err error) {
	l.mu.Lock()
	first := l.breakOff(err)
	l.mu.Unlock()
	if !first {
		return
	}
	if errors.Is(err, terret.ErrFenced) {
		l.log.Warn("another process took over the session")
	} else {
		l.log.Error("session failed", "error", err)
		l.e.hub.Fail(l.id, err)
	}
	if !l.e.goBackground(func() { l.e.abandon(l) }) {
		l.e.abandon(l)
	}
}

// breakOff stops writing to the log, and reports whether it was this call that did.
// l.mu must be held; if it reports true, the caller must abandon the session.
func (l *live) breakOff(err error) bool {
	first := l.why == nil && l.phase != gone
	if first {
		l.why = err
		l.to(broken, nil)
	}
	l.journal.End(err)
	return first
}

func (l *live) illegal(next phase) {
	err := terret.Errorf(terret.CodeInternal, "session %s cannot go from %s to %s", l.id, l.phase, next)
	if flag.Lookup("test.v") != nil {
		panic(err)
	}
	l.log.Error("bug: illegal transition", "error", err)
	if l.breakOff(err) {
		l.e.goBackground(func() { l.e.abandon(l) })
	}
}

// startIdleTimer closes the agent after some time without a turn. l.mu must be held.
func (l *live) startIdleTimer() {
	l.stopIdleTimer()
	if after := l.e.cfg.IdleAfter; after > 0 && l.phase == idle && !l.closing {
		l.idleTimer = time.AfterFunc(after, func() {
			l.e.goBackground(func() { l.e.shut(context.Background(), l, idleReaped) })
		})
	}
}

func (l *live) stopIdleTimer() {
	if l.idleTimer != nil {
		l.idleTimer.Stop()
		l.idleTimer = nil
	}
}
