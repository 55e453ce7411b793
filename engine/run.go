package engine

import (
	"cmp"
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

func (l *live) newTurn(id string, origin terret.Origin, p terret.Prompt, in desk.InForce) *turn {
	l.begun[id] = true
	t := &turn{id: id, origin: origin, started: time.Now(), heard: time.Now(), prompt: p, in: in, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(l.e.life)
	l.watchSilence(t)
	return t
}

// begin begins a turn of the session: it writes the first event, and a goroutine runs the
// turn. l.mu must be held, and the session must be idle.
func (l *live) begin(r beginning) *turn {
	l.mayQueue = l.mayQueue || len(l.leftover) > 0
	l.leftover = nil
	t := l.newTurn(r.Turn, r.Origin, r.Prompt, r.in)
	t.command = r.command
	t.prepared = make(chan struct{})
	l.turn = t
	start := terret.TurnStart{Prompt: r.Prompt.Blocks, MessageID: r.Prompt.MessageID, ParentID: r.Prompt.ParentID, Root: r.Prompt.Root, Origin: r.Origin}
	if !isZero(r.Prompt.Options) {
		start.Options = &r.Prompt.Options
	}
	out := l.put(nil, terret.Event{By: r.By, Data: start})
	if title := titleOf(r.Prompt.Blocks); l.session.Title == "" && title != "" && r.command == nil {
		out = l.put(out, terret.Event{Data: terret.SessionUpdated{Title: &title}})
		l.e.findTitle(l, title, terret.TextOf(r.Prompt.Blocks))
	}
	w := &journal.Write{Events: l.to(starting, out)}
	if r.taken != "" {
		w.Taken = []string{r.taken}
	}
	t.began = l.journal.Append(w)
	if !l.e.goBackground(func() { l.e.runTurn(l, t, r.unfit) }) {
		close(t.prepared)
	}
	return t
}

// titleOf is the first line of a prompt, cut to fit into a list.
func titleOf(blocks []terret.Block) string {
	line, _, _ := strings.Cut(strings.TrimSpace(terret.TextOf(blocks)), "\n")
	if r := []rune(line); len(r) > 80 {
		line = strings.TrimSpace(string(r[:79])) + "…"
	}
	return line
}

func isZero[T any](v T) bool { return reflect.ValueOf(v).IsZero() }

// beginBackground starts a turn that the agent began by itself. l.mu must be held, and
// the session must be idle.
func (l *live) beginBackground(out []terret.Event, h *host) []terret.Event {
	l.turn = l.newTurn(terret.NewID(terret.PrefixTurn), terret.OriginBackground, terret.Prompt{}, h.in)
	l.turn.host = h
	out = l.put(out, terret.Event{Data: terret.TurnStart{Prompt: []terret.Block{}, Origin: terret.OriginBackground}})
	return l.to(running, out)
}

// runTurn prepares the folder and the agent, and hands over the prompt, once the log has
// the turn. If it is unfit it ends instead.
func (e *Engine) runTurn(l *live, t *turn, unfit error) {
	err := cmp.Or(t.began.Wait(), unfit)
	if err == nil {
		err = e.prepareTurn(l, t)
	}
	close(t.prepared)
	if err != nil {
		e.endTurn(l, t, terret.AsError(err))
	}
}

func (e *Engine) prepareTurn(l *live, t *turn) error {
	if limit, spent := t.in.MaxCostUSD, l.sessionCopy().CostUSD; limit > 0 && spent >= limit {
		return overBudget(spent, limit)
	}
	if err := e.setUp(l, t); err != nil {
		return err
	}
	h, err := e.openAgent(t.ctx, l, t)
	if err != nil {
		return err
	}
	if !snapshotsLate(h.agent, t.prompt) {
		e.snapshotBefore(l, t)
	}
	if err := l.hand(t, h); err != nil {
		return err
	}
	if err := t.handTo(h.agent); err != nil {
		return err
	}
	l.mu.Lock()
	stopped := t.stop != nil
	l.mu.Unlock()
	if stopped { // the agent may not have had the turn yet when it was told
		e.interruptAgent(l, t)
	}
	return nil
}

// hand gives the turn to the agent, if it is still wanted.
func (l *live) hand(t *turn, h *host) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != nil:
		return l.why
	case t.stop != nil:
		return t.stop
	case l.turn != t || l.phase != starting:
		return terret.ErrInterrupted // it has already ended
	case h.leaving:
		return terret.Errorf(terret.CodeProcessFailed, "the agent ended before it took the prompt; prompt the session to try again")
	}
	t.host, h.in = h, t.in
	l.write(l.to(running, nil), nil)
	return nil
}
