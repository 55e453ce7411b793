package assemble

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/persona"
	"github.com/terret-dev/terret/internal/server/project"
	"github.com/terret-dev/terret/internal/worktree"
)

// Sessions creates sessions, the same way for every frontend.
type Sessions struct {
	Engine *engine.Engine
	Store  terret.Store // the engine's store
	Roles  *Roles
	Agents *Agents
	// Home is Terret's own folder, which holds worktrees.
	Home string
	// Defaults fills in what neither a person nor a persona sets; it may be nil.
	Defaults func(ctx context.Context, s *terret.Session)
	// Worktree says how to prepare a worktree of a folder, with a note for the person; it may
	// be nil.
	Worktree func(dir string) (prepare config.Worktree, note string, err error)
	// MayRun reports whether a person's own git may run in a folder, with what its repository
	// names; nil means nowhere. Env is the person's environment.
	MayRun func(dir string) bool
	Env    []string
}

// CreateOptions says how to create a session. The zero value is for programs.
type CreateOptions struct {
	// Unenforced creates the session even if its agent can get around tool limits.
	Unenforced bool
	// Check, if set, may refuse the session once persona and defaults have completed it.
	Check func(terret.Session) error
	// Branch says what to name the branch of the session's worktree after, such as the first
	// prompt. Empty means the title.
	Branch string
	// Tell, if set, receives notes for the person.
	Tell func(note string)
}

func (o CreateOptions) tell(note string) {
	if o.Tell != nil {
		o.Tell(note)
	}
}

// Create makes a session. What the caller leaves empty comes from the persona and then
// from the defaults. It refuses a session whose agent could get around the session's
// restrictions.
func (m *Sessions) Create(ctx context.Context, s terret.Session, o CreateOptions) (terret.Session, error) {
	s, err := m.checked(s)
	if err != nil {
		return terret.Session{}, err
	}
	if _, _, has := worktree.Find(m.Home, s.Cwd); !s.Options.Worktree || has { // or shares another session's
		return m.create(ctx, s, o)
	}
	from := s.Cwd
	if s, err = m.inWorktree(ctx, s, o); err != nil {
		return terret.Session{}, err
	}
	made, err := m.create(ctx, s, o)
	if err != nil {
		removeErr := worktree.Discard(context.WithoutCancel(ctx), m.Home, s.ID, from)
		return terret.Session{}, errors.Join(err, removeErr)
	}
	return made, nil
}

// create makes a session in a folder that is ready for it.
func (m *Sessions) create(ctx context.Context, s terret.Session, o CreateOptions) (terret.Session, error) {
	s, err := m.withRole(s, o)
	if err != nil {
		return terret.Session{}, err
	}
	chosen := s.Policy // by a person or a persona; a default promises nothing
	if m.Defaults != nil {
		m.Defaults(ctx, &s)
	}
	if s.Options.Record && s.Agent != native.Name { // no other agent would show us what its model hears
		return terret.Session{}, terret.Errorf(terret.CodeUnsupported, "sessions of %s cannot be recorded, only those of the native agent; leave record out", s.Agent)
	}
	if o.Check != nil {
		if err := o.Check(s); err != nil {
			return terret.Session{}, err
		}
	}
	if err := m.overseen(ctx, s, chosen, o); err != nil {
		return terret.Session{}, err
	}
	made, err := m.Engine.Create(ctx, s)
	if err == nil && o.Tell != nil {
		if missing := m.Agents.Missing(ctx, s.Agent); missing != "" {
			o.Tell(missing)
		}
	}
	return made, err
}

// Explain says what would be decided about a tool use in such a session, if it were
// created now, and why.
func (m *Sessions) Explain(ctx context.Context, s terret.Session, use terret.PermissionRequest) (engine.Explanation, error) {
	s, err := m.checked(s)
	if err != nil {
		return engine.Explanation{}, err
	}
	if s, err = m.withRole(s, CreateOptions{}); err != nil {
		return engine.Explanation{}, err
	}
	if m.Defaults != nil {
		m.Defaults(ctx, &s)
	}
	return m.Engine.Explain(ctx, s, use)
}

// Deleted says what remains of a deleted session.
type Deleted struct {
	// Worktree is the session's worktree or clone, if it was kept; Kept says why.
	Worktree string `json:"worktree,omitempty"`
	Kept     string `json:"kept,omitempty"`
}

// Delete deletes a session, and its worktree, or the clone that was made for it, if it has
// one and nothing would be lost; with force files that git ignores may be. It refuses the sessions of other nodes, which have those.
func (m *Sessions) Delete(ctx context.Context, id string, force bool) (Deleted, error) {
	s, err := m.Store.Session(ctx, id)
	if err != nil {
		return Deleted{}, err
	}
	if node := m.Engine.Elsewhere(s); node != "" {
		return Deleted{}, terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which has its folder %s; delete it there", id, node, s.Cwd)
	}
	return m.Remove(ctx, s, force)
}

// DeleteGone deletes a session of a node that no longer runs. The node's folders are out of
// reach, so a worktree or clone stays in them.
func (m *Sessions) DeleteGone(ctx context.Context, id, node string, force bool) (Deleted, error) {
	s, err := m.Store.Session(ctx, id)
	if err != nil {
		return Deleted{}, err
	}
	fleet, _ := m.Store.(terret.Fleet) // nil on a single machine
	if err := RefuseNode(ctx, fleet, node); err != nil {
		return Deleted{}, err
	}
	if s.Node != node {
		return Deleted{}, terret.Invalid("node", "session %s is not of node %s; it is of node %s", id, node, s.Node)
	}
	return m.Remove(ctx, s, force)
}

