package engine

import (
	"context"

	"github.com/terret-dev/terret"
)

// Stopping reports whether the session's turn has been told to stop.
func Stopping(e *Engine, session string) bool {
	l := e.mine(session)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turn != nil && l.turn.stop != nil
}

// Killer returns what kills the session's present turn, at any time.
func Killer(e *Engine, session string) func() {
	l := e.mine(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.turn
	return func() { e.killTurn(context.Background(), l, t, because(terret.CodeKilled, "killed late", "")) }
}
