package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/hub"
)

// EventQuery selects what a stream yields.
type EventQuery struct {
	Session string
	After   int64 // only events with a greater number
	Raw     bool  // include the agent's own messages
	// Follow continues with what is committed from now on; without it the stream ends
	// after the history.
	Follow bool
	// PageBytes is how much of the log is read at a time, about; zero means what the
	// store finds sensible.
	PageBytes int
	// Places, if it is set, bounds how many streams read the log at a time: one has a
	// place in it while it reads a page.
	Places chan struct{}
}

// AllQuery selects what a stream of several sessions yields.
type AllQuery struct {
	After     int64    // only events with a greater position
	Sessions  []string // nil means all
	Follow    bool     // this and the others as those of EventQuery
	PageBytes int
	Places    chan struct{}
}

// Events yields the session's events after a number: history first, then live, without
// gaps or duplicates. The error comes last and once; a stream that does not follow ends
// without one. Leaving the loop unsubscribes. Nothing happens before the first pull.
func (e *Engine) Events(ctx context.Context, q EventQuery) iter.Seq2[terret.Entry, error] {
	return e.hub.Events(ctx, hub.Query(q))
}

// AllEvents yields the events of several or, with nil, all sessions, after a
// position, in the order in which they were committed; otherwise it is as Events.
func (e *Engine) AllEvents(ctx context.Context, q AllQuery) iter.Seq2[terret.Entry, error] {
	return e.hub.All(ctx, hub.AllQuery(q))
}

// history yields the logs of the sessions that a session was forked from, the oldest
// first, and then its own. It is an error if one of them is gone.
func (e *Engine) history(ctx context.Context, s terret.Session) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		line := []string{s.ID}
		for s.ForkedFrom != "" && !slices.Contains(line, s.ForkedFrom) {
			from, err := e.store.Session(ctx, s.ForkedFrom)
			if err != nil {
				yield(terret.Entry{}, err)
				return
			}
			s, line = from, append(line, from.ID)
		}
		for _, id := range slices.Backward(line) {
			for entry, err := range e.Events(ctx, EventQuery{Session: id}) {
				if !yield(entry, err) || err != nil {
					return
				}
			}
		}
	}
}

// IsClosed reports whether err says that the engine was closed.
func IsClosed(err error) bool { return errors.Is(err, hub.ErrClosed) }
