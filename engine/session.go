package engine

import (
	"context"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
	"github.com/terret-dev/terret/engine/internal/remote"
)

// Create makes a session. Agent and Cwd must be set; the agent starts with the first
// prompt.
func (e *Engine) Create(ctx context.Context, s terret.Session) (terret.Session, error) {
	s, err := e.complete(s)
	if err != nil {
		return terret.Session{}, err
	}
	if s.ID == "" {
		s.ID = terret.NewSessionID()
	}
	s.State = terret.SessionPending
	return e.create(ctx, s)
}

// complete fills in the defaults of a new session and validates it.
func (e *Engine) complete(s terret.Session) (terret.Session, error) {
	if _, err := e.driver(s.Agent); err != nil {
		return terret.Session{}, err
	}
	dir, err := checkFolder(s.Cwd)
	if err != nil {
		return terret.Session{}, err
	}
	s.Cwd = dir
	if s.Policy == "" {
		s.Policy = terret.PolicyAsk
	}
	if s.Mode == "" {
		s.Mode = terret.ModeDirect
	}
	return s, checkSession(s)
}

func (e *Engine) create(ctx context.Context, s terret.Session) (terret.Session, error) {
	s.Node = e.cfg.Node
	made, err := e.store.Create(ctx, s)
	if err == nil {
		e.records.Add(made, nil)
	}
	return made, err
}

// CloseSession ends the session's agent. The session can be prompted again.
func (e *Engine) CloseSession(ctx context.Context, id, by string) error {
	l := e.mine(id)
	if l == nil {
		s, err := e.store.Session(ctx, id)
		if err != nil || s.Owner == "" {
			return err // no agent is open
		}
		return e.peers.Send(ctx, id, terret.InboxClose, by, remote.Wish{Epoch: s.Epoch})
	}
	e.shut(ctx, l, "closed")
	return nil
}

// Update changes the session's title, model, policy or permission mode, and tells the
// agent if it must know.
func (e *Engine) Update(ctx context.Context, id string, u terret.SessionUpdated, by string) error {
	if err := checkUpdate(u); err != nil {
		return err
	}
	err := e.on(ctx, id, func(l *live) error { return e.update(ctx, l, u, by) })
	if isForeign(err) {
		return e.updateForeign(ctx, id, u, by)
	}
	return err
}

