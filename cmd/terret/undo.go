package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/workfiles"
)

// rewoundText says what undo or redo did, and on lines of their own what it did not.
func rewoundText(r engine.Rewound, what string) string {
	text := fmt.Sprintf("%s: %s", what, strings.Join(mapped(r.Files, printable), ", "))
	switch {
	case len(r.Files) == 0 && r.Conversation:
		text = what + ": the conversation; no file had to change"
	case len(r.Files) == 0:
		text = what + ": nothing had to change"
	case r.Conversation:
		text += ", and the conversation"
	}
	if len(r.Kept) > 0 {
		text += "; left unchanged: " + strings.Join(mapped(r.Kept, printable), ", ")
	}
	if r.Note != "" {
		text += " (" + printable(r.Note) + ")"
	}
	if len(r.Lost) > 0 {
		text += "\nnot taken back, and changed since the turn began:"
		for _, l := range r.Lost {
			text += fmt.Sprintf("\n  %s (%s)", printable(l.Path), printable(l.Reason))
		}
	}
	if r.Commands > 0 {
		text += fmt.Sprintf("\nthe turn ran commands (%d): what they did outside of the folder stays", r.Commands)
	}
	if r.Copy != "" {
		text += "\n" + copyText(r.Copy)
	}
	return text
}

func copyText(id string) string {
	return fmt.Sprintf("a copy of what was overwritten is kept; terret sessions undo --restore %s brings it back", id)
}

func (a *app) listCopies(ctx context.Context, e *engine.Engine, s terret.Session) error {
	list, err := e.Copies(ctx, s.ID)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.note("there are no copies of overwritten files in %s", printable(s.Cwd))
	}
	for _, c := range list {
		if _, err := fmt.Fprintf(a.out, "%s  %s\n", c.ID, printable(c.For)); err != nil {
			return err
		}
		for _, f := range c.Files {
			if _, err := fmt.Fprintf(a.out, "  %s (%d bytes)\n", printable(f.Path), f.Bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) restoreCopy(ctx context.Context, e *engine.Engine, s terret.Session, id string, force bool) error {
	r, err := e.RestoreCopy(ctx, s.ID, id, a.user(), force)
	if err != nil {
		return err
	}
	text := "restored: " + strings.Join(mapped(r.Files, printable), ", ")
	if len(r.Files) == 0 {
		text = "restored: nothing had to change"
	}
	if r.Copy != "" {
		text += "\n" + copyText(r.Copy)
	}
	_, err = fmt.Fprintln(a.out, text)
	return err
}

// takeBack undoes what the last turn that changed a file did to it.
func (a *app) takeBack(ctx context.Context, e *engine.Engine, s terret.Session, file string) error {
	turns, err := a.harness.Store.Turns(ctx, s.ID)
	if err != nil {
		return err
	}
	dir, err := workfiles.Open(s.Cwd, a.home())
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for _, t := range slices.Backward(turns) {
		if !t.Changed || t.Undone || t.After == "" {
			continue
		}
		back, err := dir.BackTurn(ctx, t.Before, t.After, workfiles.Pick{Path: file})
		if err != nil && terret.AsError(err).Code == terret.CodeNotFound {
			continue // another turn changed it
		}
		if err != nil {
			return err
		}
		added, removed := back.Lines()
		r, err := e.TakeBack(ctx, s.ID, a.user(), engine.Replacement{
			Path: back.Path, Now: (*engine.File)(back.Now), Wanted: (*engine.File)(back.Wanted), Insertions: added, Deletions: removed,
		})
		if err != nil {
			return err
		}
		text := "undone: " + printable(back.Path)
		if len(r.Files) == 0 {
			text = "undone: nothing had to change"
		}
		if r.Copy != "" {
			text += "\n" + copyText(r.Copy)
		}
		_, err = fmt.Fprintln(a.out, text)
		return err
	}
	return terret.Errorf(terret.CodeNotFound, "no turn of session %s that is not undone changed %s; give the path as it is from %s", s.ID, file, s.Cwd)
}
