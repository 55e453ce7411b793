package team

import (
	"context"
	"errors"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// Answer is what an agent made of a prompt.
type Answer struct {
	Text    string
	Session string // where it was made
	Turn    string
	CostUSD terret.Cost
}

// Ask gives an agent a prompt and waits for the answer. The id names the question: asking
// with the same id and attempt again, even in another process, asks once and returns what
// was said then. If the agent fails, what is known about the turn comes with the error.
func Ask(ctx context.Context, providers *Providers, c Config, id string, attempt int, prompt string) (Answer, error) {
	p, err := providers.Get(c.Type)
	if err != nil {
		return Answer{}, err
	}
	agent, err := p.CreateAgent(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	m := NewMessage("user", prompt, c.Name)
	m.ID, m.Metadata = derivedID("ask", id), map[string]any{metaAttempt: attempt}
	var last Message
	for said, e := range agent.HandleMessage(ctx, m) {
		if e != nil {
			err = e
			continue
		}
		last = said
	}
	out := Answer{Session: last.text(metaSession), Turn: last.text(metaTurn), CostUSD: costOf(last)}
	if err == nil {
		out.Text = last.Content
	}
	return out, err
}

// StopAsked stops what Ask began with that name, id and attempt, and returns when it has
// ended. If it has not begun, it never will.
func StopAsked(ctx context.Context, h Host, name, id string, attempt int) error {
	session, turn := AskSession(name, id), turnOf(name, derivedID("ask", id), attempt)
	t, err := h.Engine.FindTurn(ctx, session, turn)
	if err != nil || t == nil {
		return err
	}
	if t.State == terret.TurnQueued {
		err := h.Engine.DropQueued(ctx, session, turn, "")
		if !errors.Is(err, terret.ErrConflict) { // it has just begun
			return err
		}
		t.State = terret.TurnRunning
	}
	if t.State != terret.TurnRunning {
		return nil
	}
	if err := h.Engine.Interrupt(ctx, session, ""); err != nil && !errors.Is(err, terret.ErrConflict) {
		return err
	}
	for entry, err := range h.Engine.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			return err
		}
		if ev, err := entry.Decode(); err == nil && ev.Turn == turn && ev.Kind().EndsTurn() {
			break
		}
	}
	return context.Cause(ctx)
}

// AskSession is the session in which an agent of that name, in query mode, is asked.
func AskSession(name, id string) string { return derivedID("session", name, derivedID("ask", id)) }
