package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/maphash"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// shown is a queued prompt as the log shows it.
type shown struct {
	terret.QueuedPrompt
	hash uint64 // of the whole prompt
}

// waits reports whether a queued prompt does not run by itself. l.mu must be held.
func (l *live) waits(item terret.InboxItem) bool {
	return l.leftover[item.ID] || isHeld(item.Body)
}

// isHeld reports whether a queued prompt is held. It does not read large prompts for that
// unless they must be.
func isHeld(body terret.JSON) bool {
	var q struct {
		Held bool `json:"held"`
	}
	return bytes.Contains(body, []byte(`"held"`)) && json.Unmarshal(body, &q) == nil && q.Held
}

// noteQueue notes what is in the queue of a session that has just become ours, and what the
// log shows of it. Nobody else knows the session yet.
func (e *Engine) noteQueue(ctx context.Context, l *live) error {
	items, err := e.prompts(ctx, l.id)
	if err != nil || len(items) == 0 {
		return err
	}
	last, err := e.lastQueue(ctx, l.id)
	if err != nil {
		return err
	}
	l.leftover = map[string]bool{}
	for _, item := range items {
		if !isHeld(item.Body) {
			l.leftover[item.ID] = true
		}
	}
	for _, q := range last {
		i := slices.IndexFunc(items, func(i terret.InboxItem) bool { return i.ID == q.Turn })
		if i >= 0 {
			l.queueShown = append(l.queueShown, shown{q, e.hashOf(items[i].Body)})
		}
	}
	return nil
}

// beginHold reports whether somebody's stop of the turn holds the queue. From then on
// until holdQueue nothing begins by itself: the turn may end at once.
func (l *live) beginHold(t *turn, by string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if by == "" || l.turn != t || l.holding {
		return false
	}
	l.holding = true
	return true
}

// holdQueue holds what waits in the queue. Messages of a team's agents are not held: the
// team waits for their answers.
func (e *Engine) holdQueue(l *live, by string) {
	ctx, cancel := context.WithTimeout(e.life, holdLimit)
	defer cancel()
	err := e.hold(ctx, l.id, "", true)
	if err != nil {
		l.log.Error("cannot hold the queue after a stop: what waits there goes on", "error", err)
	}
	l.mu.Lock()
	l.holding = false
	l.mu.Unlock()
	e.showQueue(l, by, "stopped by "+by)
	e.next(l) // what is not held
}

// holdLimit bounds how long a stop waits for the store.
const holdLimit = 2 * time.Second

// hold holds the prompts in a session's queue, or sends them on: all, or one.
func (e *Engine) hold(ctx context.Context, session, turn string, held bool) error {
	items, err := e.prompts(ctx, session)
	if err != nil {
		return err
	}
	found := turn == ""
	for _, item := range items {
		var q queuedPrompt
		if turn != "" && item.ID != turn {
			continue
		}
		found = true
		if json.Unmarshal(item.Body, &q) != nil || q.Held == held || held && q.Origin == terret.OriginBus {
			continue
		}
		q.Held = held
		body, err := json.Marshal(q)
		if err != nil {
			return terret.Invalid("prompt", "%w", err)
		}
		if err := e.store.Edit(ctx, item.ID, body, ""); err != nil && !removed(err) {
			return err
		}
	}
	if !found {
		return terret.Errorf(terret.CodeConflict, "no prompt %s is queued; it may have begun", turn)
	}
	e.edits.Add(1)
	return nil
}

// SendQueued sends a held prompt on: it runs as soon as the session is free. Without a turn
// it sends on all that are held. A prompt that has begun is a conflict.
func (e *Engine) SendQueued(ctx context.Context, session, turn, by string) error {
	l, foreign := e.own(ctx, session)
	if err := e.hold(ctx, session, turn, false); err != nil {
		return err
	}
	if foreign != nil { // its owner sees it in the store, if there is one
		s, err := e.store.Session(ctx, session)
		if err != nil {
			return err
		}
		return e.peers.Rouse(ctx, s, true)
	}
	e.next(l)
	e.showQueue(l, by, "")
	return nil
}

// lastQueue is the queue as the log last showed it.
func (e *Engine) lastQueue(ctx context.Context, session string) ([]terret.QueuedPrompt, error) {
	entries, err := e.store.Read(ctx, terret.ReadQuery{Session: session, Kinds: []terret.Kind{terret.KindQueueChange}, Backward: true, Limit: 1})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	ev, err := entries[0].Decode()
	d, _ := ev.Data.(terret.QueueChange)
	return d.Queue, err
}

