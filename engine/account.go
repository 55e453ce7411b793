package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/handover"
)

// account is what the agent of a session that was moved to this node must be told before its
// prompt: what happened in the old one. It is empty if the agent knows it, or if there is
// nothing to tell.
func (e *Engine) account(ctx context.Context, l *live) (string, error) {
	l.mu.Lock()
	s, told := l.session, l.told
	l.mu.Unlock()
	if told || s.ForkedFrom == "" || s.Node == "" {
		return "", nil
	}
	if err := l.flush(); err != nil { // how the last turn ended must be in the store
		return "", err
	}
	text, err := e.accountFor(ctx, s)
	if err == nil && text == "" {
		l.mu.Lock()
		l.told = true
		l.mu.Unlock()
	}
	return text, err
}

func (e *Engine) accountFor(ctx context.Context, s terret.Session) (string, error) {
	from, err := e.store.Session(ctx, s.ForkedFrom)
	if errors.Is(err, terret.ErrSessionNotFound) || err == nil && (from.Node == "" || from.Node == s.Node) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	turns, err := e.store.Turns(ctx, s.ID)
	if err != nil || slices.ContainsFunc(turns, heardAccount) {
		return "", err
	}
	from, err = handover.Source(ctx, e.store, from) // it may have moved again before anybody prompted it
	if err != nil || from.ID == "" {
		return "", err
	}
	return handover.Moved(ctx, e.store, from, s)
}

// heardAccount reports whether the agent has heard the account in that turn for certain: one that
// failed or was stopped may not have reached it. To hear it twice does no harm.
func heardAccount(t terret.Turn) bool {
	return !t.Undone && t.State == terret.TurnCompleted && handover.Begins(t.Prompt)
}

// after is a prompt that begins with an account.
func after(account string, r PromptRequest) PromptRequest {
	if account != "" && r.command == nil {
		r.Prompt.Blocks = append([]terret.Block{terret.Text(account + "\n\n")}, r.Prompt.Blocks...)
	}
	return r
}
