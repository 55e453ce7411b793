package engine

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/terret-dev/terret"
)

// ringEntries bounds how far a subscriber may lag behind before it is cut to
// replay from the store.
const ringEntries = 1024

// hub tells subscribers what was committed. A subscriber that is slow loses its
// place in the ring and reads from the store instead: it never holds anybody up,
// and it never misses anything.
type hub struct {
	e *Engine

	mu     sync.Mutex
	subs   map[string]map[*subscriber]struct{} // by session
	all    map[*subscriber]struct{}
	closed bool
}

// subscriber waits for entries of one session, or of all.
type subscriber struct {
	mu   sync.Mutex
	ring []terret.Entry
	lost bool  // the ring overflowed: read from the store
	end  error // why there is nothing more to come
	wake chan struct{}
}

func (h *hub) init(e *Engine) {
	h.e = e
	h.subs = map[string]map[*subscriber]struct{}{}
	h.all = map[*subscriber]struct{}{}
}

// publish hands entries that were just committed to whoever watches the session.
func (h *hub) publish(session string, entries []terret.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[session] {
		s.push(entries)
	}
	for s := range h.all {
		s.push(nil)
	}
}

// wakeForeign wakes subscribers of sessions that other processes own: something
// was committed, and they must look for themselves.
func (h *hub) wakeForeign(owned func(session string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for session, subs := range h.subs {
		if owned(session) {
			continue
		}
		for s := range subs {
			s.push(nil)
		}
	}
	for s := range h.all {
		s.push(nil)
	}
}

// watching reports whether anybody watches anything.
func (h *hub) watching() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)+len(h.all) > 0
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, subs := range h.subs {
		for s := range subs {
			s.push(nil)
		}
	}
	for s := range h.all {
		s.push(nil)
	}
}

// subscribe adds a subscriber of a session, or of all if it is empty.
func (h *hub) subscribe(session string) *subscriber {
	s := &subscriber{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if session == "" {
		h.all[s] = struct{}{}
		return s
	}
	if h.subs[session] == nil {
		h.subs[session] = map[*subscriber]struct{}{}
	}
	h.subs[session][s] = struct{}{}
	return s
}

func (h *hub) unsubscribe(session string, s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, s)
	delete(h.subs[session], s)
	if len(h.subs[session]) == 0 {
		delete(h.subs, session)
	}
}

func (h *hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// fail ends the streams of a session whose log takes nothing more.
func (h *hub) fail(session string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[session] {
		s.mu.Lock()
		s.end = err
		s.mu.Unlock()
		s.push(nil)
	}
}

// ended says why nothing more will come, if that is so. It is asked before the
// store is: what was committed before is still yielded.
func (h *hub) ended(s *subscriber) error {
	if h.isClosed() {
		return errClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// await blocks until the subscriber is woken.
func (h *hub) await(ctx context.Context, s *subscriber, ended error) error {
	if ended != nil {
		return ended
	}
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *subscriber) push(entries []terret.Entry) {
	s.mu.Lock()
	if len(s.ring)+len(entries) > ringEntries || s.gap(entries) {
		s.ring, s.lost = nil, true
	}
	if !s.lost {
		s.ring = append(s.ring, entries...)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// gap reports whether others have written in between, while the session was theirs.
func (s *subscriber) gap(entries []terret.Entry) bool {
	return len(s.ring) > 0 && len(entries) > 0 && entries[0].Seq != s.ring[len(s.ring)-1].Seq+1
}

// take returns what is in the ring if it goes on directly after that number, and
// whether the store must be read instead.
func (s *subscriber) take(after int64) (entries []terret.Entry, read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, read = s.ring, s.lost
	s.ring, s.lost = nil, false
	for len(entries) > 0 && entries[0].Seq <= after {
		entries = entries[1:]
	}
	if len(entries) == 0 || entries[0].Seq != after+1 {
		return nil, true
	}
	return entries, read
}

// EventQuery selects what a stream yields.
type EventQuery struct {
	Session string
	After   int64 // only events with a greater number
	Raw     bool
	// Follow goes on with what is committed from now on; without it the stream
	// ends with the history.
	Follow bool
}

// Events yields the session's events after a number: history first, then live,
// without gap or duplicate. The error comes last and once; a stream that is not
// followed ends without. Breaking off the loop unsubscribes. Nothing happens
// before the first pull.
func (e *Engine) Events(ctx context.Context, q EventQuery) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		sub := e.hub.subscribe(q.Session)
		defer e.hub.unsubscribe(q.Session, sub)
		e.watch.poke()
		after := q.After
		read := true
		for {
			ended := e.hub.ended(sub)
			entries, more, err := e.nextEntries(ctx, q, sub, after, read)
			if err != nil {
				yield(terret.Entry{}, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
				after = entry.Seq
			}
			if read = more; more {
				continue
			}
			if !q.Follow {
				return
			}
			if err := e.hub.await(ctx, sub, ended); err != nil {
				yield(terret.Entry{}, err)
				return
			}
		}
	}
}

// nextEntries returns what comes next: from the ring where it can, else a page of
// the store. more says that there may be more in the store.
func (e *Engine) nextEntries(ctx context.Context, q EventQuery, sub *subscriber, after int64, read bool) (entries []terret.Entry, more bool, err error) {
	if !read {
		if entries, read = sub.take(after); len(entries) > 0 {
			if !q.Raw {
				entries = withoutRaw(entries)
			}
			return entries, read, nil
		}
	}
	entries, err = e.store.Read(ctx, terret.ReadQuery{Session: q.Session, After: after, Raw: q.Raw})
	return entries, len(entries) > 0, orCause(ctx, err)
}

// entries yields the events of some kinds that are in the session's log now.
func (e *Engine) entries(ctx context.Context, session string, kinds ...terret.Kind) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		for after := int64(0); ; {
			page, err := e.store.Read(ctx, terret.ReadQuery{Session: session, After: after, Kinds: kinds})
			if err != nil {
				yield(terret.Entry{}, err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
				after = entry.Seq
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// orCause is why the context ended, where that is what the error is about.
func orCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func withoutRaw(entries []terret.Entry) []terret.Entry {
	for i := range entries {
		if entries[i].Raw != nil {
			out := make([]terret.Entry, len(entries))
			copy(out, entries)
			for j := range out {
				out[j].Raw = nil
			}
			return out
		}
	}
	return entries
}

// AllEvents yields the events of several or, with nil, all sessions, after a
// position, in the order in which they were committed; otherwise it is as Events.
func (e *Engine) AllEvents(ctx context.Context, after int64, sessions []string, follow bool) iter.Seq2[terret.Entry, error] {
	return func(yield func(terret.Entry, error) bool) {
		sub := e.hub.subscribe("")
		defer e.hub.unsubscribe("", sub)
		e.watch.poke()
		for {
			ended := e.hub.ended(sub)
			entries, err := e.store.ReadAll(ctx, terret.ReadAllQuery{After: after, Sessions: sessions})
			if err != nil {
				yield(terret.Entry{}, orCause(ctx, err))
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
				after = entry.Pos
			}
			if len(entries) > 0 {
				continue
			}
			if !follow {
				return
			}
			if err := e.hub.await(ctx, sub, ended); err != nil {
				yield(terret.Entry{}, err)
				return
			}
		}
	}
}

// IsClosed reports whether err says that the engine was closed.
func IsClosed(err error) bool { return errors.Is(err, errClosed) }
