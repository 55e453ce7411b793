package engine

import (
	"time"

	"github.com/terret-dev/terret"
)

// endTurn ends a turn for a reason of the engine's own, as if the agent had said
// it, and waits until that is in the log.
func (e *Engine) endTurn(l *live, t *turn, why *terret.Error) {
	l.mu.Lock()
	mine := l.turn == t && !l.settling
	if mine {
		l.settling = true
	}
	l.mu.Unlock()
	if mine {
		e.settle(l, t, terret.Event{Data: terret.TurnError{Error: *why}})
	}
	<-t.done
}

// settle writes the end of a turn, after everything that belongs to it: requests
// that are still open are decided, and the state of the folder is recorded. Then
// it lets in what the agent has said in the meantime, and the next prompt.
func (e *Engine) settle(l *live, t *turn, end terret.Event) {
	t.cancel(nil)
	l.mu.Lock()
	source := terret.ByAgentExit
	if t.stop != nil {
		source = terret.ByInterrupt
	}
	open := l.openOf(func(r *request) bool { return r.turn == t.id })
	l.mu.Unlock()
	for _, r := range open {
		e.giveUp(r, source)
	}
	after := e.snapshotAfter(l, t)

	l.mu.Lock()
	var out []terret.Event
	if after != nil {
		out = l.stamp(out, terret.Event{Data: *after})
	}
	end.Data = l.finish(t, end.Data)
	failed, isError := end.Data.(terret.TurnError)
	out = l.stamp(out, end)
	l.turn, l.settling = nil, false
	l.secrets.forget()
	state := terret.SessionIdle
	if isError && failed.Error.Code != terret.CodeInterrupted && failed.Error.Code != terret.CodeKilled {
		state = terret.SessionFailed
	}
	out = l.setState(out, state, "")
	if t.cursor != nil {
		l.cursor = t.cursor
	}
	a := l.enqueue(&appending{events: out, cursor: t.cursor})
	l.release()
	l.mu.Unlock()
	err := a.wait()
	close(t.done)
	if err == nil {
		e.next(l)
	}
}

// finish completes the last event of a turn, and adds what it cost to the
// session's totals. l.mu must be held.
func (l *live) finish(t *turn, data terret.Data) terret.Data {
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
		data = d
	}
	l.session.Usage = l.session.Usage.Add(usage)
	l.session.CostUSD += cost
	return data
}

// release lets in what the agent said while the turn settled. l.mu must be held.
func (l *live) release() {
	waiting := l.held
	l.held = nil
	for _, h := range waiting {
		if _, err := h.host.emit(h.events, h.cursor); err != nil {
			l.log.Debug("late events of a closed agent", "error", err, "events", len(h.events))
		}
	}
	if l.turn == nil {
		l.startIdleTimer()
	}
}

// next starts the first prompt that waits in the queue.
func (e *Engine) next(l *live) {
	if err := e.loadTurns(e.life, l); err != nil {
		l.log.Warn("cannot read the turns", "error", err)
		return
	}
	items, err := e.store.Pending(e.life, l.id)
	if err != nil {
		l.log.Warn("cannot read the queue", "error", err)
		return
	}
	for _, item := range items {
		if item.Kind != terret.InboxPrompt {
			continue
		}
		var q queued
		err := unmarshal(item.Body, &q)
		if err != nil {
			l.log.Error("a queued prompt cannot be read and is dropped", "turn", item.ID, "error", err)
		}
		l.mu.Lock()
		if l.leftover[item.ID] {
			l.mu.Unlock()
			continue
		}
		if l.leaving || l.gone || l.turn != nil || l.rewinding != nil || l.broken != nil {
			l.mu.Unlock()
			return
		}
		if err != nil || l.begun[item.ID] {
			l.enqueue(&appending{taken: []string{item.ID}})
			l.mu.Unlock()
			continue
		}
		session := l.session
		l.mu.Unlock()
		in, err := e.settingsFor(e.life, session, q.Options)
		l.mu.Lock()
		t, a := l.begin(PromptRequest{Session: l.id, Prompt: q.Prompt, By: item.By, Turn: item.ID, command: q.Command}, terret.OriginQueue, []string{item.ID}, in)
		l.mu.Unlock()
		switch {
		case a.wait() != nil:
		case err != nil:
			close(t.prepared)
			e.endTurn(l, t, terret.AsError(err))
		default:
			e.startTurn(l, t)
		}
		return
	}
}
