package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/remote"
)

// Decide answers an open request on behalf of a person or a program, whichever process
// owns its session. Of several answers exactly one succeeds; the others fail with
// already_decided. It returns when the answer can no longer be lost.
func (e *Engine) Decide(ctx context.Context, d terret.Decision) (err error) {
	r, err := e.store.Request(ctx, d.RequestID)
	if err != nil {
		return err
	}
	of := func(ctx context.Context) (terret.Session, desk.InForce, error) { return e.settingsOf(ctx, r) }
	d, rules, err := e.desk.Check(ctx, r, d, of)
	if err != nil {
		return err
	}
	// Our own watcher must not let the agent continue before the rules are stored.
	e.setDeciding(d.RequestID, 1)
	defer func() {
		e.setDeciding(d.RequestID, -1)
		if err != nil { // the answer may be stored all the same, and the watcher left it to us
			e.watch.LookAgain()
		}
	}()
	if err := e.store.Answer(ctx, d); err != nil {
		return err
	}
	for _, rule := range rules {
		if err := e.store.PutRule(context.WithoutCancel(ctx), rule); err != nil {
			e.log.Error("could not store the rule made by a decision", "rule", rule.Pattern, "error", err)
		}
	}
	if l := e.mine(r.Session); l != nil {
		l.writeDecision(d.RequestID, d)
		if t := l.current(); d.Interrupt && t != nil && t.id == r.Turn {
			e.stopLocal(ctx, l, t, terret.InboxInterrupt, d.By)
		}
		return nil
	}
	if d.Interrupt {
		return e.peers.Send(ctx, r.Session, terret.InboxInterrupt, d.By, remote.Wish{Turn: r.Turn})
	}
	return nil
}

func (e *Engine) setDeciding(request string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deciding[request] += n; e.deciding[request] == 0 {
		delete(e.deciding, request)
	}
}

func (e *Engine) isDeciding(request string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deciding[request] > 0
}

// Want makes the agents of a session, or of all sessions if that is empty, wait for a
// decision at those gates until release is called. An agent that does not ask at a gate
// yet will do so from its next turn on.
func (e *Engine) Want(session string, gates ...terret.Gate) (release func()) {
	gates = slices.Clone(gates)
	leave := e.desk.Want(session, gates)
	return sync.OnceFunc(func() {
		leave()
		e.unwanted(session, gates)
	})
}

// unwanted decides what waits for somebody who has left, if nobody else wants to decide
// it.
func (e *Engine) unwanted(session string, gates []terret.Gate) {
	for _, l := range e.lives() {
		if session != "" && session != l.id {
			continue
		}
		for _, r := range l.openOf(func(r *request) bool {
			return desk.IsHook(r.ask.Gate) && slices.Contains(gates, r.ask.Gate) && !e.desk.Wants(l.id, r.host.in, r.ask.Gate)
		}) {
			e.giveUp(r, terret.ByChannel)
		}
	}
}
