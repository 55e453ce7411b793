package engine

import (
	"slices"
	"sync"

	"github.com/terret-dev/terret"
)

// wanted knows at which gates connected programs want to decide.
type wanted struct {
	mu       sync.Mutex
	deciders map[*decider]struct{}
}

type decider struct {
	session string // empty means all
	gates   []terret.Gate
}

// Want makes the agents of a session, or of all sessions if that is empty, wait for a
// decision at those gates until release is called. An agent that does not ask at a gate
// yet will do so from its next turn on.
func (e *Engine) Want(session string, gates ...terret.Gate) (release func()) {
	d := &decider{session: session, gates: slices.Clone(gates)}
	w := &e.wanted
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deciders == nil {
		w.deciders = map[*decider]struct{}{}
	}
	w.deciders[d] = struct{}{}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		delete(w.deciders, d)
		w.mu.Unlock()
		e.unwanted(d)
	})
}

// unwanted decides what waits for a decider that has left, if nobody else wants to
// decide it.
func (e *Engine) unwanted(d *decider) {
	for _, l := range e.lives() {
		if d.session != "" && d.session != l.id {
			continue
		}
		for _, r := range l.openOf(func(r *request) bool {
			return isHook(r.ask.Gate) && slices.Contains(d.gates, r.ask.Gate) && !e.wants(l.id, r.host.in, r.ask.Gate)
		}) {
			e.giveUp(r, terret.ByChannel)
		}
	}
}

// wants reports whether somebody wants to decide at the gate.
func (e *Engine) wants(session string, in inForce, g terret.Gate) bool {
	return slices.Contains(in.gates, g) || slices.Contains(e.wanted.gates(session), g)
}

// gates lists the gates that are wanted now, sorted.
func (w *wanted) gates(session string) []terret.Gate {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []terret.Gate
	for d := range w.deciders {
		if d.session == "" || d.session == session {
			out = union(out, d.gates)
		}
	}
	slices.Sort(out)
	return out
}
