//go:build linux || darwin

package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	termPause   = 20 * time.Millisecond // between two looks while TERM has its time
	killPause   = 2 * time.Millisecond  // between the first two KILL rounds; then it grows
	killPauseUp = 50 * time.Millisecond
	groupRound  = 3                      // from this KILL round on whole groups are killed
	hopeless    = 500 * time.Millisecond // of KILL refused by the system: given up
)

// key identifies a process for longer than its pid does.
type key struct {
	pid   int
	start uint64
}

// ending is the progress of ending a tree: TERM once to each process, until the
// deadline, then KILL to all, again and again. Not safe for concurrent use.
type ending struct {
	deadline time.Time
	next     time.Time // when the next round is due
	termed   map[key]bool
	kills    int       // KILL rounds so far
	refused  time.Time // since when nothing but refusals came back; zero if not
}

func newEnding(deadline time.Time) *ending {
	return &ending{deadline: deadline, termed: map[key]bool{}}
}

func (e *ending) hasten(deadline time.Time) {
	if deadline.Before(e.deadline) {
		e.deadline = deadline
		e.next = time.Time{}
	}
}

// advance runs a round when one is due. It returns a timer for the next one and,
// when all that is left may not be signalled, how many those are.
func (e *ending) advance(tr *tracker) (timer <-chan time.Time, left int) {
	now := time.Now()
	if !now.Before(e.next) {
		targets := tr.descendants()
		left = e.round(now, targets)
		for _, t := range targets {
			t.close()
		}
		e.next = now.Add(e.pause(now))
	}
	return time.After(time.Until(e.next)), left
}

func (e *ending) pause(now time.Time) time.Duration {
	if now.Before(e.deadline) {
		return min(termPause, e.deadline.Sub(now))
	}
	return min(killPause*time.Duration(e.kills), killPauseUp)
}

// round signals the targets once. It returns their number when the system has
// refused KILL for all of them for long enough to give up, else zero.
func (e *ending) round(now time.Time, targets []target) (left int) {
	if now.Before(e.deadline) {
		for _, t := range targets {
			if k := t.key(); !e.termed[k] {
				e.termed[k] = true
				_ = t.signal(unix.SIGTERM)
				_ = t.signal(unix.SIGCONT) // a stopped process hears no TERM
			}
		}
		return 0
	}
	e.kills++
	refused := 0
	for _, t := range targets {
		if errors.Is(t.signal(unix.SIGKILL), unix.EPERM) {
			refused++
		}
		// A process that forks and ends at once can outrun a list of pids, but
		// not a signal to its group. Each group of a descendant holds nothing
		// but descendants: the guard leads a session of its own.
		if e.kills >= groupRound && t.groupSafe {
			_ = unix.Kill(-t.group, unix.SIGKILL)
		}
	}
	if refused == 0 || refused < len(targets) {
		e.refused = time.Time{}
		return 0
	}
	if e.refused.IsZero() {
		e.refused = now
	}
	if now.Sub(e.refused) < hopeless {
		return 0
	}
	return refused
}

// endAll ends what find returns, from outside the tree: TERM, KILL after grace,
// until find has returned nothing twice in a row (once, at the first look).
// Guards among the targets are left to end by themselves when the rest has, and
// are killed when they do not. It returns how many others were signalled.
func endAll(ctx context.Context, grace time.Duration, find func() ([]target, error)) (ended int, err error) {
	e := newEnding(time.Now().Add(grace))
	seen := map[key]bool{}
	for looks, empty := 0, 0; ; looks++ {
		targets, err := find()
		if err != nil {
			return len(seen), err
		}
		rest, guards := split(targets)
		for _, t := range rest {
			seen[t.key()] = true
		}
		now := time.Now()
		left := 0
		switch {
		case len(rest) > 0:
			left = e.round(now, rest)
		case len(guards) > 0:
			wake(guards, now.After(e.deadline))
		}
		for _, t := range targets {
			t.close()
		}
		if left > 0 {
			return len(seen) - left, fmt.Errorf("%d of %d marked processes: %w", left, len(seen), ErrLeft)
		}
		if empty++; len(targets) > 0 {
			empty = 0
		}
		if empty == 2 || empty == 1 && looks == 0 {
			return len(seen), nil
		}
		timer := time.NewTimer(max(e.pause(now), killPause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return len(seen), fmt.Errorf("end %d marked processes: %w", len(targets), ctx.Err())
		case <-timer.C:
		}
	}
}

func split(targets []target) (rest, guards []target) {
	for _, t := range targets {
		if t.guard {
			guards = append(guards, t)
		} else {
			rest = append(rest, t)
		}
	}
	return rest, guards
}

// wake lets stopped guards go on, or kills them when they had their time.
func wake(guards []target, overdue bool) {
	sig := unix.SIGCONT
	if overdue {
		sig = unix.SIGKILL
	}
	for _, t := range guards {
		_ = t.signal(sig)
	}
}

// endTree ends what carries the mark of a tree whose guard is lost. It takes no
// context: it must finish, and KILL bounds it.
func endTree(tree string, grace time.Duration) error {
	ours := func(m marks, _ int) bool { return m.tree == tree }
	none := func(marks, int) bool { return false }
	_, err := endAll(context.Background(), grace, func() ([]target, error) {
		return marked(ours, none)
	})
	if err != nil {
		return fmt.Errorf("end tree of process %d by its mark: %w", os.Getpid(), err)
	}
	return nil
}
