package codex

import (
	"context"

	"github.com/terret-dev/terret"
)

// Fork implements terret.Forker. The copy is made when it is opened. Codex copies whole
// turns: a copy up to a message ends with the turn of that message.
func (a *agent) Fork(ctx context.Context, messageID string) (string, error) {
	a.mu.Lock()
	current := a.native
	a.mu.Unlock()
	if current == "" {
		return "", terret.Errorf(terret.CodeNotFound, "the conversation has not begun; prompt the session first")
	}
	n, err := parseNative(current)
	if err != nil {
		return "", err
	}
	n.copy = true
	if messageID != "" {
		turns, err := a.turns(ctx)
		if err != nil {
			return "", err
		}
		i := find(turns, messageID)
		if i < 0 {
			return "", unknownMessage(messageID)
		}
		n.last = turns[i].ID
	}
	return n.String(), nil
}

// Rewind implements terret.Rewinder. The thread is not changed: the session goes on with
// a copy that ends before the message.
func (a *agent) Rewind(ctx context.Context, messageID string) error {
	turns, err := a.turns(ctx)
	if err != nil {
		return err
	}
	i := find(turns, messageID)
	if i < 0 {
		return unknownMessage(messageID)
	}
	return a.moveTo(ctx, "rewind", func(p *process, params object) (threadAnswer, []string, error) {
		a.mu.Lock()
		old := a.native
		a.mu.Unlock()
		undone := append([]string{old}, a.Undone()...)
		if i == 0 { // before the first prompt there is nothing to copy
			answer, err := p.callThread(ctx, "thread/start", params)
			return answer, undone, err
		}
		params["threadId"], params["excludeTurns"], params["lastTurnId"] = old, true, turns[i-1].ID
		answer, err := p.callThread(ctx, "thread/fork", params)
		return answer, undone, err
	})
}

// Forward implements terret.Rewinder.
func (a *agent) Forward(ctx context.Context) error {
	return a.moveTo(ctx, "forward", func(p *process, params object) (threadAnswer, []string, error) {
		to, undone, err := a.Redo()
		if err != nil {
			return threadAnswer{}, nil, err
		}
		params["threadId"], params["excludeTurns"] = to, true
		answer, err := p.callThread(ctx, "thread/resume", params)
		return answer, undone, err
	})
}

// moveTo goes on with another thread from the next prompt on.
func (a *agent) moveTo(ctx context.Context, reason string, load func(*process, object) (threadAnswer, []string, error)) error {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.running(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	old, model := a.native, a.model
	a.mu.Unlock()
	answer, undone, err := load(p, p.threadParams(model))
	if err != nil {
		return refusal(err)
	}
	a.mu.Lock()
	a.native = answer.Thread.ID
	a.mu.Unlock()
	return a.Undo(ctx, undone, terret.Event{Data: terret.SessionNativeID{Old: terret.NullString(old), New: answer.Thread.ID, Reason: reason}})
}

func unknownMessage(id string) error {
	return terret.Errorf(terret.CodeNotFound, "Codex does not know the message %s in this session", id)
}

// find is the turn that holds a message, or -1.
func find(turns []turnInfo, messageID string) int {
	for i, t := range turns {
		for _, it := range t.Items {
			if it.ID == messageID || it.ClientID == messageID && messageID != "" {
				return i
			}
		}
	}
	return -1
}

// maxPages bounds how much of a thread's past is read.
const maxPages = 1000

// turns are those of the thread that hold anything, the first one first.
func (a *agent) turns(ctx context.Context) ([]turnInfo, error) {
	a.Switching.Lock()
	p, err := a.running(ctx)
	a.Switching.Unlock()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	thread := a.native
	a.mu.Unlock()
	var out []turnInfo
	params := object{"threadId": thread, "itemsView": "full", "sortDirection": "asc", "limit": 50}
	for range maxPages {
		var page struct {
			Data []turnInfo `json:"data"`
			Next string     `json:"nextCursor"`
		}
		if err := p.conn.Call(ctx, "thread/turns/list", params, &page); err != nil {
			return nil, refusal(err)
		}
		out = append(out, page.Data...)
		if page.Next == "" || len(page.Data) == 0 {
			break
		}
		params["cursor"] = page.Next
	}
	return out, nil
}

// running is the process, started if there is none. a.Switching must be held.
func (a *agent) running(ctx context.Context) (*process, error) {
	if p, err := a.Occupied(); err == nil {
		return p, nil
	}
	a.mu.Lock()
	in := a.turn
	a.mu.Unlock()
	return a.ready(ctx, in)
}
