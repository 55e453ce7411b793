package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// live is a session that this process owns. mu guards everything below it, and is never
// held during I/O.
type live struct {
	e       *Engine
	id      string
	log     *slog.Logger
	journal *journal.Log

	// opening is held while the agent is opened or closed, so that there is never
	// more than one.
	opening sync.Mutex
	parting sync.WaitGroup // agents that ended by themselves and are being closed

	left chan struct{} // closed when the session is gone

	showing sync.Mutex // held while the queue is read to be shown, so that the log has its states in order

	mu      sync.Mutex
	phase   phase
	closing bool  // somebody waits to close the session: nothing new begins
	why     error // why nothing more can be written, if so

	session   terret.Session      // as of the last event that was written
	rest      terret.SessionState // shown while no turn runs
	doing     terret.SessionState // compacting or retrying, while it does so
	detail    string              // of the state
	cursor    []byte              // the driver's, as of the last event that was written
	host      *host               // the agent's; nil while there is none
	turn      *turn               // the current one
	begun     map[string]bool     // ids of turns that began here
	open      map[string]*request
	held      []held        // what the agent said while the turn settles, or the session is quiet
	resumed   chan struct{} // closed when the phase quiet ends
	idleTimer *time.Timer
	// leftover holds prompts that an earlier owner left in the queue; they wait until
	// somebody prompts.
	leftover map[string]bool
	// queueShown is the queue as the log shows it. holding is set from a person's stop
	// until what waits in the queue is held: nothing of it begins meanwhile.
	queueShown []shown
	holding    bool
	told       bool // the agent needs no account of a session that this one continues
	// updates are changes that other processes sent and that are not carried out yet; one
	// goroutine does that, in order, while there are any. known are the ids of all that
	// came.
	updates []terret.InboxItem
	known   map[string]bool
	// stopOpening ends the last opening of an agent outside a turn.
	stopOpening context.CancelCauseFunc
	// mayQueue is set if there may be prompts in the queue. The watcher, and whoever puts
	// one there, sees to it: turns that nobody queues behind do not read the queue.
	mayQueue bool
	secrets  secrets
	noUndo   string // why turns cannot be undone, as the log says; empty: they can
}

// held is what an agent said while its last turn settled, or its session was quiet.
type held struct {
	host   *host
	events []terret.Event
	cursor []byte
}

// sessionCopy returns a copy of the session.
func (l *live) sessionCopy() terret.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// current returns the turn in progress, or nil.
func (l *live) current() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turn
}

func (l *live) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why != nil
}

// unusable says why nothing can begin in the session, or nil. l.mu must be held.
func (l *live) unusable() error {
	if l.closing || l.phase >= leaving {
		return errGone
	}
	return nil
}

// write passes events and the driver's cursor to the journal, if there are any. l.mu must
// be held.
func (l *live) write(out []terret.Event, cursor []byte) *journal.Write {
	if len(out) == 0 && cursor == nil {
		return nil
	}
	if cursor != nil {
		l.cursor = cursor
	}
	return l.journal.Append(&journal.Write{Events: out, Cursor: cursor})
}

// flush waits until everything written so far is in the log, and on disk if it must be.
func (l *live) flush() error {
	l.mu.Lock()
	if err := l.unusable(); err != nil {
		l.mu.Unlock()
		return err
	}
	w := l.journal.Append(&journal.Write{})
	l.mu.Unlock()
	return w.Wait()
}

// Committed implements journal.Owner.
func (l *live) Committed(r terret.Result) {
	l.mu.Lock()
	l.session.LastSeq = r.LastSeq
	s := l.session
	l.mu.Unlock()
	if len(r.Entries) > 0 && s.Agent != NoAgent {
		l.e.records.Add(s, r.Entries)
	}
}

// put appends an event to out as it goes into the log, and then the session's state if
// it has changed. l.mu must be held.
func (l *live) put(out []terret.Event, ev terret.Event) []terret.Event {
	ev.Data = l.learn(ev)
	out = append(out, l.envelope(ev))
	return l.showState(out)
}

// envelope fills in what the engine knows about an event.
func (l *live) envelope(ev terret.Event) terret.Event {
	turn := ""
	if l.turn != nil {
		turn = l.turn.id
	}
	return l.envelopeOf(turn, ev)
}

