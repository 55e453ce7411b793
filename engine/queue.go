package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// Queue lists the queued prompts, in order.
func (e *Engine) Queue(ctx context.Context, session string) ([]terret.Turn, error) {
	items, err := e.store.Pending(ctx, session)
	if err != nil {
		return nil, err
	}
	out := []terret.Turn{}
	for _, item := range items {
		if item.Kind != terret.InboxPrompt {
			continue
		}
		var p queuedPrompt
		if err := json.Unmarshal(item.Body, &p); err != nil {
			e.log.Warn("a queued prompt cannot be read", "turn", item.ID, "error", err) // it can be dropped
		}
		out = append(out, terret.Turn{ID: item.ID, Session: session, State: terret.TurnQueued, Origin: terret.OriginQueue, Held: p.Held, MessageID: p.MessageID, Prompt: p.Blocks})
	}
	return out, nil
}

// QueueEdit changes a queued prompt. What is not set stays as it is.
type QueueEdit struct {
	Session, Turn string
	Prompt        *terret.Prompt // a queued command becomes the prompt
	Before        string         // the turn to move it before, or "end"
	By            string
}

// EditQueued changes a queued prompt. One that has begun is a conflict.
func (e *Engine) EditQueued(ctx context.Context, r QueueEdit) error {
	var body terret.JSON
	if r.Prompt != nil {
		if err := checkPrompt(PromptRequest{Prompt: *r.Prompt}); err != nil {
			return err
		}
		old, err := e.queued(ctx, r.Session, r.Turn)
		if err != nil {
			return err
		}
		if body, err = json.Marshal(queuedPrompt{Prompt: *r.Prompt, Origin: old.Origin, Held: old.Held}); err != nil {
			return terret.Invalid("prompt", "%w", err)
		}
	}
	l, _ := e.own(ctx, r.Session) // who owns the session logs the change
	if err := e.store.Edit(ctx, r.Turn, body, r.Before); err != nil {
		return err
	}
	return e.edited(l, r.Turn, r.By)
}

// DropQueued removes a queued prompt. One that has begun is a conflict.
func (e *Engine) DropQueued(ctx context.Context, session, turn, by string) error {
	l, _ := e.own(ctx, session) // who owns the session logs the change
	if err := e.store.Drop(ctx, turn); err != nil {
		return err
	}
	return e.edited(l, turn, by)
}

// edited is called after a queued prompt was changed in the store. Whoever has read the
// queue and begins a prompt from now on reads it again; a prompt that has begun meanwhile
// was not changed, and that is a conflict. l is nil if the session is not ours.
func (e *Engine) edited(l *live, turn, by string) error {
	e.edits.Add(1)
	if l == nil { // another process owns the session, and sees the change in the store
		return nil
	}
	l.mu.Lock()
	begun := l.begun[turn]
	l.mu.Unlock()
	if begun {
		return terret.Errorf(terret.CodeConflict, "the queued prompt %s has just begun", turn)
	}
	e.showQueue(l, by, "")
	return nil
}

// enqueuePrompt adds a prompt to the session's queue. If its owner gives the session
// back at that moment, we take it.
func (e *Engine) enqueuePrompt(ctx context.Context, r PromptRequest) (terret.Turn, error) {
	body, err := json.Marshal(queuedPrompt{Prompt: r.Prompt, Command: r.command, Origin: r.Origin})
	if err != nil {
		return terret.Turn{}, terret.Invalid("prompt", "%w", err)
	}
	if err := e.store.Send(ctx, terret.InboxItem{ID: r.Turn, Session: r.Session, Kind: terret.InboxPrompt, Body: body, By: r.By}); err != nil {
		return terret.Turn{}, err
	}
	if _, err := e.own(ctx, r.Session); err == nil {
		e.goBackground(func() { e.runQueue(r.Session) })
	} else if !errors.Is(err, terret.ErrConflict) {
		return terret.Turn{}, err
	}
	return terret.Turn{ID: r.Turn, Session: r.Session, State: terret.TurnQueued, Origin: cmp.Or(r.Origin, terret.OriginQueue), MessageID: r.Prompt.MessageID, Prompt: r.Prompt.Blocks}, nil
}

// queued reads a prompt of the queue.
func (e *Engine) queued(ctx context.Context, session, turn string) (queuedPrompt, error) {
	var q queuedPrompt
	items, err := e.prompts(ctx, session)
	if err != nil {
		return q, err
	}
	i := slices.IndexFunc(items, func(i terret.InboxItem) bool { return i.ID == turn })
	if i < 0 {
		return q, terret.Errorf(terret.CodeConflict, "no prompt %s is queued; it may have begun", turn)
	}
	_ = json.Unmarshal(items[i].Body, &q) // what cannot be read is replaced
	return q, nil
}

