package engine

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/internal/gitcmd"
)

// openAgent returns the session's agent, opening it if there is none: for that turn, or
// outside of one if it is nil. Closing the session ends an opening outside a turn with
// errGone.
func (e *Engine) openAgent(ctx context.Context, l *live, of *turn) (*host, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	h, session, cursor, t, gone := l.host, l.session, l.cursor, l.turn, l.unusable()
	if of == nil {
		l.stopOpening = cancel
	}
	l.mu.Unlock()
	switch {
	case h != nil:
		return h, nil
	case ctx.Err() != nil: // the caller was stopped while others held the lock
		return nil, context.Cause(ctx)
	case of == nil && gone != nil:
		return nil, gone
	}
	h, err := e.openFor(ctx, l, session, cursor, t)
	if err != nil && errors.Is(context.Cause(ctx), errGone) { // drivers say it in words of their own
		err = errGone
	}
	return h, err
}

// openFor opens an agent with the settings of a turn, or of the session if it is nil.
func (e *Engine) openFor(ctx context.Context, l *live, session terret.Session, cursor []byte, t *turn) (*host, error) {
	d, err := e.driver(session.Agent)
	if err == nil {
		err = folderThere(session.Cwd)
	}
	if err != nil {
		return nil, err
	}
	var in desk.InForce
	if t != nil {
		in = t.in
	} else if in, err = e.settingsFor(ctx, session, terret.TurnOptions{}); err != nil {
		return nil, err
	}
	h := l.newHost(in)
	r := e.openRequest(session, in.Settings, l.log)
	r.Warm = e.pool.Claim(d, r)
	r.Cursor, r.Host = cursor, h
	r.History = func(ctx context.Context) iter.Seq2[terret.Entry, error] { return e.history(ctx, session) }
	agent, err := d.Open(ctx, r)
	if err == nil && agent == nil {
		err = terret.Errorf(terret.CodeInternal, "the driver of %s returned neither an agent nor an error", session.Agent)
	}
	if err != nil {
		h.end(errClosed)
		return nil, err
	}
	if err := l.attach(ctx, h, agent); err != nil { // the session no longer wants it
		e.closeAgent(l, h)
		return nil, err
	}
	if why := e.desk.Unkept(session, in, terret.CapabilitiesOf(agent)); why != "" {
		l.warn(h, why)
	}
	return h, nil
}

// shieldTimeout bounds how long git may take to say what a repository's settings are.
const shieldTimeout = 5 * time.Second

// openRequest is what a driver is told of a session, without what only the session's
// own agent needs.
func (e *Engine) openRequest(s terret.Session, in terret.Settings, log *slog.Logger) terret.OpenRequest {
	s.Options = terret.SessionOptions{}
	env, trusted := e.cfg.Env, e.trusts(s.Cwd)
	if !trusted && len(env) > 0 {
		ctx, cancel := context.WithTimeout(e.life, shieldTimeout)
		defer cancel()
		env = gitcmd.Shield(ctx, env, s.Cwd)
	}
	return terret.OpenRequest{Session: s, Settings: in, Trusted: trusted, Env: env, Owner: e.store.Worker(), Log: log}
}

// attach makes an agent the session's, if the session still wants one.
func (l *live) attach(ctx context.Context, h *host, agent terret.Agent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.agent = agent
	var err error
	switch {
	case l.why != nil:
		err = l.why
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case l.turn == nil && l.unusable() != nil:
		err = errGone
	}
	h.leaving = err != nil
	if err == nil {
		l.host = h
	}
	return err
}

// warn writes a warning about an agent that is the session's.
func (l *live) warn(h *host, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host == h && l.phase != settling && l.why == nil {
		l.write(l.put(nil, terret.Event{Data: terret.DiagWarning{Text: text}}), nil)
	}
}

// agentOf returns the session's agent for use outside a turn, opening it if there is none.
func (e *Engine) agentOf(ctx context.Context, l *live) (terret.Agent, error) {
	h, err := e.openAgent(ctx, l, nil)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == idle {
		l.startIdleTimer()
	}
	return h.agent, nil
}

// interruptAgent interrupts the agent, if it has the turn.
func (e *Engine) interruptAgent(l *live, t *turn) {
	l.mu.Lock()
	h := l.host
	if l.turn != t || t.host == nil || t.host != h {
		h = nil
	}
	l.mu.Unlock()
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(e.life, e.cfg.InterruptGrace)
	defer cancel()
	if err := h.agent.Interrupt(ctx, t.id); err != nil {
		l.log.Warn("could not interrupt the agent", "error", err)
	}
}

func (e *Engine) killAgent(ctx context.Context, l *live, h *host) {
	l.opening.Lock()
	defer l.opening.Unlock()
	ctx, cancel := context.WithTimeout(ctx, e.cfg.CloseGrace)
	defer cancel()
	var err error
	if k, ok := h.agent.(terret.Killer); ok {
		err = k.Kill(ctx)
	}
	err = errors.Join(err, h.agent.Close(ctx))
	h.end(errClosed)
	if err != nil {
		l.log.Warn("the agent was killed", "error", err)
	}
}

// closeAgent ends an agent politely. It decides the agent's requests first, so that the
// agent does not wait for them. l.opening must be held.
func (e *Engine) closeAgent(l *live, h *host) {
	for _, r := range l.openOf(func(r *request) bool { return r.host == h }) {
		e.giveUp(r, terret.ByAgentExit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.CloseGrace)
	defer cancel()
	if err := h.agent.Close(ctx); err != nil {
		l.log.Warn("the agent did not close cleanly", "error", err)
	}
	h.end(errClosed)
}
