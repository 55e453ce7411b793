package desk

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

// Want adds somebody who wants to decide at those gates of a session, or of all sessions
// if that is empty, until leave is called.
func (d *Desk) Want(session string, gates []terret.Gate) (leave func()) {
	w, one := &d.wanted, &decider{session: session, gates: gates}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deciders == nil {
		w.deciders = map[*decider]struct{}{}
	}
	w.deciders[one] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.deciders, one)
	}
}

// Wants reports whether somebody wants to decide at the gate.
func (d *Desk) Wants(session string, in InForce, g terret.Gate) bool {
	return slices.Contains(in.gates, g) || slices.Contains(d.wanted.gates(session), g)
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
