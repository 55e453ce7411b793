package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/remote"
)

// checkEvery bounds how often we look in the store for requests from other processes.
const checkEvery = 20 * time.Millisecond

// watchLoop handles what other processes write: prompts, interrupts and answers for our
// sessions, and events of their sessions that somebody here watches.
func (e *Engine) watchLoop() {
	var version int64
	for {
		if len(e.lives()) == 0 && !e.hub.Watching() && e.cfg.Node == "" {
			select {
			case <-e.watch.Poked:
			case <-e.life.Done():
				return
			}
		}
		v, err := e.watch.Wait(e.life, e.store, version)
		if e.life.Err() != nil {
			return
		}
		every := checkEvery
		if err != nil {
			e.log.Error("cannot watch the store", "error", err)
			v, every = version, time.Second
		}
		version = v
		if err := e.lookAround(); err != nil { // whoever wrote will not say so again
			e.watch.LookAgain()
			every = time.Second
		}
		pause := time.NewTimer(every)
		select {
		case <-pause.C:
		case <-e.life.Done():
			pause.Stop()
			return
		}
	}
}

// lookAround handles what other processes may have written.
func (e *Engine) lookAround() error {
	e.dropLost()
	e.hub.WakeOthers(func(session string) bool { return e.mine(session) != nil })
	err := e.serveInbox(e.life)
	if err != nil && e.life.Err() == nil {
		e.log.Warn("cannot read what other processes want", "error", err)
	}
	return err
}

// serveInbox handles what other processes ask of our sessions.
func (e *Engine) serveInbox(ctx context.Context) error {
	if len(e.lives()) == 0 && e.cfg.Node == "" {
		return nil
	}
	answered, err := e.store.Answered(ctx)
	if err != nil {
		return err
	}
	for _, r := range answered {
		if l := e.mine(r.Session); l != nil && !e.isDeciding(r.RequestID) {
			l.decided(r.RequestID, *r.Decision)
		}
	}
	items, err := e.store.Pending(ctx, "")
	if err != nil {
		return err
	}
	for _, item := range items {
		if l := e.mine(item.Session); l != nil {
			e.serve(ctx, l, item)
		} else if item.Kind == terret.InboxWake {
			e.woken(item)
		}
	}
	return nil
}

func (e *Engine) serve(ctx context.Context, l *live, item terret.InboxItem) {
	if item.Kind == terret.InboxPrompt {
		l.mu.Lock()
		l.queued = true
		free := l.phase == idle && l.unusable() == nil && !l.leftover[item.ID]
		l.mu.Unlock()
		if free {
			e.goBackground(func() { e.next(l) })
		}
		return
	}
	if item.Kind == terret.InboxNote {
		e.takeNote(l, item)
		return
	}
	if item.Kind == terret.InboxWake {
		e.woken(item)
		return
	}
	if item.Kind == terret.InboxUpdate {
		e.takeUpdate(ctx, l, item)
		return
	}
	if l.take(item.ID).Wait() != nil {
		return
	}
	e.goBackground(func() {
		var w remote.Wish
		var err error
		switch item.Kind {
		case terret.InboxInterrupt, terret.InboxKill, terret.InboxClose:
			if err = unmarshal(item.Body, &w); err == nil {
				e.grant(ctx, l, item, w)
			}
		case terret.InboxPrompt, terret.InboxNote, terret.InboxWake, terret.InboxUpdate: // above
		default:
			err = terret.Errorf(terret.CodeUnsupported, "unknown inbox item %q", item.Kind)
		}
		if err != nil {
			l.log.Warn("a request from another process failed", "kind", item.Kind, "error", err)
		}
	})
}

// takeUpdate changes the session as another process asked, after earlier changes. What
// cannot be written because the session is given back waits for its next owner.
func (e *Engine) takeUpdate(ctx context.Context, l *live, item terret.InboxItem) {
	l.mu.Lock()
	if l.known[item.ID] || l.unusable() != nil {
		l.mu.Unlock()
		return
	}
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[item.ID] = true
	l.updates = append(l.updates, item)
	first := len(l.updates) == 1
	l.mu.Unlock()
	if first {
		e.goBackground(func() { e.carryOut(ctx, l, item) })
	}
}

