package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// live is a session that this process owns. Everything below mu is guarded by it;
// mu is never held over input or output.
type live struct {
	e   *Engine
	id  string
	log *slog.Logger

	// opening is held while the agent is opened or closed, so that there is never
	// more than one.
	opening sync.Mutex
	parting sync.WaitGroup // agents that ended by themselves and are being closed

	left chan struct{} // closed when the session is no longer ours

	mu        sync.Mutex
	session   terret.Session // as of the last event that was enqueued
	cursor    []byte         // the driver's, as of the last event that was enqueued
	last      int64          // number of the last event committed
	agent     terret.Agent
	host      *host           // of the agent
	turn      *turn           // that runs
	begun     map[string]bool // ids of all turns; nil until somebody needs to know
	open      map[string]*request
	settling  bool          // the turn is over for the agent, but not yet in the log
	held      []held        // what the agent said since
	rewinding chan struct{} // not nil while the folder goes back or forward; closed after
	idle      *time.Timer
	leftover  map[string]bool // prompts that an earlier owner left in the queue, until somebody prompts
	secrets   secrets
	leaving   bool // about to be given back: no turn begins any more
	gone      bool // no longer ours: do not use

	// For the committer.
	pending   []*appending
	delivered []string // requests of whose decision the agent was told; goes with the next batch
	backlog   int      // events in pending
	dirty     bool
	broken    error
}

// held is what an agent said while its last turn settled.
type held struct {
	host   *host
	events []terret.Event
	cursor []byte
}

// turn is a turn that runs.
type turn struct {
	id       string
	origin   terret.Origin
	started  time.Time
	prompt   terret.Prompt
	in       inForce         // what holds in it
	command  *command        // that it runs instead of handing over the prompt
	ctx      context.Context // of what prepares it
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when its end is committed
	prepared chan struct{} // closed when nothing prepares it any more; nil if nothing did
	host     *host         // of the agent that has it; nil before it is prompted
	cursor   []byte        // that goes into the log with its end
	stop     *terret.Error // why it is to end, once somebody said so
	record   sync.Once     // of the folder's state before it
	before   string        // that state
	text     string        // of the last message
	partial  partial
	steps    int
	usage    terret.UsageUpdate // as of the last update, of this turn
}

// partial is the text of a message that is being streamed.
type partial struct {
	message string
	text    []byte
}

// stamp prepares an event of the agent, or of the engine itself, for the log and
// appends it to out, with what follows from it. l.mu must be held.
func (l *live) stamp(out []terret.Event, ev terret.Event) []terret.Event {
	ev = l.envelope(ev)
	if l.turn != nil {
		ev.Turn = l.turn.id
	}
	ev.Data = l.note(ev)
	out = append(out, ev)
	return l.follow(out, ev)
}