// update changes a session of ours. The inbox items that asked for it are taken in the
// same transaction.
func (e *Engine) update(ctx context.Context, l *live, u terret.SessionUpdated, by string, taken ...string) error {
	l.mu.Lock()
	h, err := l.host, l.unusable()
	u = e.leavePlanMode(l.session, u)
	l.mu.Unlock()
	if err == nil && h != nil {
		err = tellAgent(ctx, h.agent, u)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	if err := l.unusable(); err != nil { // given back meanwhile
		l.mu.Unlock()
		return err
	}
	out := l.put(nil, terret.Event{By: by, Data: u})
	if h != nil && (u.Policy != nil || u.PermissionMode != nil) {
		if text := e.desk.Unkept(l.session, desk.InForce{}, terret.CapabilitiesOf(h.agent)); text != "" {
			out = l.put(out, terret.Event{Data: terret.DiagWarning{Text: text}})
		}
	}
	a := l.journal.Append(&journal.Write{Events: out, Taken: taken})
	l.mu.Unlock()
	return a.Wait()
}

func (e *Engine) updateForeign(ctx context.Context, id string, u terret.SessionUpdated, by string) error {
	s, err := e.store.Session(ctx, id)
	if err == nil {
		err = e.peers.Reachable(ctx, s)
	}
	if err == nil {
		err = e.peers.Send(ctx, id, terret.InboxUpdate, by, u)
	}
	if err == nil {
		err = e.peers.Rouse(ctx, s, false)
	}
	return err
}

// leavePlanMode completes a change of the policy: an agent whose own mode is planning
// would go on planning under any policy.
func (e *Engine) leavePlanMode(s terret.Session, u terret.SessionUpdated) terret.SessionUpdated {
	about := e.about(s.Agent)
	if u.Policy != nil && *u.Policy != terret.PolicyPlan && u.PermissionMode == nil &&
		about.Modes[s.PermissionMode] == terret.PolicyPlan && about.Asking != "" {
		u.PermissionMode = &about.Asking
	}
	return u
}

// tellAgent changes nothing unless the agent can change everything asked for.
func tellAgent(ctx context.Context, a terret.Agent, u terret.SessionUpdated) error {
	model, canModel := a.(terret.ModelSetter)
	mode, canMode := a.(terret.ModeSetter)
	if u.Model != nil {
		if err := terret.CapabilitiesOf(a).Need(terret.CanSelectModel); err != nil {
			return err
		}
	}
	if u.PermissionMode != nil && !canMode {
		return terret.Errorf(terret.CodeUnsupported, "this agent cannot change its permission mode during a session")
	}
	if u.Model != nil && canModel {
		if err := model.SetModel(ctx, *u.Model); err != nil {
			return err
		}
	}
	if u.PermissionMode != nil {
		if err := mode.SetPermissionMode(ctx, *u.PermissionMode); err != nil {
			return err
		}
	}
	if r, ok := a.(terret.Renamer); ok && u.Title != nil {
		return r.Rename(ctx, *u.Title)
	}
	return nil
}

// Delete removes a session and everything that belongs to it. A session with a running
// turn is deleted only by force, which kills the turn.
func (e *Engine) Delete(ctx context.Context, id string, force bool) error {
	s, err := e.store.Session(ctx, id)
	if err != nil {
		return err
	}
	l := e.mine(id)
	if l != nil {
		l.mu.Lock()
		busy := l.phase.inTurn() || l.phase == quiet
		l.mu.Unlock()
		if busy && !force {
			return busyToDelete(id)
		}
		e.shut(ctx, l, deleted)
	} else if s.Turn != "" && !force {
		return busyToDelete(id)
	}
	err = e.store.Delete(ctx, id)
	if err == nil {
		e.records.Remove(s)
	}
	e.hub.Wake(id) // its readers find that it is gone
	return err
}

func busyToDelete(id string) error {
	return terret.Errorf(terret.CodeSessionBusy, "a turn is running in session %s; stop it first, or delete it by force", id)
}

// Fork makes a new session that begins as a copy of another, up to and including a
// message, or all of it if that is empty. The agent must support it.
func (e *Engine) Fork(ctx context.Context, id, messageID string) (terret.Session, error) {
	var s terret.Session
	var native string
	err := e.on(ctx, id, func(l *live) error {
		agent, err := e.agentOf(ctx, l)
		if err != nil {
			return err
		}
		s = l.sessionCopy()
		need := terret.CanFork
		if messageID != "" {
			need = terret.CanForkAt
		}
		if err := terret.CapabilitiesOf(agent).Need(need); err != nil {
			return err
		}
		f, ok := agent.(terret.Forker)
		if !ok {
			return terret.Errorf(terret.CodeUnsupported, "this agent cannot fork a session")
		}
		native, err = f.Fork(ctx, messageID)
		return err
	})
	if err != nil {
		return terret.Session{}, orForeign(err)
	}
	return e.create(ctx, terret.Session{
		ID: terret.NewSessionID(), Agent: s.Agent, NativeID: terret.NullString(native), Title: strings.TrimSpace(s.Title + " (fork)"),
		Cwd: s.Cwd, Persona: s.Persona, Mode: s.Mode, Model: s.Model, Policy: s.Policy, PermissionMode: s.PermissionMode,
		OneShot: s.OneShot, ForkedFrom: s.ID, Options: s.Options,
	})
}

// Live returns a session that this process owns, from memory. It may be ahead of the
// store by what is being committed. Its last number and the time of its last change may
// be older than there.
func (e *Engine) Live(id string) (terret.Session, bool) {
	l := e.mine(id)
	if l == nil {
		return terret.Session{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session
	if l.turn != nil {
		s.Turn = l.turn.id
	}
	return s, l.why == nil && l.phase != gone
}
