// Package hub streams what was committed to readers: history from the log first, then
// live, without gaps or duplicates.
//
// Whoever commits calls [Hub.Publish] after the commit. What other processes commit is
// not published here: [Hub.WakeOthers] makes the readers of their sessions look at the
// log.
//
// # Slow readers
//
// A live reader gets the published entries themselves. All readers share them: nobody
// may change them. A reader that falls behind keeps at most 1024 entries and 1 MiB;
// beyond that it falls back to replay: it keeps nothing and reads the log when it comes
// back. So a reader never holds anybody up, and never misses anything.
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

// Hub connects committers with readers. It is safe for concurrent use.
type Hub struct {
	log  Reader
	poke func()

	mu     sync.Mutex
	subs   map[string]map[*subscriber]struct{} // by session
	closed bool
}

// New makes a hub over a log. It calls poke whenever somebody starts watching, so that
// its owner can start looking for what other processes commit.
func New(log Reader, poke func()) *Hub {
	return &Hub{log: log, poke: poke, subs: map[string]map[*subscriber]struct{}{}}
}

// Publish passes entries of a session to its readers. They must have just been
// committed, and nobody may change them from then on. Entries of one session must be
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

// Wake makes the session's readers look at the log, for instance after its deletion.
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

// WakeOthers makes the readers of sessions that are not owned here look at the log:
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

// Watching reports whether there is any live reader.
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
// later yield the history first. It is idempotent.
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

// subscribe adds a subscriber of those sessions, or of all if none is given.
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