// carryOut carries out the first change that other processes sent, and those after it.
func (e *Engine) carryOut(ctx context.Context, l *live, item terret.InboxItem) {
	for more := true; more; {
		var u terret.SessionUpdated
		err := unmarshal(item.Body, &u)
		if err == nil {
			err = e.update(ctx, l, u, item.By, item.ID)
		}
		l.mu.Lock()
		refused := err != nil && l.unusable() == nil
		l.mu.Unlock()
		if refused {
			l.log.Warn("a request from another process failed", "kind", item.Kind, "error", err)
			_ = l.take(item.ID).Wait() // if it was not written, the next owner tries it again
		}
		l.mu.Lock()
		l.updates = l.updates[1:]
		if more = len(l.updates) > 0 && l.unusable() == nil; more {
			item = l.updates[0]
		}
		l.mu.Unlock()
	}
}

// grant does what an item asks for, if that still applies.
func (e *Engine) grant(ctx context.Context, l *live, item terret.InboxItem, w remote.Wish) {
	t, epoch := l.current(), l.snapshot().Epoch
	switch {
	case item.Kind == terret.InboxClose && w.Epoch == epoch:
		e.shut(ctx, l, "closed")
	case item.Kind != terret.InboxClose && t != nil && t.id == w.Turn:
		e.stopLocal(ctx, l, t, item.Kind, item.By)
	}
}

// promptForeign sends a prompt to the process that owns the session.
func (e *Engine) promptForeign(ctx context.Context, r PromptRequest) (terret.Turn, error) {
	s, err := e.store.Session(ctx, r.Session)
	if err != nil {
		return terret.Turn{}, err
	}
	if s.Turn != "" && r.When != WhenQueue {
		return terret.Turn{}, terret.Errorf(terret.CodeSessionBusy, "session %s is busy with a turn in another process; queue the prompt, or wait", s.ID)
	}
	if err := e.peers.TakesPrompts(ctx, s); err != nil {
		return terret.Turn{}, err
	}
	if s.Turn == "" { // it goes by the queue, but need not wait there
		r.Origin = cmp.Or(r.Origin, terret.OriginUser)
	}
	t, err := e.enqueuePrompt(ctx, r)
	if err == nil {
		err = e.peers.Rouse(ctx, s, true)
	}
	return t, err
}

// enqueuePrompt adds a prompt to the session's queue. If its owner gives the session
// back at that moment, we take it.
func (e *Engine) enqueuePrompt(ctx context.Context, r PromptRequest) (terret.Turn, error) {
	body, err := json.Marshal(queued{Prompt: r.Prompt, Command: r.command, Origin: r.Origin})
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

func (e *Engine) stopForeign(ctx context.Context, session string, how terret.InboxKind, by string) error {
	s, err := e.store.Session(ctx, session)
	if err != nil {
		return err
	}
	if s.Owner == "" || s.Turn == "" {
		return notRunning(session)
	}
	return e.peers.Send(ctx, session, how, by, remote.Wish{Turn: s.Turn})
}

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
		var p terret.Prompt
		if err := unmarshal(item.Body, &p); err != nil {
			e.log.Warn("a queued prompt cannot be read", "turn", item.ID, "error", err) // it can be dropped
		}
		out = append(out, terret.Turn{ID: item.ID, Session: session, State: terret.TurnQueued, Origin: terret.OriginQueue, MessageID: p.MessageID, Prompt: p.Blocks})
	}
	return out, nil
}

// EditQueued changes a queued prompt, or moves it before the turn with that id, or to
// the end if "end". A nil prompt or an empty place changes nothing. A queued command
// becomes the prompt. One that has begun is a conflict.
func (e *Engine) EditQueued(ctx context.Context, turn string, p *terret.Prompt, before string) error {
	var body terret.JSON
	if p != nil {
		if err := checkPrompt(PromptRequest{Prompt: *p}); err != nil {
			return err
		}
		var err error
		if body, err = json.Marshal(p); err != nil {
			return terret.Invalid("prompt", "%w", err)
		}
	}
	if err := e.store.Edit(ctx, turn, body, before); err != nil {
		return err
	}
	return e.edited(turn)
}

// DropQueued removes a queued prompt. One that has begun is a conflict.
func (e *Engine) DropQueued(ctx context.Context, turn string) error {
	if err := e.store.Drop(ctx, turn); err != nil {
		return err
	}
	return e.edited(turn)
}

// edited is called after a queued prompt was changed in the store. Whoever has read the
// queue and begins a prompt from now on reads it again; a prompt that has begun meanwhile
// was not changed, and that is a conflict.
func (e *Engine) edited(turn string) error {
	e.edits.Add(1)
	for _, l := range e.lives() {
		l.mu.Lock()
		begun := l.begun[turn]
		l.mu.Unlock()
		if begun {
			return terret.Errorf(terret.CodeConflict, "the queued prompt %s has just begun", turn)
		}
	}
	return nil
}
