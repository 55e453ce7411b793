package hub

import (
	"context"
	"iter"

	"github.com/terret-dev/terret"
)

// Query selects what a stream of one session yields.
type Query struct {
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
	Follow    bool     // this and the others as those of Query
	PageBytes int
	Places    chan struct{}
}

// Events yields the session's events after a number: history first, then live, without
// gaps or duplicates. The error comes last and once; a stream that does not follow ends
// without one. Leaving the loop unsubscribes. Nothing happens before the first pull.
func (h *Hub) Events(ctx context.Context, q Query) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		read := terret.ReadQuery{Session: q.Session, After: q.After, Raw: q.Raw, Bytes: q.PageBytes}
		if !q.Follow {
			drain(ctx, inPlace(q.Places, h.history(read)), yield)
			return
		}
		if !q.Raw { // the log omits it, but published entries may have it
			yield = withoutRaw(yield)
		}
		s := h.subscribe(true, q.Session)
		defer h.unsubscribe(s)
		follow(ctx, s, h.live(s, read, q.Places), yield)
	}
}

// All yields the events of several or, with nil, all sessions after a position, in the
// order in which they were committed; otherwise it is like Events.
func (h *Hub) All(ctx context.Context, q AllQuery) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		next := inPlace(q.Places, h.everything(terret.ReadAllQuery{After: q.After, Sessions: q.Sessions, Bytes: q.PageBytes}))
		if !q.Follow {
			drain(ctx, next, yield)
			return
		}
		s := h.subscribe(false, q.Sessions...)
		defer h.unsubscribe(s)
		follow(ctx, s, next, yield)
	}
}

// Entries yields the events of some kinds that are in the session's log now.
func (h *Hub) Entries(ctx context.Context, session string, kinds ...terret.Kind) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		drain(ctx, h.history(terret.ReadQuery{Session: session, Kinds: kinds}), yield)
	}
}

// source returns the entries that come next, or none if there are none now.
type source func(ctx context.Context) ([]terret.Entry, error)

// inPlace is a source that is asked only while there is a place for it.
func inPlace(places chan struct{}, next source) source {
	if places == nil {
		return next
	}
	return func(ctx context.Context) ([]terret.Entry, error) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			return next(ctx)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// history is what is in the log of a session.
func (h *Hub) history(q terret.ReadQuery) source {
	return func(ctx context.Context) ([]terret.Entry, error) {
		page, err := h.log.Read(ctx, q)
		if n := len(page); n > 0 {
			q.After = page[n-1].Seq
		}
		return page, err
	}
}

// everything reads the logs of several sessions.
func (h *Hub) everything(q terret.ReadAllQuery) source {
	return func(ctx context.Context) ([]terret.Entry, error) {
		page, err := h.log.ReadAll(ctx, q)
		if n := len(page); n > 0 {
			q.After = page[n-1].Pos
		}
		return page, err
	}
}

// live is what is in the subscriber's ring, or else in the log where that may have
// more: until it was read to its end, and again after the subscriber was cut to replay.
func (h *Hub) live(s *subscriber, q terret.ReadQuery, places chan struct{}) source {
	replay := true
	history := inPlace(places, func(ctx context.Context) ([]terret.Entry, error) { return h.log.Read(ctx, q) })
	return func(ctx context.Context) (entries []terret.Entry, err error) {
		entries, read := s.next(q.After)
		switch {
		case len(entries) > 0:
			replay = false
		case read || replay:
			entries, err = history(ctx)
			replay = len(entries) > 0
		}
		if n := len(entries); n > 0 {
			q.After = entries[n-1].Seq
		}
		return entries, err
	}
}

// drain yields what comes next until there is nothing more. It reports false if the
// reader has left or something failed.
func drain(ctx context.Context, next source, yield func(terret.Entry, error) bool) bool {
	for {
		entries, err := next(ctx)
		if ctx.Err() != nil { // checked here because a fast writer always has more
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(terret.Entry{}, err)
			return false
		}
		if len(entries) == 0 {
			return true
		}
		for _, entry := range entries {
			if !yield(entry, nil) {
				return false
			}
		}
	}
}

// follow yields what comes next until the reader leaves, the context ends or the
// subscriber's stream is ended.
func follow(ctx context.Context, s *subscriber, next source, yield func(terret.Entry, error) bool) {
	for {
		end := s.ended() // before drain, so that everything published before the end is yielded
		if !drain(ctx, next, yield) {
			return
		}
		if end == nil {
			end = s.await(ctx)
		}
		if end != nil {
			yield(terret.Entry{}, end)
			return
		}
	}
}

func withoutRaw(yield func(terret.Entry, error) bool) func(terret.Entry, error) bool {
	return func(e terret.Entry, err error) bool {
		e.Raw = nil
		return yield(e, err)
	}
}
