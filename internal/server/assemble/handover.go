package assemble

import (
	"cmp"
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/handover"
	"github.com/terret-dev/terret/internal/workfiles"
)

// HandOver says which session goes to which agent.
type HandOver struct {
	Session string
	Agent   string // by name or alias
	Model   string // empty means the agent's default
	Prompt  string // what to do; empty means to continue
	By      string
}

// ContinueWork is the prompt of a hand-over that has none.
const ContinueWork = "Continue the work where it stopped."

// HandOver makes a session with another agent in the same folder, under the same
// restrictions, and notes in the old one's log where it is continued. It returns the
// new session and its first prompt, which tells the agent what happened; the caller
// sends it. The old session stays as it is: a turn that runs continues, and requests can
// be answered.
func (m *Sessions) HandOver(ctx context.Context, r HandOver, o CreateOptions) (terret.Session, terret.Prompt, error) {
	fail := func(err error) (terret.Session, terret.Prompt, error) { return terret.Session{}, terret.Prompt{}, err }
	old, err := m.Store.Session(ctx, r.Session)
	if err != nil {
		return fail(err)
	}
	if old.Agent == engine.NoAgent {
		return fail(terret.Invalid("session", "no agent works in session %s, so there is nothing to hand over", old.ID))
	}
	agent := m.Agents.Name(r.Agent)
	if err := m.ready(ctx, agent); err != nil {
		return fail(err)
	}
	account, err := m.account(ctx, old)
	if err != nil {
		return fail(err)
	}
	made, err := m.Create(ctx, m.successor(old, agent, r.Model), o)
	if err != nil {
		return fail(err)
	}
	if err := m.Engine.Update(ctx, old.ID, terret.SessionUpdated{HandedTo: &made.ID}, r.By); err != nil {
		return fail(err)
	}
	return made, terret.Prompt{Blocks: []terret.Block{terret.Text(account + "\n\n"), terret.Text(cmp.Or(r.Prompt, ContinueWork))}}, nil
}

// account tells what happened in a session, or, if nobody has prompted it yet, in the one that
// it continues, which may be on another node.
func (m *Sessions) account(ctx context.Context, old terret.Session) (string, error) {
	from, err := handover.Source(ctx, m.Store, old)
	switch {
	case err != nil:
		return "", err
	case from.ID == "":
		from = old
	case from.Node != old.Node || from.Cwd != old.Cwd:
		return handover.Moved(ctx, m.Store, from, old)
	}
	files, err := m.changed(ctx, from)
	if err != nil {
		return "", err
	}
	return handover.Account(ctx, m.Store, from, files)
}

// Succeed makes the session that continues one of another node in dir, a copy of its folder,
// under the same restrictions. An empty agent means the same one.
func (m *Sessions) Succeed(ctx context.Context, old terret.Session, dir, agent, model string, o CreateOptions) (terret.Session, error) {
	agent = m.Agents.Name(cmp.Or(agent, old.Agent))
	if err := m.ready(ctx, agent); err != nil {
		return terret.Session{}, err
	}
	s := m.successor(old, agent, model)
	s.Cwd = dir
	if len(s.Options.AddDirs) > 0 {
		s.Options.AddDirs = nil
		o.tell("its additional folders were left out: they are on node " + old.Node)
	}
	return m.Create(ctx, s, o)
}

// ready refuses an agent that is missing something, and says what to do.
func (m *Sessions) ready(ctx context.Context, agent string) error {
	if agent == "" {
		return terret.Invalid("agent", "say which agent takes over; `terret agents` lists them")
	}
	found := false
	for _, d := range m.Agents.Drivers() {
		found = found || d.Name() == agent
	}
	if !found {
		return terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q; `terret agents` lists them", agent)
	}
	missing := m.Agents.Missing(ctx, agent)
	if missing == "" {
		return nil
	}
	if p := m.Agents.known(ctx, agent); p.Found {
		return terret.Errorf(terret.CodeNotAuthenticated, "%s", missing)
	}
	return terret.Errorf(terret.CodeAgentNotFound, "%s", missing)
}

// successor is the session that continues another. What only the old agent understands
// (its model, mode, servers and subagents) is left out if the agent is another one.
func (m *Sessions) successor(old terret.Session, agent, model string) terret.Session {
	s := terret.Session{
		Agent: agent, Model: model, Title: old.Title, Cwd: old.Cwd, Persona: old.Persona, Mode: old.Mode, Policy: old.Policy,
		OneShot: old.OneShot, ForkedFrom: old.ID, Options: old.Options,
	}
	s.Options.OutputSchema = nil
	if agent == old.Agent {
		s.Model, s.PermissionMode = cmp.Or(model, old.Model), old.PermissionMode
		return s
	}
	s.Options.MCP, s.Options.Agents, s.Options.Effort, s.Options.FallbackModel = nil, nil, "", ""
	if len(s.Options.SettingSources) > 0 { // none stays none
		s.Options.SettingSources = nil
	}
	if policy, ok := m.Agents.About(old.Agent).Modes[old.PermissionMode]; ok && s.Policy == terret.PolicyRules {
		s.Policy = policy // what the old agent's own mode amounts to
	}
	for mode, policy := range m.Agents.About(agent).Modes {
		if mode == old.PermissionMode && policy == m.Agents.About(old.Agent).Modes[mode] {
			s.PermissionMode = mode
		}
	}
	return s
}

// changed lists what a session has changed in its folder; nil means that it is not known.
func (m *Sessions) changed(ctx context.Context, s terret.Session) ([]handover.File, error) {
	turns, err := m.Store.Turns(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	before, after := "", ""
	for _, t := range turns {
		if t.Undone {
			continue
		}
		before, after = cmp.Or(before, t.Before), cmp.Or(t.After, after)
	}
	dir, err := workfiles.Open(s.Cwd, m.Home)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	found, err := dir.Turn(ctx, before, after, false)
	if err != nil {
		if found, err = dir.Working(ctx, before, false); err != nil {
			return nil, ctx.Err() // it is not known
		}
	}
	out := []handover.File{}
	for _, c := range found.Items {
		out = append(out, handover.File{Path: c.Path, Change: string(c.Kind)})
	}
	return out, nil
}
