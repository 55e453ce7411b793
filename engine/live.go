package engine

import (
	"context"
	"errors"
	"log/slog"
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

	mu      sync.Mutex
	phase   phase
	closing bool  // somebody waits to close the session: nothing new begins
	why     error // why nothing more can be written, if so

	session terret.Session      // as of the last event that was written
	rest    terret.SessionState // shown while no turn runs
	doing   terret.SessionState // compacting or retrying, while it does so
	detail  string              // of the state
	cursor  []byte              // the driver's, as of the last event that was written
	host    *host               // the agent's; nil while there is none
	turn    *turn               // the current one
	begun   map[string]bool     // ids of turns that began here
	open    map[string]*request
	held    []held        // what the agent said while the turn settles, or the session is quiet
	resumed chan struct{} // closed when the phase quiet ends
	idle    *time.Timer
	// leftover holds prompts that an earlier owner left in the queue; they wait until
	// somebody prompts.
	leftover map[string]bool
	told     bool // the agent needs no account of a session that this one continues
	// updates are changes that other processes sent and that are not carried out yet; one
	// goroutine does that, in order, while there are any. known are the ids of all that
	// came.
	updates []terret.InboxItem
	known   map[string]bool
	// stopOpening ends the last opening of an agent outside a turn.
	stopOpening context.CancelCauseFunc
	// queued is set if there may be prompts in the queue. The watcher, and whoever puts
	// one there, sees to it: turns that nobody queues behind do not read the queue.
	queued  bool
	secrets secrets
	undoOff string // why turns cannot be undone, as the log says; empty: they can
}

// held is what an agent said while its last turn settled, or its session was quiet.
type held struct {
	host   *host
	events []terret.Event
	cursor []byte
}

// turn is a turn in progress.
type turn struct {
	id       string
	origin   terret.Origin
	started  time.Time
	began    *journal.Write // its start; nil if the agent began it by itself
	prompt   terret.Prompt
	in       desk.InForce    // in force for this turn
	command  *command        // to run instead of the prompt
	ctx      context.Context // of what prepares it
	cancel   context.CancelCauseFunc
	prepared chan struct{} // closed when preparation is over; nil if there was none
	done     chan struct{} // closed when its end is committed, or never will be
	finish   sync.Once     // closes done

	host    *host         // of the agent that has it; nil before it is prompted
	cursor  []byte        // that goes into the log with its end
	stop    *terret.Error // why it is to end, once somebody said so
	heard   time.Time     // when its agent last said or asked something
	silence *time.Timer   // looks whether that is too long ago; nil if there is no limit
	record  sync.Once     // of the folder's state before it
	before  string        // that state
	text    string        // of the last message
	partial partial
	steps   int
	usage   terret.UsageUpdate // as of the last update; of this turn only
}

// over releases everybody who waits for the end of the turn.
func (t *turn) over() {
	t.finish.Do(func() {
		if t.silence != nil {
			t.silence.Stop()
		}
		close(t.done)
	})
}

// partial is the text of a message that is still streaming.
type partial struct {
	message string
	text    []byte
}

func (p *partial) add(d terret.MessageDelta) {
	if p.message != d.MessageID {
		*p = partial{message: d.MessageID}
	}
	p.text = append(p.text, d.Text...)
}

func (l *live) newTurn(id string, origin terret.Origin, p terret.Prompt, in desk.InForce) *turn {
	l.begun[id] = true
	t := &turn{id: id, origin: origin, started: time.Now(), heard: time.Now(), prompt: p, in: in, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(l.e.life)
	l.watchSilence(t)
	return t
}

// Live returns a session that this process owns, from memory. It may be ahead of the
// store by what is being committed. Its last number and the time of its last change may
// be older than there.
func (e *Engine) Live(id string) (terret.Session, bool) {
	l := e.mine(id)
	if l == nil {
		return terret.Session{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session
	if l.turn != nil {
		s.Turn = l.turn.id
	}
	return s, l.why == nil && l.phase != gone
}

// snapshot returns a copy of the session.
func (l *live) snapshot() terret.Session {
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

// Failed implements journal.Owner. It gives up on the session: it writes nothing more,
// tells whoever waits, and stops the agent. The log stays as it is; the next owner cleans
// up.
func (l *live) Failed(err error) {
	l.mu.Lock()
	first := l.breakOff(err)
	l.mu.Unlock()
	if !first {
		return
	}
	if errors.Is(err, terret.ErrFenced) {
		l.log.Warn("another process took over the session")
	} else {
		l.log.Error("session failed", "error", err)
		l.e.hub.Fail(l.id, err)
	}
	if !l.e.goBackground(func() { l.e.abandon(l) }) {
		l.e.abandon(l)
	}
}

// breakOff stops writing to the log, and reports whether it was this call that did.
// l.mu must be held; if it reports true, the caller must abandon the session.
func (l *live) breakOff(err error) bool {
	first := l.why == nil && l.phase != gone
	if first {
		l.why = err
		l.to(broken, nil)
	}
	l.journal.End(err)
	return first
}

// put appends an event to out as it goes into the log, and then the session's state if
// it has changed. l.mu must be held.
func (l *live) put(out []terret.Event, ev terret.Event) []terret.Event {
	ev.Data = l.note(ev)
	out = append(out, l.envelope(ev))
	return l.show(out)
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

// note picks up from an event what the engine needs to know, and returns its data,
// which it may complete. l.mu must be held.
func (l *live) note(ev terret.Event) terret.Data {
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
			l.turn.note(d)
		}
	}
	return ev.Data
}

// note follows what the agent says during its turn.
func (t *turn) note(data terret.Data) {
	switch d := data.(type) {
	case terret.MessageDelta:
		t.partial.add(d)
	case terret.MessageComplete:
		if d.Role != terret.RoleAssistant {
			return
		}
		t.partial = partial{}
		t.steps++
		keep(&t.text, terret.TextOf(d.Blocks))
	}
}

// overLimit says why a running turn must end because of a limit, or nil. l.mu must be
// held.
func (l *live) overLimit() *terret.Error {
	t := l.turn
	if l.phase != running {
		return nil
	}
	if limit := t.in.MaxTurns; limit > 0 && t.steps > limit {
		return terret.Errorf(terret.CodeMaxTurns, "the agent took more than %d steps; raise max_turns to let it continue", limit)
	}
	spent := l.session.CostUSD + t.usage.CostUSD
	if limit := t.in.MaxCostUSD; limit > 0 && spent >= limit && t.usage.CostUSD > 0 {
		return overBudget(spent, limit)
	}
	return nil
}

func overBudget(spent, limit terret.Cost) *terret.Error {
	return terret.Errorf(terret.CodeMaxBudget, "the session has used $%s of its budget of $%s; raise max_cost to let it continue", spent, limit)
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

// startIdleTimer closes the agent after some time without a turn. l.mu must be held.
func (l *live) startIdleTimer() {
	l.stopIdleTimer()
	if after := l.e.cfg.IdleAfter; after > 0 && l.phase == idle && !l.closing {
		l.idle = time.AfterFunc(after, func() {
			l.e.goBackground(func() { l.e.shut(context.Background(), l, idleReaped) })
		})
	}
}

func (l *live) stopIdleTimer() {
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
}
