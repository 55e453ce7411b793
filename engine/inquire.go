package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/terret-dev/terret"
)

// This file asks agents for information outside turns. It opens the agent if need be.
// If another process owns the session, that is a conflict that says so, unless the log
// has the answer.

// Models lists the models that the session's agent can use.
func (e *Engine) Models(ctx context.Context, session string) ([]terret.Model, error) {
	var out []terret.Model
	err := e.withAgent(ctx, session, func(a terret.Agent) (err error) {
		m, ok := a.(terret.ModelLister)
		if !ok {
			return terret.Errorf(terret.CodeUnsupported, "this agent does not list its models")
		}
		out, err = m.Models(ctx)
		return err
	})
	return slices.Concat([]terret.Model{}, out), orForeign(err)
}

// Open makes the session's agent ready, if it is not.
func (e *Engine) Open(ctx context.Context, session string) error {
	return orForeign(e.withAgent(ctx, session, func(terret.Agent) error { return nil }))
}

// Commands lists what can be run with [Engine.RunCommand].
func (e *Engine) Commands(ctx context.Context, session string) ([]terret.Command, error) {
	var out []terret.Command
	listed := false
	err := e.withAgent(ctx, session, func(a terret.Agent) (err error) {
		if err := terret.CapabilitiesOf(a).Need(terret.CanCommands); err != nil {
			return err
		}
		var l terret.CommandLister
		if l, listed = a.(terret.CommandLister); listed {
			out, err = l.Commands(ctx)
		}
		return err
	})
	if err == nil && listed || err != nil && !isForeign(err) {
		return slices.Concat([]terret.Command{}, out), err
	}
	said, found, err := lastOf(ctx, e, session, commandsOf, terret.KindSessionStart, terret.KindSessionCommands)
	if err == nil && !found {
		err = terret.Errorf(terret.CodeUnsupported, "the agent of session %s has not listed its commands yet", session)
	}
	return said, err
}

func commandsOf(d terret.Data) ([]terret.Command, bool) {
	switch d := d.(type) {
	case terret.SessionStart:
		return d.Commands, d.Commands != nil
	case terret.SessionCommands:
		return d.Commands, true
	}
	return nil, false
}

// Context reports what fills the agent's context, or at least how full it was when the
// agent last said so.
func (e *Engine) Context(ctx context.Context, session string) (terret.ContextUsage, error) {
	var out terret.ContextUsage
	can := false
	err := e.withAgent(ctx, session, func(a terret.Agent) (err error) {
		var r terret.ContextReader
		if r, can = a.(terret.ContextReader); can {
			out, err = r.Context(ctx)
		}
		if errors.Is(err, terret.ErrUnsupported) {
			can, err = false, nil
		}
		return err
	})
	if err == nil && can || err != nil && !isForeign(err) {
		return out, err
	}
	said, found, err := lastOf(ctx, e, session, contextOf, terret.KindUsageUpdate)
	if err == nil && !found {
		err = terret.Errorf(terret.CodeUnsupported, "the agent of session %s has not reported its context usage yet", session)
	}
	return said, err
}

func contextOf(d terret.Data) (terret.ContextUsage, bool) {
	u, ok := d.(terret.UsageUpdate)
	return terret.ContextUsage{Used: u.ContextUsed, Max: u.ContextMax}, ok && u.ContextUsed > 0
}

// MCPServers are the MCP servers of a session, as its agent said when it last started.
func (e *Engine) MCPServers(ctx context.Context, session string) ([]terret.MCPServer, error) {
	servers, _, err := lastOf(ctx, e, session, func(d terret.Data) ([]terret.MCPServer, bool) {
		s, ok := d.(terret.SessionStart)
		return s.MCPServers, ok
	}, terret.KindSessionStart)
	return servers, err
}

// lastOf returns the last value found in events of these kinds.
func lastOf[T any](ctx context.Context, e *Engine, session string, of func(terret.Data) (T, bool), kinds ...terret.Kind) (out T, found bool, err error) {
	if l := e.mine(session); l != nil {
		if err := l.flush(); err != nil && !errors.Is(err, errGone) { // if it is gone, everything is in the log
			return out, false, err
		}
	}
	for entry, err := range e.hub.Entries(ctx, session, kinds...) {
		if err != nil {
			return out, false, err
		}
		ev, err := entry.Decode()
		if err != nil {
			return out, false, err
		}
		if v, ok := of(ev.Data); ok {
			out, found = v, true
		}
	}
	return out, found, nil
}

// withAgent runs fn with the session's agent.
func (e *Engine) withAgent(ctx context.Context, session string, fn func(terret.Agent) error) error {
	return e.on(ctx, session, func(l *live) error {
		agent, err := e.agentOf(ctx, l)
		if err != nil {
			return err
		}
		return fn(agent)
	})
}
