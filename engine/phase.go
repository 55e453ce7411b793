package engine

import (
	"flag"
	"slices"

	"github.com/terret-dev/terret"
)

// phase is the phase of a session that this process owns. The package comment has the
// table; only [live.to] changes it.
type phase uint8

const (
	idle     phase = iota // no turn
	starting              // turn.start is written; the agent is being opened and prompted
	running               // the agent has the turn
	stopping              // the turn must end; the agent was told, or is being killed
	settling              // the agent is done; the rest of the turn is being written
	quiet                 // nothing may happen: somebody changes the folder, or moves the session
	leaving               // the agent is being closed and the session given back
	broken                // nothing more can be written
	gone                  // no longer ours
)

// edges lists which phases may follow each phase.
var edges = map[phase][]phase{
	idle:     {starting, running, quiet, leaving, broken},
	starting: {running, stopping, settling, broken},
	running:  {stopping, settling, broken},
	stopping: {settling, broken},
	settling: {idle, broken},
	quiet:    {idle, broken},
	leaving:  {gone, broken},
	broken:   {gone},
	gone:     {},
}

func (p phase) String() string {
	return [...]string{"idle", "starting", "running", "stopping", "settling", "quiet", "leaving", "broken", "gone"}[p]
}

// inTurn reports whether a turn is in progress.
func (p phase) inTurn() bool { return p == starting || p == running || p == stopping || p == settling }

// to moves the session to another phase and appends the session's new state to out, if
// it changed. l.mu must be held. Set what the phase depends on (the turn, why it stops,
// why the log is broken) first.
//
// An edge that does not exist is a bug: it panics in tests, and otherwise fails the
// session, which the next owner cleans up.
func (l *live) to(next phase, out []terret.Event) []terret.Event {
	if !slices.Contains(edges[l.phase], next) {
		l.illegal(next)
		return out
	}
	if l.e.trace != nil {
		l.e.trace(l.phase, next)
	}
	l.phase = next
	l.stopIdleTimer()
	switch next {
	case idle:
		l.turn, l.doing = nil, ""
		l.startIdleTimer()
	case gone:
		close(l.left)
	case broken:
		return out // nothing can be written
	case starting, running, stopping, settling, quiet, leaving:
	}
	return l.show(out)
}

func (l *live) illegal(next phase) {
	err := terret.Errorf(terret.CodeInternal, "session %s cannot go from %s to %s", l.id, l.phase, next)
	if flag.Lookup("test.v") != nil {
		panic(err)
	}
	l.log.Error("bug: illegal transition", "error", err)
	if l.breakOff(err) {
		l.e.goBackground(func() { l.e.abandon(l) })
	}
}

// state is the state that others see.
func (l *live) state() terret.SessionState {
	switch l.phase {
	case starting, running:
		switch {
		case len(l.open) > 0:
			return terret.SessionWaiting
		case l.doing != "":
			return l.doing
		case l.host == nil:
			return terret.SessionStarting
		}
		return terret.SessionBusy
	case stopping:
		return terret.SessionInterrupting
	case idle, quiet:
		if l.doing != "" {
			return l.doing
		}
		return l.rest
	case leaving:
		return l.rest
	case settling, broken, gone:
	}
	return l.session.State
}

// show appends the session's state to out, if it changed.
func (l *live) show(out []terret.Event) []terret.Event {
	now := l.state()
	if now == l.session.State {
		return out
	}
	l.session.State = now
	change := terret.SessionStateChange{State: now}
	if now == l.doing {
		change.Detail = l.detail
	}
	return append(out, l.envelope(terret.Event{Data: change}))
}
