package engine

import (
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// endTurn ends a turn for a reason of the engine's, as if the agent had reported it,
// and waits until that is in the log.
func (e *Engine) endTurn(l *live, t *turn, why *terret.Error) {
	l.mu.Lock()
	ours := l.turn == t && (l.phase == starting || l.phase == running || l.phase == stopping)
	if ours {
		l.write(l.to(settling, nil), nil)
	}
	l.mu.Unlock()
	if ours {
		e.settle(l, t, terret.Event{Data: terret.TurnError{Error: *why}})
	}
	<-t.done
}

// settle writes the end of a turn after everything that belongs to it: it decides the
// requests that are still open and records the folder. Then it writes what the agent
// has said in the meantime, and starts the next prompt.
func (e *Engine) settle(l *live, t *turn, end terret.Event) {
	t.cancel(nil)
	l.mu.Lock()
	source := terret.ByAgentExit
	if t.stop != nil {
		source = terret.ByInterrupt
	}
	l.mu.Unlock()
	for _, r := range l.openOf(func(r *request) bool { return r.turn == t.id }) {
		e.giveUp(r, source)
	}
	after := e.snapshotAfter(l, t)
	if a := l.writeEnd(t, end, after); a == nil || a.Wait() != nil {
		t.over()
		return
	}
	t.over()
	l.mu.Lock()
	more := l.mayQueue
	l.mu.Unlock()
	if more {
		e.next(l)
	}
}

// writeEnd writes the last events of a turn, and then what the agent said while the
// turn settled. It returns nil if nothing can be written.
func (l *live) writeEnd(t *turn, end terret.Event, after *terret.CheckpointCreated) *journal.Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != settling {
		return nil // the log failed meanwhile
	}
	var out []terret.Event
	if after != nil {
		out = l.put(out, terret.Event{Data: *after})
	}
	end.Data = l.sumUp(t, end.Data)
	out = l.put(out, end)
	l.rest = terret.SessionIdle
	if failed, ok := end.Data.(terret.TurnError); ok && failed.Error.Code != terret.CodeInterrupted && failed.Error.Code != terret.CodeKilled {
		l.rest = terret.SessionFailed
	}
	l.secrets.forget()
	if t.cursor != nil {
		l.cursor = t.cursor
	}
	a := l.journal.Append(&journal.Write{Events: l.to(idle, out), Cursor: t.cursor})
	l.writeHeld()
	return a
}

// sumUp fills in what the last event of a turn lacks, and adds the turn's cost to the
// session's totals. l.mu must be held.
func (l *live) sumUp(t *turn, data terret.Data) terret.Data {
	switch d := data.(type) {
	case terret.TurnComplete:
		l.total(t, &d.Usage, &d.CostUSD, &d.DurationMS, &d.Text)
		if t.stop != nil && t.stop.Code != terret.CodeInterrupted && t.stop.Code != terret.CodeKilled {
			return terret.TurnError{Error: *t.stop, Text: d.Text, Usage: d.Usage, CostUSD: d.CostUSD, DurationMS: d.DurationMS, Denials: d.Denials}
		}
		return d
	case terret.TurnError:
		l.total(t, &d.Usage, &d.CostUSD, &d.DurationMS, &d.Text)
		if len(t.partial.text) > 0 {
			d.Text = string(t.partial.text)
		}
		if t.stop != nil {
			d.Error = *t.stop
		}
		if d.Error.Code == "" && d.Error.Message == "" {
			d.Error.Message = "the agent failed and did not say why"
		}
		if d.Error.Code == "" {
			d.Error.Code = terret.CodeInternal
		}
		return d
	}
	return data
}

// total does that for what both ends of a turn have.
func (l *live) total(t *turn, usage *terret.Usage, cost *terret.Cost, took *int64, text *string) {
	if *usage == (terret.Usage{}) && *cost == 0 {
		*usage, *cost = t.usage.Usage, t.usage.CostUSD
	}
	if *took == 0 {
		*took = time.Since(t.started).Milliseconds()
	}
	if *text == "" {
		*text = t.text
	}
	l.session.Usage = l.session.Usage.Add(*usage)
	l.session.CostUSD += *cost
}
