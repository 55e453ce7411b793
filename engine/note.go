package engine

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// OpenLog makes a session in which no agent works, unless it exists. In a fleet it is
// anybody's.
func (e *Engine) OpenLog(ctx context.Context, id, title string) error {
	return e.openLog(ctx, id, title, "")
}

// OpenLogHere is OpenLog for work that only this node can do, because it has the folder.
func (e *Engine) OpenLogHere(ctx context.Context, id, title string) error {
	return e.openLog(ctx, id, title, e.cfg.Node)
}

func (e *Engine) openLog(ctx context.Context, id, title, node string) error {
	_, err := e.store.Session(ctx, id)
	if !errors.Is(err, terret.ErrSessionNotFound) {
		return err
	}
	cwd := e.cfg.Home
	if cwd == "" {
		cwd = os.TempDir()
	}
	_, err = e.store.Create(ctx, terret.Session{
		ID: id, Agent: NoAgent, Title: title, Cwd: cwd, Mode: terret.ModeDirect, Policy: terret.PolicyAsk, State: terret.SessionIdle, Node: node,
	})
	if err == nil {
		return nil
	}
	if _, again := e.store.Session(ctx, id); again == nil {
		return nil // somebody else was faster
	}
	return err
}

// Note appends events about a team or about tasks to a log that OpenLog made, all or none of them,
// whichever process owns it. It returns when they are in the log. If it fails because the
// context ends, they may still get there.
func (e *Engine) Note(ctx context.Context, session, by string, data ...terret.Data) error {
	events, err := notes(by, data)
	if err != nil {
		return err
	}
	err = e.on(ctx, session, func(l *live) error {
		a, err := l.appendNotes(events, nil)
		if err != nil {
			return err
		}
		return a.Wait()
	})
	if isForeign(err) {
		return e.noteForeign(ctx, session, by, events)
	}
	return err
}

// notes are the events that data becomes.
func notes(by string, data []terret.Data) ([]terret.Event, error) {
	out := make([]terret.Event, 0, len(data))
	for _, d := range data {
		switch d.(type) {
		case terret.BusMessage, terret.BusReceipt, terret.AgentStateChange, terret.TaskStart, terret.TaskUpdate, terret.TaskEnd:
			out = append(out, terret.Event{By: by, Data: d})
		default:
			return nil, terret.Errorf(terret.CodeInternal, "%s is about an agent's work, which only the agent reports", terret.Event{Data: d}.Kind())
		}
	}
	return out, nil
}

// appendNotes writes events to a session without an agent, and marks inbox items as handled.
func (l *live) appendNotes(events []terret.Event, taken []string) (*journal.Write, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session.Agent != NoAgent {
		return nil, terret.Errorf(terret.CodeConflict, "session %s belongs to an agent; nobody else writes to it", l.id)
	}
	if err := l.unusable(); err != nil {
		return nil, err
	}
	var out []terret.Event
	for _, ev := range events {
		out = l.put(out, ev)
	}
	return l.journal.Append(&journal.Write{Events: out, Taken: taken}), nil
}

// noteEvery is how often we look whether another process has taken a note.
const noteEvery = 20 * time.Millisecond

// noteForeign has another process append events. If that one gives the session back, we
// take it, and the note with it, or the node does whose session it is.
func (e *Engine) noteForeign(ctx context.Context, session, by string, events []terret.Event) error {
	s, err := e.store.Session(ctx, session)
	if err == nil {
		err = e.peers.Reachable(ctx, s)
	}
	if err != nil {
		return err
	}
	item, err := e.peers.SendNote(ctx, session, by, events)
	if err != nil {
		return err
	}
	if err := e.peers.Rouse(ctx, s, false); err != nil {
		return err
	}
	for {
		if _, err := e.own(ctx, session); err != nil && !errors.Is(err, terret.ErrConflict) {
			return err
		}
		if waiting, err := e.peers.Waits(ctx, item); err != nil || !waiting {
			return err
		}
		again := time.NewTimer(noteEvery)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		}
	}
}
