package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/journal"
	"github.com/terret-dev/terret/engine/internal/remote"
	"github.com/terret-dev/terret/internal/brief"
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
			l.writeDecision(r.RequestID, *r.Decision)
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
			e.serveWake(item)
		}
	}
	e.showQueues(items)
	return nil
}

func (e *Engine) serve(ctx context.Context, l *live, item terret.InboxItem) {
	if item.Kind == terret.InboxPrompt {
		l.mu.Lock()
		l.mayQueue = true
		free := l.phase == idle && l.unusable() == nil && !l.waits(item)
		l.mu.Unlock()
		if free {
			e.goBackground(func() { e.next(l) })
		}
		return
	}
	if item.Kind == terret.InboxNote {
		e.serveNote(l, item)
		return
	}
	if item.Kind == terret.InboxWake {
		e.serveWake(item)
		return
	}
	if item.Kind == terret.InboxUpdate {
		e.serveUpdate(ctx, l, item)
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
			if err = json.Unmarshal(item.Body, &w); err == nil {
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

// serveUpdate changes the session as another process asked, after earlier changes. What
// cannot be written because the session is given back waits for its next owner.
func (e *Engine) serveUpdate(ctx context.Context, l *live, item terret.InboxItem) {
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
		err := json.Unmarshal(item.Body, &u)
		if err == nil {
			err = e.update(ctx, l, u, item.By, item.ID)
		}
		l.mu.Lock()
		refused := err != nil && l.unusable() == nil
		l.mu.Unlock()
		if refused {
			l.log.Warn("a request from another process failed", "kind", item.Kind, "error", err)
			_ = l.refuse(item, err).Wait() // if it was not written, the next owner tries it again
		}
		l.mu.Lock()
		l.updates = l.updates[1:]
		if more = len(l.updates) > 0 && l.unusable() == nil; more {
			item = l.updates[0]
		}
		l.mu.Unlock()
	}
}

// refuse takes an item that cannot be carried out, and says so in the session: whoever sent it
// waits for no answer.
func (l *live) refuse(item terret.InboxItem, err error) *journal.Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &journal.Write{Taken: []string{item.ID}}
	if l.unusable() == nil {
		w.Events = l.put(nil, terret.Event{By: item.By, Data: terret.DiagWarning{Text: "The session was not changed: " + brief.Line(terret.AsError(err).Message)}})
	}
	return l.journal.Append(w)
}

// grant does what an item asks for, if that still applies.
func (e *Engine) grant(ctx context.Context, l *live, item terret.InboxItem, w remote.Wish) {
	t, epoch := l.current(), l.sessionCopy().Epoch
	switch {
	case item.Kind == terret.InboxClose && w.Epoch == epoch:
		e.shut(ctx, l, "closed")
	case item.Kind != terret.InboxClose && t != nil && t.id == w.Turn:
		e.stopLocal(ctx, l, t, item.Kind, item.By)
	}
}

// serveWake takes a session that somebody on another node has sent something to.
func (e *Engine) serveWake(item terret.InboxItem) {
	e.mu.Lock()
	busy := e.wakes[item.ID]
	e.wakes[item.ID] = true
	e.mu.Unlock()
	if busy {
		return
	}
	started := e.goBackground(func() {
		defer e.wakeEnded(item.ID)
		l, err := e.own(e.life, item.Session)
		switch {
		case err == nil:
			e.wakeUp(l, item)
		case !errors.Is(err, terret.ErrConflict) && e.life.Err() == nil:
			e.log.Warn("cannot take a session that another node asks for", "session", item.Session, "error", err)
		}
	})
	if !started {
		e.wakeEnded(item.ID)
	}
}

func (e *Engine) wakeEnded(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.wakes, id)
}

// wakeUp handles a wake item of a session that is ours.
func (e *Engine) wakeUp(l *live, item terret.InboxItem) {
	var w remote.Wake
	if err := json.Unmarshal(item.Body, &w); err != nil {
		l.log.Warn("a request from another process cannot be read", "error", err)
	}
	if l.take(item.ID).Wait() == nil && w.Run {
		e.runQueue(l.id)
	}
}

// serveNote appends what another process wants to have in the log. The item is handled in
// the same commit.
func (e *Engine) serveNote(l *live, item terret.InboxItem) {
	events, err := remote.Noted(item)
	if err != nil {
		l.log.Warn("dropped a note that cannot be read", "error", err)
		events = nil
	}
	if a, err := l.appendNotes(events, []string{item.ID}); err == nil {
		_ = a.Wait() // if it was not written, the next owner does it
	}
}