// envelopeOf is envelope for an event of that turn, or of none.
func (l *live) envelopeOf(turn string, ev terret.Event) terret.Event {
	ev.V, ev.Session, ev.Turn = terret.Version, l.id, turn
	if ev.Time.IsZero() {
		ev.Time = terret.Now()
	}
	if !l.session.Options.KeepRaw {
		if _, unknown := ev.Data.(terret.Unknown); !unknown {
			ev.Raw = nil
		}
	}
	return l.secrets.hide(ev)
}

// learn picks up from an event what the engine needs to know, and returns its data,
// which it may complete. l.mu must be held.
func (l *live) learn(ev terret.Event) terret.Data {
	switch d := ev.Data.(type) {
	case terret.SessionStart:
		keep(&l.session.Model, d.Model)
		keep((*string)(&l.session.NativeID), d.NativeID)
		keep(&l.session.PermissionMode, d.PermissionMode)
		l.rest = terret.SessionIdle
	case terret.SessionNativeID:
		keep((*string)(&l.session.NativeID), d.New)
	case terret.SessionUpdated:
		applyUpdate(&l.session, d)
	case terret.CompactPre:
		l.doing, l.detail = terret.SessionCompacting, ""
	case terret.CompactPost:
		l.doing = ""
	case terret.Retry:
		l.doing, l.detail = terret.SessionRetrying, d.Error
	case terret.UsageUpdate:
		if l.turn != nil {
			l.turn.usage = d
		}
		d.Usage = d.Add(l.session.Usage)
		d.CostUSD += l.session.CostUSD
		return d
	case terret.MessageDelta, terret.ReasoningDelta, terret.ToolStart, terret.ToolPre, terret.MessageComplete:
		if l.doing == terret.SessionRetrying {
			l.doing, l.detail = "", ""
		}
		if l.turn != nil && root(ev) {
			l.turn.follow(d)
		}
	}
	return ev.Data
}

func root(ev terret.Event) bool { return ev.Actor == "" || ev.Actor == terret.ActorRoot }

func keep(field *string, v string) {
	if v != "" {
		*field = v
	}
}

func applyUpdate(s *terret.Session, u terret.SessionUpdated) {
	if u.Title != nil {
		s.Title = *u.Title
	}
	if u.Model != nil {
		s.Model = *u.Model
	}
	if u.Policy != nil {
		s.Policy = *u.Policy
	}
	if u.PermissionMode != nil {
		s.PermissionMode = *u.PermissionMode
	}
	if u.Mode != nil {
		s.Mode = *u.Mode
	}
	if u.Persona != nil {
		s.Persona = terret.NullString(*u.Persona)
	}
	if u.HandedTo != nil {
		s.HandedTo = *u.HandedTo
	}
}

var errGone = errors.New("the session is being given back")

// host is what one agent sees of the engine. It stops working when the agent is closed
// or the session is no longer ours.
type host struct {
	l    *live
	life context.Context // ends when the agent is closed
	end  context.CancelCauseFunc

	// Guarded by l.mu.
	agent   terret.Agent        // nil until it is open
	in      desk.InForce        // in force in its current or last turn
	leaving bool                // the agent is being closed, or has ended
	asked   map[string]*request // by the agent's own key
	tasks   map[string]bool     // those running in the background
}

// request is an agent's request that waits for its decision.
type request struct {
	l     *live
	host  *host
	id    string
	ask   terret.Ask
	print string        // fingerprint of what was asked
	limit time.Duration // how long it may wait; zero means no limit
	turn  string
	filed *journal.Write // the write of its own event

	// Guarded by l.mu until decided is closed.
	settled  bool // its decision is on its way into the log
	decision terret.Decision
	err      error
	decided  chan struct{}
}

func (l *live) newHost(in desk.InForce) *host {
	h := &host{l: l, in: in, asked: map[string]*request{}, tasks: map[string]bool{}}
	h.life, h.end = context.WithCancelCause(context.Background())
	return h
}

// usable says whether the agent may still speak. l.mu must be held. An agent that is
// being closed may finish what it is saying.
func (h *host) usable() error {
	if h.l.why != nil {
		return h.l.why
	}
	return context.Cause(h.life)
}

// detach takes the agent from the session, so that the caller can close it; nil if
// there is none. l.mu must be held.
func (l *live) detach() *host {
	h := l.host
	if h != nil {
		h.leaving = true
	}
	l.host = nil
	return h
}

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
	return l.showState(out)
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

// showState appends the session's state to out, if it changed.
func (l *live) showState(out []terret.Event) []terret.Event {
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