// envelope fills in what the engine knows of an event outside turns.
func (l *live) envelope(ev terret.Event) terret.Event {
	ev.V, ev.Session, ev.Turn = terret.Version, l.id, ""
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

// note takes from an event what the engine needs to know, and returns its data,
// which it may complete.
func (l *live) note(ev terret.Event) terret.Data {
	switch d := ev.Data.(type) {
	case terret.SessionStart:
		keep(&l.session.Model, d.Model)
		keep((*string)(&l.session.NativeID), d.NativeID)
		keep(&l.session.PermissionMode, d.PermissionMode)
	case terret.SessionNativeID:
		keep((*string)(&l.session.NativeID), d.New)
	case terret.SessionUpdated:
		applyUpdate(&l.session, d)
	case terret.MessageDelta:
		if root(ev) && l.turn != nil {
			l.turn.partial.add(d)
		}
	case terret.MessageComplete:
		if root(ev) && l.turn != nil && d.Role == terret.RoleAssistant {
			l.turn.partial = partial{}
			l.turn.steps++
			if text := terret.TextOf(d.Blocks); text != "" {
				l.turn.text = text
			}
		}
	case terret.UsageUpdate:
		if l.turn != nil {
			l.turn.usage = d
		}
		d.Usage = d.Add(l.session.Usage)
		d.CostUSD += l.session.CostUSD
		return d
	}
	return ev.Data
}

func root(ev terret.Event) bool { return ev.Actor == "" || ev.Actor == terret.ActorRoot }

func keep(field *string, v string) {
	if v != "" {
		*field = v
	}
}

func (p *partial) add(d terret.MessageDelta) {
	if p.message != d.MessageID {
		*p = partial{message: d.MessageID}
	}
	p.text = append(p.text, d.Text...)
}

// follow appends what follows from an event: changes of state, and the end of
// turns that are over their limits.
func (l *live) follow(out []terret.Event, ev terret.Event) []terret.Event {
	switch d := ev.Data.(type) {
	case terret.SessionStart:
		if l.turn == nil {
			out = l.setState(out, terret.SessionIdle, "")
		}
	case terret.CompactPre:
		out = l.setState(out, terret.SessionCompacting, "")
	case terret.CompactPost:
		out = l.setState(out, l.restState(), "")
	case terret.Retry:
		out = l.setState(out, terret.SessionRetrying, d.Error)
	case terret.MessageDelta, terret.ToolStart, terret.ToolPre, terret.MessageComplete, terret.ReasoningDelta:
		if l.session.State == terret.SessionRetrying {
			out = l.setState(out, l.restState(), "")
		}
		if limit := l.maxTurns(); l.turn != nil && limit > 0 && l.turn.steps > limit {
			out = l.stopLater(out, terret.Errorf(terret.CodeMaxTurns, "the agent took more than %d steps; raise max_turns to let it go on", limit))
		}
	case terret.UsageUpdate:
		if limit := l.session.Options.MaxCostUSD; limit > 0 && d.CostUSD >= limit && l.turn != nil {
			out = l.stopLater(out, terret.Errorf(terret.CodeMaxBudget, "the session has used $%s of its budget of $%s; raise max_cost to let it go on", d.CostUSD, limit))
		}
	}
	return out
}

func (l *live) maxTurns() int {
	if l.turn == nil {
		return 0
	}
	return l.turn.in.MaxTurns
}

// restState is the state of the session when nothing special goes on.
func (l *live) restState() terret.SessionState {
	switch {
	case l.turn == nil:
		return terret.SessionIdle
	case l.turn.stop != nil:
		return terret.SessionInterrupting
	case len(l.open) > 0:
		return terret.SessionWaiting
	default:
		return terret.SessionBusy
	}
}

// setState appends the change of state, if it is one.
func (l *live) setState(out []terret.Event, state terret.SessionState, detail string) []terret.Event {
	if l.session.State == state {
		return out
	}
	l.session.State = state
	return l.stamp(out, terret.Event{Data: terret.SessionStateChange{State: state, Detail: detail}})
}

// openBackground begins a turn that the agent started by itself.
func (l *live) openBackground(out []terret.Event, h *host) []terret.Event {
	l.turn = l.newTurn(terret.NewID(terret.PrefixTurn), terret.OriginBackground, terret.Prompt{})
	l.turn.host, l.turn.in = h, h.in
	l.stopIdleTimer()
	out = l.stamp(out, terret.Event{Data: terret.TurnStart{Prompt: []terret.Block{}, Origin: terret.OriginBackground}})
	return l.setState(out, terret.SessionBusy, "")
}

func (l *live) newTurn(id string, origin terret.Origin, p terret.Prompt) *turn {
	if l.begun != nil {
		l.begun[id] = true
	}
	t := &turn{id: id, origin: origin, started: time.Now(), prompt: p, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(l.e.life)
	return t
}

// stopLater ends the running turn for a reason of the engine's own. l.mu is held,
// so the agent is told in the background.
func (l *live) stopLater(out []terret.Event, why *terret.Error) []terret.Event {
	t := l.turn
	if t == nil || t.stop != nil {
		return out
	}
	t.stop = why
	l.e.goBackground(func() { l.e.stopTurn(l, t) })
	return l.setState(out, terret.SessionInterrupting, "")
}

// dropAgent forgets the agent, which has ended by itself, and closes it in the
// background. A turn that it leaves behind ends too.
func (l *live) dropAgent(h *host) {
	if l.host != h {
		return // it is being closed already
	}
	a, t := l.agent, l.turn
	l.forgetAgent()
	l.parting.Add(1)
	run := func() {
		l.e.closeAgent(l, a, h)
		l.parting.Done()
		if t != nil && t.host == h {
			l.e.endTurn(l, t, terret.Errorf(terret.CodeProcessFailed, "the agent ended in the middle of the turn; prompt the session to go on"))
		}
	}
	if !l.e.goBackground(run) {
		l.parting.Done()
	}
}

// forgetAgent takes the agent from the session, so that somebody can close it.
// l.mu must be held.
func (l *live) forgetAgent() (terret.Agent, *host) {
	a, h := l.agent, l.host
	if h != nil {
		h.leaving = true
	}
	l.agent, l.host = nil, nil
	return a, h
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
}
