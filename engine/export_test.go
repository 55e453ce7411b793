package engine

import (
	"context"
	"log/slog"
	"slices"

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

// LookAgain makes the engine look at what is in the store for its sessions.
func LookAgain(e *Engine) { e.watch.LookAgain() }

// Next starts the session's first queued prompt, if it can.
func Next(e *Engine, session string) { e.next(e.mine(session)) }

// Killer returns what kills the session's present turn, at any time.
func Killer(e *Engine, session string) func() {
	l := e.mine(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.turn
	return func() { e.killTurn(context.Background(), l, t, because(terret.CodeKilled, "killed late", "")) }
}

// Writer returns what writes to the session as it is ours now, at any time.
func Writer(e *Engine, session string) func() error {
	l := e.mine(session)
	return func() error { return l.take(terret.NewID(terret.PrefixControl)).Wait() }
}

// Fence takes the session from the engine, as if its lease were lost, and waits until the
// engine has given it up.
func Fence(e *Engine, session string) {
	l := e.mine(session)
	l.Failed(terret.ErrFenced)
	<-l.left
}

// Trace tells of the transitions of all sessions, as "from → to". It must be called
// before the first session is used.
func Trace(e *Engine, tell func(edge string)) {
	e.trace = func(from, to phase) { tell(edge(from, to)) }
}

func edge(from, to phase) string { return from.String() + " → " + to.String() }

// Edges lists all transitions that there are.
func Edges() []string {
	var out []string
	for from, next := range edges {
		for _, to := range next {
			out = append(out, edge(from, to))
		}
	}
	slices.Sort(out)
	return out
}

// TryEdge makes the transition on a session that is in that phase, and reports
// whether it panics. The phases are given by their numbers.
func TryEdge(from, to int) (name string, panics bool) {
	e := &Engine{log: slog.New(slog.DiscardHandler)}
	e.life, e.end = context.WithCancelCause(context.Background())
	defer e.end(nil)
	l := &live{e: e, log: e.log, phase: phase(from), left: make(chan struct{}), turn: &turn{}}
	defer func() { panics = recover() != nil }()
	name = edge(phase(from), phase(to))
	l.to(phase(to), nil)
	return name, false
}

// Phases is how many there are.
const Phases = int(gone) + 1
