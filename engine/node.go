package engine

import (
	"errors"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/remote"
)

// Node is the name of this machine in a fleet, or empty if there is none.
func (e *Engine) Node() string { return e.cfg.Node }

// Elsewhere returns the node that has the session's folder, if it is not this one;
// otherwise it is empty.
func (e *Engine) Elsewhere(s terret.Session) string {
	if e.peers.Have(s) {
		return s.Node
	}
	return ""
}

// woken takes a session that somebody on another node has sent something to.
func (e *Engine) woken(item terret.InboxItem) {
	e.mu.Lock()
	busy := e.wakes[item.ID]
	e.wakes[item.ID] = true
	e.mu.Unlock()
	if busy {
		return
	}
	started := e.goBackground(func() {
		defer e.wakeEnded(item.ID)
		l, err := e.own(e.life, item.Session)
		switch {
		case err == nil:
			e.wakeUp(l, item)
		case !errors.Is(err, terret.ErrConflict) && e.life.Err() == nil:
			e.log.Warn("cannot take a session that another node asks for", "session", item.Session, "error", err)
		}
	})
	if !started {
		e.wakeEnded(item.ID)
	}
}

func (e *Engine) wakeEnded(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.wakes, id)
}

// wakeUp handles a wake item of a session that is ours.
func (e *Engine) wakeUp(l *live, item terret.InboxItem) {
	var w remote.Wake
	if err := unmarshal(item.Body, &w); err != nil {
		l.log.Warn("a request from another process cannot be read", "error", err)
	}
	if l.take(item.ID).Wait() == nil && w.Run {
		e.runQueue(l.id)
	}
}
