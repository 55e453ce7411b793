package engine

import (
	"context"
	"errors"
	"iter"

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
}

// Events yields the session's events after a number: history first, then live, without
// gaps or duplicates. The error comes last and once; a stream that does not follow ends
// without one. Leaving the loop unsubscribes. Nothing happens before the first pull.
func (e *Engine) Events(ctx context.Context, q EventQuery) iter.Seq2[terret.Entry, error] {
	return e.hub.Events(ctx, hub.Query(q))
}

// AllEvents yields the events of several sessions, or of all if nil, after a position,
// in commit order; otherwise it works like Events.
func (e *Engine) AllEvents(ctx context.Context, after int64, sessions []string, follow bool) iter.Seq2[terret.Entry, error] {
	return e.hub.All(ctx, after, sessions, follow)
}

// IsClosed reports whether err says that the engine was closed.
func IsClosed(err error) bool { return errors.Is(err, hub.ErrClosed) }
