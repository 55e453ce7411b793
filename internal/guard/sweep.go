//go:build linux || darwin

package guard

import (
	"context"
	"fmt"
	"os"
)

// Sweep ends the processes of this user that carry the mark of an owner that is
// gone, and their descendants: TERM, KILL after 2 s, until none is
// found. What is left in the control group of such an owner is killed. It is the net
// for a harness and a guard that were both killed. It
// returns how many processes it ended; with nothing to end it takes one look at
// the process table. ctx bounds the call.
//
// A process whose owner lives is never touched, nor anything below it, nor the
// caller and its ancestors. Sweep may run in several processes at a time.
func Sweep(ctx context.Context) (ended int, err error) {
	if err := tableIsOurs(); err != nil {
		return 0, fmt.Errorf("sweep for orphaned agents: %w", err)
	}
	ended, err = endAll(ctx, defaultGrace, orphans)
	ended += sweepCgroups(ownerAlive)
	if err != nil {
		return ended, fmt.Errorf("sweep for orphaned agents: %w", err)
	}
	return ended, nil
}

// orphans returns what Sweep ends.
func orphans() ([]target, error) {
	space := pidSpace()
	alive := map[owner]bool{} // of this look only: owners die
	lives := func(m marks, pid int) bool {
		// A pid of another namespace says nothing here: count it as alive.
		if m.space != space && (m.space != "" || spaceOf(pid) != space) {
			return true
		}
		o := m.owner
		o.worker = ""
		known, ok := alive[o]
		if !ok {
			known = ownerAlive(o)
			alive[o] = known
		}
		return known
	}
	gone := func(m marks, pid int) bool { return !lives(m, pid) }
	return marked(gone, lives)
}

// ownerAlive counts an owner that cannot be looked at as alive.
func ownerAlive(o owner) bool {
	t, err := inspect(o.pid)
	if err != nil {
		return !missing(err)
	}
	return t.start == o.start
}

// selfMark is the owner mark of the calling process.
func selfMark(worker string) (owner, error) {
	if worker == "" {
		worker = "terret"
	}
	t, err := inspect(os.Getpid())
	if err != nil {
		return owner{}, err
	}
	return owner{worker: worker, pid: t.pid, start: t.start}, nil
}
