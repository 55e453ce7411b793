package engine

import (
	"context"
	"errors"

	"github.com/terret-dev/terret"
)

// In a fleet a session belongs to the node that has its folder. Only that node runs its
// agent; others reach it by the inbox. Any node may end what a dead one has begun, since
// that is about the log.

// elsewhere reports whether the session's folder is on another node.
func (e *Engine) elsewhere(s terret.Session) bool {
	return e.cfg.Node != "" && s.Node != "" && s.Node != e.cfg.Node
}

// Node is the name of this machine in a fleet, or empty if there is none.
func (e *Engine) Node() string { return e.cfg.Node }

// Elsewhere returns the node that has the session's folder, if it is not this one;
// otherwise it is empty.
func (e *Engine) Elsewhere(s terret.Session) string {
	if e.elsewhere(s) {
		return s.Node
	}
	return ""
}

// here refuses a session whose folder is on another node.
func (e *Engine) here(ctx context.Context, id string) error {
	if e.cfg.Node == "" {
		return nil
	}
	s, err := e.store.Session(ctx, id)
	if err == nil && e.elsewhere(s) {
		err = nodeError{terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which has its folder %s; do this on %[2]s, or over HTTP or in the browser on any node", id, s.Node, s.Cwd)}
	}
	return err
}

// nodeError says that the session belongs to another node.
type nodeError struct{ error }

func (e nodeError) Unwrap() error { return e.error }

// reachable refuses a session of a node that does not run: nobody would see what is sent
// to it.
func (e *Engine) reachable(ctx context.Context, s terret.Session) error {
	if s.Owner != "" {
		return nil
	}
	return e.takesPrompts(ctx, s)
}

// takesPrompts refuses also a session of a node that finishes, which takes nothing new even
// for sessions that it owns.
func (e *Engine) takesPrompts(ctx context.Context, s terret.Session) error {
	fleet, ok := e.store.(terret.Fleet)
	if !ok || !e.elsewhere(s) {
		return nil
	}
	nodes, err := fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		switch {
		case n.Name == s.Node && n.Draining:
			return terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which finishes and stops; try again when it is back", s.ID, s.Node)
		case n.Name == s.Node:
			return nil
		}
	}
	if s.Owner != "" { // by a process that is no node, such as a command line
		return nil
	}
	return terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which does not run; start terret there, and try again", s.ID, s.Node)
}

// waking is the body of a wake item.
type waking struct {
	Run bool `json:"run,omitempty"` // the queue, too
}

// rouse asks the node that has the session's folder to take the session, so that it sees
// what was sent to it.
func (e *Engine) rouse(ctx context.Context, s terret.Session, run bool) error {
	if !e.elsewhere(s) {
		return nil
	}
	return e.send(ctx, s.ID, terret.InboxWake, "", waking{run})
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
	var w waking
	if err := unmarshal(item.Body, &w); err != nil {
		l.log.Warn("a request from another process cannot be read", "error", err)
	}
	if l.take(item.ID).Wait() == nil && w.Run {
		e.runQueue(l.id)
	}
}