// prompts lists the prompts in a session's queue.
func (e *Engine) prompts(ctx context.Context, session string) ([]terret.InboxItem, error) {
	items, err := e.store.Pending(ctx, session)
	return slices.DeleteFunc(items, func(i terret.InboxItem) bool { return i.Kind != terret.InboxPrompt }), err
}

// showQueues shows the queues of our sessions that other processes have changed. items are
// what waits for all of them.
func (e *Engine) showQueues(items []terret.InboxItem) {
	byID := map[string][]terret.InboxItem{}
	for _, item := range items {
		if item.Kind == terret.InboxPrompt {
			byID[item.Session] = append(byID[item.Session], item)
		}
	}
	for _, l := range e.lives() {
		l.mu.Lock()
		_, differs := l.queueNow(byID[l.id])
		l.mu.Unlock()
		if differs {
			e.goBackground(func() { e.showQueue(l, "", "") })
		}
	}
}

// showQueue writes to the log what the queue is now, if that is not what the log shows.
func (e *Engine) showQueue(l *live, by, reason string) {
	l.showing.Lock()
	defer l.showing.Unlock()
	items, err := e.prompts(e.life, l.id)
	if err != nil {
		return // whoever looks next shows it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, differs := l.queueNow(items)
	if !differs || l.unusable() != nil {
		return
	}
	change := changeOf(l.queueShown, now)
	l.queueShown = now
	change.Count = len(now)
	change.Queue = []terret.QueuedPrompt{}
	for _, q := range now[:min(len(now), 100)] {
		change.Queue = append(change.Queue, q.QueuedPrompt)
		if change.Change == terret.QueueAdded && q.Turn == change.Turn {
			by = q.By
		}
	}
	if change.Change == terret.QueueHeld {
		change.Reason = reason
	}
	l.write(l.put(nil, terret.Event{By: by, Data: change}), nil)
}

// queueNow is what the log should show of these prompts, and whether that differs from what
// it shows. A prompt that is about to begin is not shown to wait: whoever begins it shows
// the rest. l.mu must be held.
func (l *live) queueNow(items []terret.InboxItem) (now []shown, differs bool) {
	if l.holding {
		return nil, false // holdQueue shows it
	}
	for i, item := range items {
		if l.begun[item.ID] {
			continue
		}
		waits := l.waits(item)
		if !waits && l.phase == idle {
			return nil, false
		}
		hash := l.e.hashOf(item.Body)
		if i < len(l.queueShown) && l.queueShown[i].Turn == item.ID && l.queueShown[i].hash == hash {
			now = append(now, l.queueShown[i])
			continue
		}
		q := shown{terret.QueuedPrompt{Turn: item.ID, By: item.By, Held: isHeld(item.Body)}, hash}
		var p terret.Prompt
		if json.Unmarshal(item.Body, &p) == nil {
			text := terret.TextOf(p.Blocks)
			if l.secrets.known != nil {
				text = l.secrets.known.String(text) // before it is cut
			}
			q.Text = brief.Line(text)
		}
		now = append(now, q)
	}
	return now, !slices.Equal(now, l.queueShown)
}

// unshow takes a prompt that begins out of the queue that the log shows: its turn.start
// says so. l.mu must be held.
func (l *live) unshow(turn string) {
	l.queueShown = slices.DeleteFunc(slices.Clone(l.queueShown), func(q shown) bool { return q.Turn == turn })
}

// changeOf says what happened between two states of a queue: the first difference that a
// person would name.
func changeOf(old, now []shown) terret.QueueChange {
	find := func(list []shown, turn string) *shown {
		if i := slices.IndexFunc(list, func(q shown) bool { return q.Turn == turn }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, q := range now {
		was := find(old, q.Turn)
		switch {
		case was == nil && !q.Held:
			return terret.QueueChange{Change: terret.QueueAdded, Turn: q.Turn}
		case q.Held && (was == nil || !was.Held):
			return terret.QueueChange{Change: terret.QueueHeld}
		case was.Held && !q.Held:
			return terret.QueueChange{Change: terret.QueueSent, Turn: q.Turn}
		}
	}
	for _, q := range old {
		switch is := find(now, q.Turn); {
		case is == nil:
			return terret.QueueChange{Change: terret.QueueDropped, Turn: q.Turn}
		case is.hash != q.hash:
			return terret.QueueChange{Change: terret.QueueEdited, Turn: q.Turn}
		}
	}
	return terret.QueueChange{Change: terret.QueueMoved}
}

func (e *Engine) hashOf(body terret.JSON) uint64 { return maphash.Bytes(e.seed, body) }
