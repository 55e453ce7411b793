package engine

import (
	"context"
	"errors"
	"time"

	"github.com/terret-dev/terret"
)

// A session's folder and its agent's memory are on its node, so a session does not go to
// another one itself: a successor goes on there, in a copy of the folder, and its agent is
// told what happened so far when it gets its first prompt.

// moveTime bounds what follows when the successor is there: the caller may be gone by then.
const moveTime = 30 * time.Second

// Moving says how to move a session's work.
type Moving struct {
	Session, By string
	// First, if set, is the successor's first prompt. Without it the successor waits until
	// somebody prompts it.
	First *terret.Prompt
	// Make makes the successor on another node, with ForkedFrom. Meanwhile no turn begins
	// in the session.
	Make func(ctx context.Context, s terret.Session) (terret.Session, error)
}

// Move has another session, on another node, go on with the work of one in which nothing
// happens, and notes in its log which. Queued prompts go along; those that would not have run
// by themselves do not run there either. If the successor cannot be made, everything stays
// as it was. It returns the successor's first turn, which waits in its queue; nil without a first
// prompt.
func (e *Engine) Move(ctx context.Context, m Moving) (made terret.Session, first *terret.Turn, err error) {
	var owner *live
	err = e.quietly(ctx, m.Session, "move it to another node", func(l *live) error {
		owner = l
		if err := l.canMove(); err != nil {
			return err
		}
		var err error
		if made, err = m.Make(ctx, l.sessionCopy()); err != nil {
			return err
		}
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveTime)
		defer cancel()
		first, err = e.succeed(rest, l, m, made)
		return err
	})
	if err == nil {
		e.shut(context.WithoutCancel(ctx), owner, idleReaped) // its agent is not needed any more
	}
	return made, first, err
}

// canMove refuses a session that has moved, or whose agent still does something.
func (l *live) canMove() error {
	if err := l.flush(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.session.HandedTo != "":
		return terret.Errorf(terret.CodeConflict, "session %s was handed over to session %s; move that one", l.id, l.session.HandedTo)
	case l.host != nil && len(l.host.tasks) > 0:
		return terret.Errorf(terret.CodeSessionBusy, "tasks of the agent run in the background of session %s; wait for them, or close the session, before you move it to another node", l.id)
	}
	return nil
}

// succeed hands the work over to a session that is there.
func (e *Engine) succeed(ctx context.Context, l *live, m Moving, to terret.Session) (*terret.Turn, error) {
	l.mu.Lock()
	a := l.write(l.put(nil, terret.Event{By: m.By, Data: terret.SessionUpdated{HandedTo: &to.ID}}), nil)
	l.mu.Unlock()
	if err := a.Wait(); err != nil {
		return nil, err
	}
	var first *terret.Turn
	if m.First != nil {
		r := PromptRequest{Session: to.ID, Prompt: *m.First, When: WhenQueue, By: m.By, Turn: terret.NewID(terret.PrefixTurn)}
		r.Prompt.MessageID = terret.NewID(terret.PrefixMessage)
		t, err := e.promptForeign(ctx, r)
		if err != nil {
			return nil, err
		}
		first = &t
	}
	return first, e.moveQueue(ctx, l, to)
}

// moveQueue moves the queued prompts. Each is there before it is gone here, so that none is
// lost.
func (e *Engine) moveQueue(ctx context.Context, l *live, to terret.Session) error {
	items, err := e.store.Pending(ctx, l.id)
	if err != nil {
		return err
	}
	run := false
	for _, item := range items {
		l.mu.Lock()
		waits, begun := l.waits(item), l.begun[item.ID]
		l.mu.Unlock()
		if item.Kind != terret.InboxPrompt || begun {
			continue
		}
		old := item.ID
		item.ID, item.Session = terret.NewID(terret.PrefixTurn), to.ID
		if err := e.store.Send(ctx, item); err != nil {
			return err
		}
		switch err := e.store.Drop(ctx, old); {
		case removed(err): // by somebody else, just now
			if err := e.store.Drop(ctx, item.ID); err != nil && !removed(err) {
				return err
			}
		case err != nil:
			return err
		default:
			run = run || !waits
		}
	}
	if !run {
		return nil
	}
	return e.peers.Rouse(ctx, to, true)
}

// removed reports whether an item is no longer in the queue.
func removed(err error) bool {
	return errors.Is(err, terret.ErrNotFound) || errors.Is(err, terret.ErrConflict)
}
