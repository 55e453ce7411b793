package engine

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
)

// DefaultMaxTurns limits the steps of a turn in a session that has a persona, gets
// Terret's own prompt or is one-shot, unless another limit is set.
const DefaultMaxTurns = desk.DefaultMaxTurns

// Role is what a session's persona and mode say about a turn.
type Role struct {
	Persona *terret.Persona // nil if the session has none
	// Prompt is appended to the agent's system prompt. It includes the turn's own
	// addition.
	Prompt string
}

// Settings returns what would be in force for a turn of the session with those options.
// The session need not exist yet.
func (e *Engine) Settings(ctx context.Context, s terret.Session, o terret.TurnOptions) (terret.Settings, error) {
	in, err := e.settingsFor(ctx, s, o)
	return in.Settings, err
}

// settingsFor resolves what is in force for a turn of the session with those options.
func (e *Engine) settingsFor(ctx context.Context, s terret.Session, o terret.TurnOptions) (desk.InForce, error) {
	if s.Agent == NoAgent {
		return desk.InForce{}, terret.Errorf(terret.CodeUnsupported, "no agent works in session %s: it is a log", s.ID)
	}
	var role Role
	if e.cfg.Roles != nil {
		var err error
		if role, err = e.cfg.Roles(ctx, s, o); err != nil {
			return desk.InForce{}, err
		}
	}
	in := e.desk.WithGates(s.ID, desk.Resolve(s, desk.Role(role), o))
	if err := e.canSandbox(s.Agent, in.Sandbox); err != nil {
		return desk.InForce{}, err
	}
	if s.Policy == terret.PolicyPlan && in.PermissionMode == "" {
		in.PermissionMode = e.about(s.Agent).PlanMode()
	}
	return in, nil
}

// canSandbox refuses a sandbox for an agent that would ignore it.
func (e *Engine) canSandbox(agent string, box terret.Sandbox) error {
	if box == "" || e.about(agent).Sandbox {
		return nil
	}
	return terret.Errorf(terret.CodeUnsupported, "the commands of %s cannot run in a sandbox of Terret's (%s): leave it out, or use the agent native", agent, box)
}

// settingsOf returns the session of a request, and what is in force in its turn.
func (e *Engine) settingsOf(ctx context.Context, r terret.Request) (terret.Session, desk.InForce, error) {
	s, err := e.store.Session(ctx, r.Session)
	if err != nil {
		return s, desk.InForce{}, err
	}
	if l := e.mine(r.Session); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.turn != nil && l.turn.id == r.Turn {
			return s, l.turn.in, nil
		}
	}
	in, err := e.settingsFor(ctx, s, terret.TurnOptions{})
	return s, in, err
}
