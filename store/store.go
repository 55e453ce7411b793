// Package store holds what all stores share: how a batch of events becomes rows. Its
// functions are pure; the stores in the folders below do the rest.
package store

import (
	"github.com/terret-dev/terret"
)

// Row is an event as it is written.
type Row struct {
	Kind terret.Kind
	Time terret.Time
	Body []byte
	Raw  []byte
}

// Rows merges consecutive pieces of text and encodes the result, in order. The returned
// projection says what else changes.
func Rows(b terret.Batch) ([]Row, Projection, error) {
	rows := make([]Row, 0, len(b.Events))
	var p Projection
	for i := 0; i < len(b.Events); {
		e := b.Events[i]
		run := mergeRun(b.Events[i:])
		if run > 1 {
			e = merge(b.Events[i : i+run])
		}
		i += run
		if e.Session == "" {
			e.Session = b.Session
		}
		body, err := e.Encode()
		if err != nil {
			return nil, Projection{}, err
		}
		rows = append(rows, Row{Kind: e.Kind(), Time: e.Time, Body: body, Raw: e.Raw})
		p.add(e, b.After+int64(len(rows)))
	}
	return rows, p, nil
}

// mergeRun is how many events at the start of the list are one stream of text.
func mergeRun(events []terret.Event) int {
	n := 1
	for n < len(events) {
		if _, ok := terret.Merge(events[n-1], events[n]); !ok {
			break
		}
		n++
	}
	return n
}

// merge joins a run pairwise, so that joining text costs n log n instead of the square
// of its length.
func merge(run []terret.Event) terret.Event {
	if len(run) == 1 {
		return run[0]
	}
	e, _ := terret.Merge(merge(run[:len(run)/2]), merge(run[len(run)/2:]))
	return e
}

// Projection is what events change in the tables for lists and filters.
type Projection struct {
	Session  SessionChange
	Started  []TurnStarted
	Ended    []TurnEnded
	Opened   []Opened
	Decided  []terret.Decision
	Snapshot []terret.CheckpointCreated
	Rewound  []Rewound
	// Touched says that the session counts as updated: something happened in it
	// besides pieces of text and agents that come and go.
	Touched bool
}

// Empty reports whether only the log changes.
func (p Projection) Empty() bool {
	return !p.Session.set && len(p.Started)+len(p.Ended)+len(p.Opened)+len(p.Decided)+len(p.Snapshot)+len(p.Rewound) == 0
}

// SessionChange holds the columns of a session that change; nil means unchanged.
type SessionChange struct {
	set            bool
	NativeID       *string
	Title          *string
	Model          *string
	Policy         *string
	PermissionMode *string
	Mode           *string
	Persona        *string
	HandedTo       *string
	State          *string
	Turn           *string
}

// TurnStarted is a turn that began with the event of that number.
type TurnStarted struct {
	ID     string
	Seq    int64
	At     terret.Time
	Origin terret.Origin
}

// TurnEnded is a turn that ended with the event of that number.
type TurnEnded struct {
	ID    string
	Seq   int64
	At    terret.Time
	State terret.TurnState
	Usage terret.Usage
	Cost  terret.Cost
	// Model is set if the batch changes the session's model before the turn ends.
	Model *string
}

// Rewound says that turns were undone or redone. If it is final, a turn that began
// after it in the same batch has made redo impossible.
type Rewound struct {
	terret.CheckpointRewound
	Final bool
}

// Opened is a request that the event with that number makes.
type Opened struct {
	terret.Expects
	Seq  int64
	Turn string
	At   terret.Time
}

// touches reports whether an event of that kind makes its session newer in lists. A
// restart, or the end of an idle agent, must not.
func touches(k terret.Kind) bool {
	switch k {
	case terret.KindSessionResumed, terret.KindSessionEnd, terret.KindProcessExit:
		return false
	default:
		return !k.Delta()
	}
}

func (p *Projection) add(e terret.Event, seq int64) {
	p.Touched = p.Touched || touches(e.Kind())
	if e.Expects != nil {
		p.Opened = append(p.Opened, Opened{Expects: *e.Expects, Seq: seq, Turn: e.Turn, At: e.Time})
	}
	switch d := e.Data.(type) {
	case terret.SessionStart:
		p.Session.put(&p.Session.NativeID, d.NativeID)
		p.Session.put(&p.Session.Model, d.Model)
		p.Session.put(&p.Session.PermissionMode, d.PermissionMode)
	case terret.SessionNativeID:
		p.Session.put(&p.Session.NativeID, d.New)
	case terret.SessionStateChange:
		p.Session.put(&p.Session.State, string(d.State))
	case terret.SessionUpdated:
		p.Session.update(d)
	case terret.TurnStart:
		p.Started = append(p.Started, TurnStarted{ID: e.Turn, Seq: seq, At: e.Time, Origin: d.Origin})
		for i := range p.Rewound {
			p.Rewound[i].Final = true
		}
		p.Session.put(&p.Session.Turn, e.Turn)
	case terret.TurnComplete:
		p.end(e, seq, terret.TurnCompleted, d.Usage, d.CostUSD)
	case terret.TurnError:
		p.end(e, seq, endState(d.Error.Code), d.Usage, d.CostUSD)
	case terret.PermissionDecision:
		p.Decided = append(p.Decided, d.Decision)
	case terret.QuestionDecision:
		p.Decided = append(p.Decided, d.Decision)
	case terret.PlanDecision:
		p.Decided = append(p.Decided, d.Decision)
	case terret.StopDecision:
		p.Decided = append(p.Decided, d.Decision)
	case terret.HookDecision:
		p.Decided = append(p.Decided, d.Decision)
	case terret.CheckpointCreated:
		p.Snapshot = append(p.Snapshot, d)
	case terret.CheckpointRewound:
		p.Rewound = append(p.Rewound, Rewound{CheckpointRewound: d})
	}
}

func (p *Projection) end(e terret.Event, seq int64, state terret.TurnState, u terret.Usage, c terret.Cost) {
	p.Ended = append(p.Ended, TurnEnded{ID: e.Turn, Seq: seq, At: e.Time, State: state, Usage: u, Cost: c, Model: p.Session.Model})
	none := ""
	p.Session.set, p.Session.Turn = true, &none
}

func endState(k terret.ErrorCode) terret.TurnState {
	switch k {
	case terret.CodeInterrupted:
		return terret.TurnInterrupted
	case terret.CodeKilled:
		return terret.TurnKilled
	default:
		return terret.TurnFailed
	}
}

// put sets a column, unless the agent left the value empty.
func (c *SessionChange) put(column **string, value string) {
	if value != "" {
		c.set, *column = true, &value
	}
}

func (c *SessionChange) update(u terret.SessionUpdated) {
	c.set = true
	keep := func(column **string, v *string) {
		if v != nil {
			*column = v
		}
	}
	keep(&c.Title, u.Title)
	keep(&c.Model, u.Model)
	keep(&c.Policy, (*string)(u.Policy))
	keep(&c.PermissionMode, u.PermissionMode)
	keep(&c.Mode, (*string)(u.Mode))
	keep(&c.Persona, u.Persona)
	keep(&c.HandedTo, u.HandedTo)
}
