package engine

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// Emit implements terret.Host.
func (h *host) Emit(_ context.Context, events []terret.Event, cursor []byte) error {
	l := h.l
	l.mu.Lock()
	a, err := h.emit(events, cursor)
	full := l.journal.Full()
	l.mu.Unlock()
	if err == nil && a != nil && full {
		err = a.Wait()
	}
	return err
}

// emit writes the agent's events, up to the end of a turn: that waits until the turn
// has settled, and so does everything after it. What would begin a turn while the session
// is quiet waits for that, too. l.mu must be held.
func (h *host) emit(events []terret.Event, cursor []byte) (*journal.Write, error) {
	l := h.l
	if err := h.usable(); err != nil {
		return nil, err
	}
	l.spoke(h)
	if l.phase == settling || l.phase == quiet && len(l.held) > 0 {
		l.held = append(l.held, held{host: h, events: events, cursor: cursor})
		return nil, nil
	}
	var out []terret.Event
	for i, ev := range events {
		if l.phase == quiet && ev.Kind().InTurn() && !ev.Kind().EndsTurn() { // no turn can begin now
			l.held = append(l.held, held{host: h, events: events[i:], cursor: cursor})
			return l.write(out, nil), nil
		}
		if !ev.Kind().EndsTurn() {
			out = h.admit(out, ev)
			continue
		}
		t := l.turn
		if t == nil || t.host != h || ev.Turn != "" && ev.Turn != t.id {
			l.log.Debug("a turn ended twice", "turn", ev.Turn)
			continue
		}
		if rest := events[i+1:]; len(rest) > 0 {
			l.held = append(l.held, held{host: h, events: rest, cursor: cursor})
		} else {
			t.cursor = cursor
		}
		a := l.write(l.to(settling, out), nil)
		if !l.e.goBackground(func() { l.e.settle(l, t, ev) }) {
			return nil, errClosed
		}
		return a, nil
	}
	if why := l.overLimit(); why != nil {
		out = l.stopFor(why, out)
	}
	return l.write(out, cursor), nil
}

// admit prepares one event of the agent. l.mu must be held.
func (h *host) admit(out []terret.Event, ev terret.Event) []terret.Event {
	l := h.l
	ev.Expects = nil // only Ask makes requests
	if ev.Data == nil {
		ev.Data = terret.Unknown{NativeType: ev.Source}
	}
	if engineOnly(ev.Data) {
		ev.Data = terret.DiagWarning{Text: "the driver sent " + string(ev.Kind()) + ", which only the engine may send"}
	}
	switch {
	case l.turn != nil && l.turn.host != h && h.leaving: // of a turn that is over
		return append(out, l.envelopeOf("", ev))
	case l.turn == nil && ev.Kind().InTurn():
		if h.leaving || l.unusable() != nil { // it is too late to begin a turn
			return append(out, l.envelopeOf("", ev))
		}
		out = l.beginBackground(out, h)
	}
	out = l.put(out, ev)
	switch d := ev.Data.(type) {
	case terret.SessionEnd:
		if d.Reason == "agent_exit" {
			l.dropAgent(h)
		}
	case terret.TaskStart:
		h.tasks[d.ID] = true
	case terret.TaskEnd:
		delete(h.tasks, d.ID)
		if l.host == h && l.phase == idle && len(h.tasks) == 0 {
			l.startIdleTimer()
		}
	}
	return out
}

// engineOnly reports whether drivers may not send it: the store acts on it.
func engineOnly(data terret.Data) bool {
	switch data.(type) {
	case terret.TurnStart, terret.QueueChange, terret.SessionResumed, terret.SessionStateChange, terret.CheckpointRewound,
		terret.PermissionDecision, terret.QuestionDecision, terret.PlanDecision, terret.StopDecision, terret.HookDecision:
		return true
	}
	return false
}

// Delivered implements terret.Host.
func (h *host) Delivered(_ context.Context, requestID string) error {
	l := h.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := h.usable(); err != nil {
		return err
	}
	l.journal.Delivered(requestID)
	return nil
}

// dropAgent forgets an agent that has ended by itself, and closes it in the background.
// Its turn ends too, if it left one. l.mu must be held.
func (l *live) dropAgent(h *host) {
	if l.host != h {
		return // it is already being closed
	}
	t := l.turn
	l.detach()
	l.parting.Add(1)
	run := func() {
		l.opening.Lock()
		l.e.closeAgent(l, h)
		l.opening.Unlock()
		l.parting.Done()
		if t != nil && t.host == h {
			l.e.endTurn(l, t, terret.Errorf(terret.CodeProcessFailed, "the agent ended in the middle of the turn; prompt the session to continue"))
		}
	}
	if !l.e.goBackground(run) {
		l.parting.Done()
	}
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