// Remove deletes a session of whatever node, and what it has on this machine.
func (m *Sessions) Remove(ctx context.Context, s terret.Session, force bool) (Deleted, error) {
	if err := m.Engine.Delete(ctx, s.ID, force); err != nil {
		return Deleted{}, err
	}
	if m.Home != "" {
		if err := native.DeleteRecording(m.Home, s.ID); err != nil {
			return Deleted{}, err
		}
	}
	// The session is gone, so later failures are not errors.
	top, _, ok := worktree.Find(m.Home, s.Cwd)
	remove := worktree.Remove
	if !ok || !s.Options.Worktree {
		if m.Home == "" || !worktree.IsClone(m.Home, s.Cwd) {
			return Deleted{}, nil
		}
		top, remove = s.Cwd, worktree.RemoveClone
	}
	other, err := m.In(ctx, top, func(terret.Session) bool { return true })
	if other != "" {
		return Deleted{top, "session " + other + " works in it too"}, nil
	}
	kept := ""
	if err == nil {
		kept, err = remove(ctx, m.Home, s.Cwd, func(file string) bool { return ours(top, s.Cwd, file) }, force)
	}
	if err != nil {
		kept = err.Error()
	}
	if kept == "" {
		return Deleted{}, nil
	}
	return Deleted{top, kept}, nil
}

// In finds a session that works in a folder, or below it, and is wanted. The id is empty if
// there is none.
func (m *Sessions) In(ctx context.Context, dir string, wanted func(terret.Session) bool) (id string, err error) {
	for f := (terret.SessionFilter{Query: filepath.Base(dir)}); ; {
		page, err := m.Store.ListSessions(ctx, f)
		if err != nil {
			return "", err
		}
		for _, s := range page.Items {
			inside := s.Cwd == dir || strings.HasPrefix(s.Cwd, dir+string(filepath.Separator))
			if inside && wanted(s) {
				return s.ID, nil
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return "", nil
		}
	}
}

// ours reports whether Terret itself makes a file or folder of a worktree.
func ours(top, cwd, file string) bool {
	below, err := filepath.Rel(cwd, filepath.Join(top, filepath.FromSlash(file)))
	return err == nil && project.Makes(filepath.ToSlash(below))
}

// checked rejects invalid sessions before anything is read or created for them.
func (m *Sessions) checked(s terret.Session) (_ terret.Session, err error) {
	if err := terret.CheckGates("gates", s.Options.Gates); err != nil {
		return s, err
	}
	if err := terret.CheckTimeouts("timeouts", s.Options.Timeouts); err != nil {
		return s, err
	}
	if s.Cwd != "" { // otherwise the engine reports it
		if s.Cwd, err = filepath.Abs(s.Cwd); err != nil {
			return s, terret.Invalid("cwd", "%w", err)
		}
	}
	s.Agent = m.Agents.Name(s.Agent)
	return s, nil
}

// withRole fills in what the session's persona sets, and checks that its system prompt
// can be made.
func (m *Sessions) withRole(s terret.Session, o CreateOptions) (terret.Session, error) {
	if !hasRole(s) {
		return s, nil
	}
	var role *terret.Persona
	if s.Persona != "" {
		p, err := m.Roles.Persona(s.Cwd, string(s.Persona))
		if err != nil {
			return s, err
		}
		if ignored := IgnoredGrants(p); ignored != "" {
			o.tell(ignored)
		}
		s = persona.Apply(p, s)
		s.Persona, role = terret.NullString(p.ID), &p
	}
	prompt, err := m.Roles.Prompt(s.Cwd, role, s.Mode)
	for _, note := range prompt.Notes {
		o.tell(note)
	}
	return s, err
}

// IgnoredGrants names the settings of a persona that are ignored because its folder is
// not trusted. It is empty if there are none.
func IgnoredGrants(p terret.Persona) string {
	grants := persona.Grants(p)
	if p.Trusted || len(grants) == 0 {
		return ""
	}
	verb := "is"
	if len(grants) > 1 {
		verb = "are"
	}
	return "persona " + p.ID + ": " + strings.Join(grants, ", ") + " " + verb + " ignored until you trust this folder (see `terret trust`)"
}

// UnenforcedField is the field of the error for a session whose restrictions its agent
// could get around: CreateOptions.Unenforced creates it anyway.
const UnenforcedField = "unenforced"

// overseen refuses a session whose agent could get around the session's restrictions,
// among them the policy that somebody chose.
func (m *Sessions) overseen(ctx context.Context, s terret.Session, chosen terret.Policy, o CreateOptions) error {
	s.ID = "" // it does not exist yet
	in, err := m.Engine.Settings(ctx, s, terret.TurnOptions{})
	if err != nil {
		return err
	}
	about := m.Agents.About(s.Agent)
	if chosen != "" && about.Modes[cmp.Or(in.PermissionMode, s.PermissionMode)] == chosen {
		chosen = "" // the agent's own mode amounts to it
	}
	if persona.CheckOversight(terret.Capabilities{}, in, s.Options.Deny, chosen) == nil {
		return nil // nothing is forbidden
	}
	p := m.Agents.known(ctx, s.Agent)
	if !p.Found {
		return nil // starting it will say what is missing
	}
	if s.OneShot && about.OneShot != "" {
		p.Capabilities.Oversight = about.OneShot
		in.Tools, in.RemovedTools = nil, nil // the agent keeps to them by itself
	}
	err = persona.CheckOversight(p.Capabilities, in, s.Options.Deny, chosen)
	switch {
	case err == nil:
		return nil
	case o.Unenforced:
		o.tell(s.Agent + ": " + err.Error())
		return nil
	}
	refused := terret.Errorf(terret.CodeUnsupported, "%s: %w", s.Agent, err)
	refused.Field = UnenforcedField
	return refused
}
