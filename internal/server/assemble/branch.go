package assemble

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/forge"
	"github.com/terret-dev/terret/internal/worktree"
)

// Folder is a session's folder, to look at its branch.
func (m *Sessions) Folder(s terret.Session) forge.Folder {
	return forge.Folder{Dir: s.Cwd, Home: m.Home, Env: m.Env}
}

// Own is a session's folder in which a person's own git may run, as that person wants.
func (m *Sessions) Own(s terret.Session) (forge.Folder, error) {
	if err := free(s); err != nil {
		return forge.Folder{}, err
	}
	if m.MayRun == nil || !m.MayRun(s.Cwd) {
		return forge.Folder{}, terret.Errorf(terret.CodeForbidden, "this runs git with the hooks and settings of %s, and nobody trusts that folder yet; look at it and trust it first (`terret trust`)", s.Cwd)
	}
	return m.Folder(s), nil
}

// free refuses a session whose agent works right now.
func free(s terret.Session) error {
	if s.State.Working() {
		return terret.Errorf(terret.CodeSessionBusy, "a turn is running in session %s; wait until it ends, or stop it", s.ID)
	}
	return nil
}

// place is the worktree of a session, which nobody works in.
func (m *Sessions) place(ctx context.Context, s terret.Session) (worktree.Place, error) {
	p, ok := worktree.PlaceOf(m.Home, s.Cwd)
	if !ok {
		return p, terret.Errorf(terret.CodeUnsupported, "session %s works in %s itself, not in a worktree of its own", s.ID, s.Cwd)
	}
	if err := free(s); err != nil {
		return p, err
	}
	busy, err := m.In(ctx, p.Top, func(x terret.Session) bool { return x.ID != s.ID && x.State.Working() })
	if err == nil && busy != "" {
		err = terret.Errorf(terret.CodeSessionBusy, "session %s works in the same worktree; wait until its turn ends", busy)
	}
	return p, err
}

// quietly does something with the worktree of a session while no turn runs in it, and none
// begins.
func (m *Sessions) quietly(ctx context.Context, s terret.Session, what string, do func(worktree.Place) error) error {
	begun := false
	act := func() error {
		begun = true
		p, err := m.place(ctx, s)
		if err != nil {
			return err
		}
		return Conflict(do(p))
	}
	if _, err := m.place(ctx, s); err != nil { // it need not be claimed for that
		return err
	}
	err := m.Engine.Quietly(ctx, s.ID, what, act)
	if begun || !errors.Is(err, terret.ErrConflict) {
		return err
	}
	if s, err = m.Store.Session(ctx, s.ID); err != nil { // another process has it; so we only look
		return err
	}
	return act()
}

// MergeBack merges what is committed in a session's worktree into the branch that it began at.
func (m *Sessions) MergeBack(ctx context.Context, s terret.Session) error {
	return m.quietly(ctx, s, "merge its worktree", func(p worktree.Place) error { return p.MergeBack(ctx) })
}

// Rebase puts the commits of a session's worktree on top of the branch that it began at.
func (m *Sessions) Rebase(ctx context.Context, s terret.Session) error {
	return m.quietly(ctx, s, "rebase its worktree", func(p worktree.Place) error { return p.Rebase(ctx) })
}

// Discard removes a session's worktree and its branch, with everything that is in them and
// nowhere else. The conversation stays. What else works in the folder ends, as told by end,
// once it is certain that nothing stands against it.
func (m *Sessions) Discard(ctx context.Context, s terret.Session, by string, end func()) error {
	p, err := m.place(ctx, s)
	if err != nil {
		return err
	}
	other, err := m.In(ctx, p.Top, func(x terret.Session) bool { return x.ID != s.ID })
	switch {
	case err != nil:
		return err
	case other != "":
		return terret.Errorf(terret.CodeConflict, "session %s works in the worktree, too; delete that one first", other)
	}
	const what = "discard its worktree"
	err = m.quietly(ctx, s, what, func(worktree.Place) error { // a turn that has just begun is not cut off
		end()
		return nil
	})
	if err != nil {
		return err
	}
	if err := m.Engine.CloseSession(ctx, s.ID, by); err != nil {
		return err
	}
	return m.quietly(ctx, s, what, func(p worktree.Place) error { return p.Discard(ctx, m.Home) })
}

// Conflict makes a conflict of what a person can do something about.
func Conflict(err error) error {
	if why, ok := errors.AsType[*worktree.RefusedError](err); ok {
		return terret.Errorf(terret.CodeConflict, "%s", why.Reason)
	}
	return err
}

// Draft is a pull request as the session tells it: its title, what was asked, and what the
// agent said at the end.
func (m *Sessions) Draft(ctx context.Context, s terret.Session) (forge.Draft, error) {
	turns, err := m.Store.Turns(ctx, s.ID)
	if err != nil {
		return forge.Draft{}, err
	}
	var asked []string
	for _, t := range turns {
		if text := strings.TrimSpace(terret.TextOf(t.Prompt)); text != "" && !t.Undone {
			asked = append(asked, "> "+strings.ReplaceAll(brief.Cut(text, 1000), "\n", "\n> "))
		}
	}
	var out []string
	if len(asked) > 0 {
		out = append(out, "**What was asked**", strings.Join(asked[:min(len(asked), 5)], "\n\n"))
	}
	ends, err := m.Store.Read(ctx, terret.ReadQuery{Session: s.ID, Kinds: []terret.Kind{terret.KindTurnComplete}, Backward: true, Limit: 1})
	if err != nil {
		return forge.Draft{}, err
	}
	for _, e := range ends {
		ev, err := e.Decode()
		if err != nil {
			return forge.Draft{}, err
		}
		if d, ok := ev.Data.(terret.TurnComplete); ok && strings.TrimSpace(d.Text) != "" {
			out = append(out, "**What was done**", brief.Cut(strings.TrimSpace(d.Text), 8000))
		}
	}
	return forge.Draft{Title: strings.TrimSuffix(s.Title, "…"), Text: strings.Join(slices.Clip(out), "\n\n")}, nil
}
