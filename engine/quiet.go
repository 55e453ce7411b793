package engine

import (
	"context"

	"github.com/terret-dev/terret"
)

// quietly runs fn while nothing else happens in the session: no turn runs, none begins,
// and what the agent says of one waits. What says in an error what fn does. The queue goes
// on afterwards.
func (e *Engine) quietly(ctx context.Context, session, what string, fn func(*live) error) error {
	return orForeign(e.on(ctx, session, func(l *live) error {
		if err := l.beQuiet(what); err != nil {
			return err
		}
		defer func() {
			l.resume()
			e.goBackground(func() { e.next(l) })
		}()
		return fn(l)
	}))
}

// Quietly runs fn while no turn runs in a session and none begins, as for what moves or
// removes its folder. It waits for no turn: while one runs, the session is busy. What says
// in an error what fn does. If another process owns the session, that is a conflict.
func (e *Engine) Quietly(ctx context.Context, session, what string, fn func() error) error {
	return e.quietly(ctx, session, what, func(*live) error { return fn() })
}

func (l *live) beQuiet(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.unusable(); err != nil {
		return err
	}
	if l.phase != idle {
		return terret.Errorf(terret.CodeSessionBusy, "a turn is running in session %s; stop it before you %s", l.id, what)
	}
	l.resumed = make(chan struct{})
	l.write(l.to(quiet, nil), nil)
	return nil
}

func (l *live) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = false        // what told the agent may be undone
	if l.phase == quiet { // otherwise the log failed
		l.write(l.to(idle, nil), nil)
		l.writeHeld()
	}
	close(l.resumed)
}
