package engine

import (
	"cmp"
	"errors"
	"time"

	"github.com/terret-dev/terret"
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
	if a := l.writeEnd(t, end, after); a == nil || a.wait() != nil {
		t.over()
		return
	}
	t.over()
	l.mu.Lock()
	queued := l.queued
	l.mu.Unlock()
	if queued {
		e.next(l)
	}
}

// writeEnd writes the last events of a turn, and then what the agent said while the
// turn settled. It returns nil if nothing can be written.
func (l *live) writeEnd(t *turn, end terret.Event, after *terret.CheckpointCreated) *appending {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != settling {
		return nil // the log failed meanwhile
	}
	var out []terret.Event
	if after != nil {
		out = l.put(out, terret.Event{Data: *after})
	}
	end.Data = l.complete(t, end.Data)
	out = l.put(out, end)
	l.rest = terret.SessionIdle
	if failed, ok := end.Data.(terret.TurnError); ok && failed.Error.Code != terret.CodeInterrupted && failed.Error.Code != terret.CodeKilled {
		l.rest = terret.SessionFailed
	}
	l.secrets.forget()
	if t.cursor != nil {
		l.cursor = t.cursor
	}
	a := l.enqueue(&appending{events: l.to(idle, out), cursor: t.cursor})
	l.writeHeld()
	return a
}

// writeHeld writes what the agent has said in the meantime. l.mu must be held.
func (l *live) writeHeld() {
	waiting := l.held
	l.held = nil
	for _, h := range waiting {
		if _, err := h.host.emit(h.events, h.cursor); err != nil {
			l.log.Debug("late events of a closed agent", "error", err, "events", len(h.events))
		}
	}
}

// complete completes the last event of a turn, and adds its cost to the session's
// totals. l.mu must be held.
func (l *live) complete(t *turn, data terret.Data) terret.Data {
	took := time.Since(t.started).Milliseconds()
	var usage terret.Usage
	var cost terret.Cost
	switch d := data.(type) {
	case terret.TurnComplete:
		if d.Usage == (terret.Usage{}) && d.CostUSD == 0 {
			d.Usage, d.CostUSD = t.usage.Usage, t.usage.CostUSD
		}
		usage, cost = d.Usage, d.CostUSD
		if d.DurationMS == 0 {
			d.DurationMS = took
		}
		if d.Text == "" {
			d.Text = t.text
		}
		data = d
		if t.stop != nil && t.stop.Code != terret.CodeInterrupted && t.stop.Code != terret.CodeKilled {
			data = terret.TurnError{Error: *t.stop, Text: d.Text, Usage: d.Usage, CostUSD: d.CostUSD, DurationMS: d.DurationMS, Denials: d.Denials}
		}
	case terret.TurnError:
		if d.Usage == (terret.Usage{}) && d.CostUSD == 0 {
			d.Usage, d.CostUSD = t.usage.Usage, t.usage.CostUSD
		}
		usage, cost = d.Usage, d.CostUSD
		if d.DurationMS == 0 {
			d.DurationMS = took
		}
		if d.Text == "" {
			d.Text = t.text
		}
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
		data = d
	}
	l.session.Usage = l.session.Usage.Add(usage)
	l.session.CostUSD += cost
	return data
}

// next starts the first queued prompt, unless a turn runs: the end of that one calls next
// again.
func (e *Engine) next(l *live) {
	l.mu.Lock()
	free := l.phase == idle
	l.queued = !free // until somebody says so again
	l.mu.Unlock()
	if !free {
		return
	}
	edits := e.edits.Load()
	items, err := e.store.Pending(e.life, l.id)
	if err != nil {
		e.nextLater(l, err)
		return
	}
	for _, item := range items {
		if item.Kind != terret.InboxPrompt {
			continue
		}
		var q queued
		err := unmarshal(item.Body, &q)
		if err != nil {
			l.log.Error("dropped a queued prompt that cannot be read", "turn", item.ID, "error", err)
		}
		switch _, known := e.store.Turn(e.life, l.id, item.ID); {
		case known == nil:
			l.take(item.ID) // it has already begun, by another path
			continue
		case !errors.Is(known, terret.ErrNotFound):
			e.nextLater(l, known)
			return
		}
		in, unsettled := e.settingsFor(e.life, l.snapshot(), q.Options)
		account, noAccount := e.account(e.life, l)
		if noAccount != nil {
			e.nextLater(l, noAccount)
			return
		}
		l.mu.Lock()
		if l.leftover[item.ID] {
			l.mu.Unlock()
			continue
		}
		if l.phase != idle || l.unusable() != nil {
			l.queued = true
			l.mu.Unlock()
			return
		}
		if err != nil || l.begun[item.ID] {
			l.mu.Unlock()
			l.take(item.ID)
			continue
		}
		if e.edits.Load() != edits { // what was read may have changed
			l.mu.Unlock()
			e.next(l)
			return
		}
		t := l.begin(after(account, PromptRequest{Session: l.id, Prompt: q.Prompt, By: item.By, Turn: item.ID, command: q.Command}), cmp.Or(q.Origin, terret.OriginQueue), []string{item.ID}, in)
		l.queued = true // there may be more
		l.mu.Unlock()
		switch {
		case t.onDisk() != nil:
		case unsettled != nil:
			close(t.prepared)
			e.endTurn(l, t, terret.AsError(unsettled))
		default:
			e.startTurn(l, t)
		}
		return
	}
}

// nextLater has next come back to a queue that could not be read.
func (e *Engine) nextLater(l *live, why error) {
	l.log.Warn("cannot read the queue", "error", why)
	l.mu.Lock()
	l.queued = true
	l.mu.Unlock()
	e.watch.lookAgain() // which comes back here
}

// take marks an inbox item as handled.
func (l *live) take(item string) *appending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enqueue(&appending{taken: []string{item}})
}