// queuedIDs lists the ids of the prompts in a session's queue that are not held.
func (e *Engine) queuedIDs(ctx context.Context, id string) (map[string]bool, error) {
	queue, err := e.Queue(ctx, id)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(queue))
	for _, t := range queue {
		if !t.Held {
			ids[t.ID] = true
		}
	}
	return ids, nil
}

// hasQueue reports whether queued prompts will run by themselves: between two turns
// there may be some while nothing runs.
func (e *Engine) hasQueue(ctx context.Context, l *live) (bool, error) {
	items, err := e.store.Pending(ctx, l.id)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(items, func(i terret.InboxItem) bool {
		return i.Kind == terret.InboxPrompt && !l.waits(i) && !l.begun[i.ID]
	}), nil
}

// runQueue claims the session and runs its queue, whoever filled it.
func (e *Engine) runQueue(id string) {
	l, err := e.own(e.life, id)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.leftover = nil
	l.mu.Unlock()
	e.next(l)
	e.showQueue(l, "", "")
}

// reclaim takes back a session if somebody queued a prompt at the very moment it was
// given back.
func (e *Engine) reclaim(l *live) {
	queue, err := e.queuedIDs(context.Background(), l.id)
	l.mu.Lock()
	for id := range l.leftover {
		delete(queue, id)
	}
	l.mu.Unlock()
	if err != nil || len(queue) == 0 || e.isClosed() {
		return // the queue waits until somebody prompts the session
	}
	e.goBackground(func() { e.runQueue(l.id) })
}

// errEdited says that the queue was changed after it was read.
var errEdited = errors.New("the queue was changed")

// next begins the first queued prompt, unless a turn runs: the end of that one calls next
// again.
func (e *Engine) next(l *live) {
	for l.seesQueue() {
		err := e.beginNext(l)
		if err == nil {
			return
		}
		if !errors.Is(err, errEdited) {
			l.log.Warn("cannot read the queue", "error", err)
			l.lookAtQueue()
			e.watch.LookAgain() // which comes back here
			return
		}
	}
}

// seesQueue reports whether the session is free for a prompt from the queue. It drops the
// hint that there is one, until somebody gives it again.
func (l *live) seesQueue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mayQueue = l.phase != idle || l.holding
	return !l.mayQueue
}

// lookAtQueue says that there may be prompts in the queue.
func (l *live) lookAtQueue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mayQueue = true
}

// beginNext begins the first prompt of the queue that may run, if there is one.
func (e *Engine) beginNext(l *live) error {
	edits := e.edits.Load()
	items, err := e.store.Pending(e.life, l.id)
	for _, item := range items {
		if item.Kind != terret.InboxPrompt {
			continue
		}
		p, err := e.fromQueue(l, item)
		if err != nil {
			return err
		}
		if done, err := l.beginQueued(item, p, func() bool { return e.edits.Load() != edits }); done || err != nil {
			return err
		}
	}
	return err
}

// fromQueue prepares a prompt that was queued. It has no turn if it cannot run.
func (e *Engine) fromQueue(l *live, item terret.InboxItem) (beginning, error) {
	b := beginning{taken: item.ID}
	switch _, err := e.store.Turn(e.life, l.id, item.ID); {
	case err == nil: // by another path
		l.mu.Lock()
		l.begun[item.ID] = true
		l.mu.Unlock()
		return b, nil
	case !errors.Is(err, terret.ErrNotFound):
		return b, err
	}
	var q queuedPrompt
	if err := json.Unmarshal(item.Body, &q); err != nil {
		l.log.Error("dropped a queued prompt that cannot be read", "turn", item.ID, "error", err)
		return b, nil
	}
	account, err := e.account(e.life, l)
	if err != nil {
		return b, err
	}
	b.PromptRequest = after(account, PromptRequest{
		Session: l.id, Prompt: q.Prompt, By: item.By, Turn: item.ID, Origin: cmp.Or(q.Origin, terret.OriginQueue), command: q.Command,
	})
	b.in, b.unfit = e.settingsFor(e.life, l.sessionCopy(), q.Options)
	return b, nil
}

// beginQueued begins a prompt of the queue, unless it waits there until somebody prompts.
// One that has begun or cannot run leaves the queue. It reports whether the others wait.
func (l *live) beginQueued(item terret.InboxItem, b beginning, edited func() bool) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.waits(item) && !l.begun[b.taken]:
		return false, nil
	case l.phase != idle || l.holding || l.unusable() != nil:
	case b.Turn == "" || l.begun[b.taken]:
		l.journal.Append(&journal.Write{Taken: []string{b.taken}})
		return false, nil
	case edited():
		return false, errEdited
	default:
		l.unshow(b.taken)
		l.begin(b)
	}
	l.mayQueue = true // there may be more
	return true, nil
}

// take marks an inbox item as handled.
func (l *live) take(item string) *journal.Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.journal.Append(&journal.Write{Taken: []string{item}})
}
