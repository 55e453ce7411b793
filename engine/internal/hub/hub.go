// Package hub tells readers what was committed: history from the log first, then
// live, without gap or duplicate.
//
// Whoever commits calls [Hub.Publish] after the commit. What other processes commit is
// not published here: [Hub.WakeOthers] makes the readers of their sessions look at the
// log.
//
// # Slow readers
//
// A live reader gets the very entries that were published. They are shared by all
// readers: nobody may change them. A reader that lags behind keeps at most 1024 entries
// and 1 MiB; with more it is cut to replay, which means that it keeps nothing and reads
// the log when it comes back. So a reader never holds anybody up, and never misses
// anything.
//
// # Goroutines
//
// The hub has none. A stream runs in the goroutine that ranges over it, and leaves
// nothing behind when the loop ends. [Hub.Close] ends all streams and does not wait for
// them.
package hub

import (
	"context"
	"errors"
	"sync"

	"github.com/terret-dev/terret"
)

// ErrClosed ends the streams of a hub that was closed.
var ErrClosed = errors.New("the engine is closed")

// everySession is the key of readers of all sessions.
const everySession = ""

// Reader reads the log. Every terret.Store is one.
type Reader interface {
	Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error)
	ReadAll(ctx context.Context, q terret.ReadAllQuery) ([]terret.Entry, error)
}

// Hub connects those who commit with those who read. It is safe for concurrent use.
type Hub struct {
	log  Reader
	poke func()

	mu     sync.Mutex
	subs   map[string]map[*subscriber]struct{} // by session
	closed bool
}

// New makes a hub over a log. It calls poke whenever somebody begins to watch, so that
// its owner can begin to look for what other processes commit.
func New(log Reader, poke func()) *Hub {
	return &Hub{log: log, poke: poke, subs: map[string]map[*subscriber]struct{}{}}
}

// Publish hands entries of a session to whoever watches it. They must have just been
// committed, and nobody may change them any more. Entries of one session must be
// published in order, by one caller at a time. It never blocks on a reader.
func (h *Hub) Publish(session string, entries []terret.Entry) {
	if len(entries) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if subs := h.subs[session]; len(subs) > 0 {
		size := sizeOf(entries)
		for s := range subs {
			s.push(entries, size)
		}
	}
	for s := range h.subs[everySession] {
		s.lookAgain()
	}
}

// Wake makes whoever watches the session look at the log, as after its deletion.
func (h *Hub) Wake(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[session] {
		s.lookAgain()
	}
	for s := range h.subs[everySession] {
		s.lookAgain()
	}
}

// WakeOthers makes whoever watches a session that is not owned here look at the log:
// another process may have committed something. It calls owned with its lock held, so
// owned must not call the hub.
func (h *Hub) WakeOthers(owned func(session string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for session, subs := range h.subs {
		if session != everySession && owned(session) {
			continue
		}
		for s := range subs {
			s.lookAgain()
		}
	}
}

// Watching reports whether anybody follows anything.
func (h *Hub) Watching() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs) > 0
}

// Fail ends the streams of a session that can commit nothing more. They first yield
// what was published.
func (h *Hub) Fail(session string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[session] {
		if s.live {
			s.finish(err)
		}
	}
}

// Close ends all streams with ErrClosed, after what was published. Streams that begin
// later yield the history before that. It is idempotent.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, subs := range h.subs {
		for s := range subs {
			s.finish(ErrClosed)
		}
	}
}

// subscribe adds a subscriber of those sessions, or of all if there are none.
func (h *Hub) subscribe(live bool, sessions ...string) *subscriber {
	if len(sessions) == 0 {
		sessions = []string{everySession}
	}
	s := &subscriber{sessions: sessions, live: live, wake: make(chan struct{}, 1)}
	if !h.add(s) {
		s.end = ErrClosed
	} else {
		h.poke()
	}
	return s
}

// add reports whether the hub is open.
func (h *Hub) add(s *subscriber) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	for _, session := range s.sessions {
		if h.subs[session] == nil {
			h.subs[session] = map[*subscriber]struct{}{}
		}
		h.subs[session][s] = struct{}{}
	}
	return true
}

func (h *Hub) unsubscribe(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, session := range s.sessions {
		delete(h.subs[session], s)
		if len(h.subs[session]) == 0 {
			delete(h.subs, session)
		}
	}
}
