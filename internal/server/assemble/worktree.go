package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/check"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/worktree"
)

// worktreeOf says how to prepare the worktrees of a folder: as the user says, and the folder
// itself if a person trusts it. The note is for the person.
func (h *Harness) worktreeOf(dir string) (w config.Worktree, note string, err error) {
	o := h.options
	if o.UserFile == "" {
		return o.Config.Worktree, "", nil
	}
	loaded, err := config.Load(config.Sources{User: o.UserFile, Project: dir, Trusted: h.Trusts(dir), Environ: o.Env})
	switch {
	case err != nil:
		return config.Worktree{}, "", err
	case loaded.Broken != nil:
		note = "the settings of this project are ignored: " + loaded.Broken.Error()
	case slices.ContainsFunc(loaded.Ignored, func(key string) bool { return strings.HasPrefix(key, "worktree") }):
		note = "how this project wants its worktrees set up is ignored until you trust its folder (see `terret trust`)"
	}
	return loaded.Worktree, note, nil
}

// inWorktree gives the session its own git worktree to work in. Its setup command runs before
// the first turn.
func (m *Sessions) inWorktree(ctx context.Context, s terret.Session, o CreateOptions) (_ terret.Session, err error) {
	if m.Home == "" {
		return s, terret.Invalid("worktree", "it needs a data folder, but there is none")
	}
	var prepare config.Worktree
	if m.Worktree != nil {
		var note string
		if prepare, note, err = m.Worktree(s.Cwd); err != nil {
			return s, terret.Invalid("worktree", "%w", err)
		}
		if note != "" {
			o.tell(note)
		}
	}
	from := s.Cwd
	s.ID = terret.NewSessionID()
	about := o.Branch
	if about == "" {
		about = s.Title
	}
	if s.Cwd, err = worktree.Add(ctx, m.Home, s.ID, from, about); err == nil {
		_, err = worktree.Copy(from, s.Cwd, prepare.Copy)
		if err == nil && prepare.Setup != "" {
			err = worktree.WantSetup(m.Home, s.ID, prepare.Setup)
		}
		if err != nil {
			err = errors.Join(err, worktree.Discard(context.WithoutCancel(ctx), m.Home, s.ID, from))
		}
	}
	if err != nil && ctx.Err() == nil {
		err = terret.Invalid("worktree", "%w", err)
	}
	return s, err
}

// setup is what the worktree of a session still needs before its first turn.
func (h *Harness) setup(s terret.Session) *engine.Setup {
	command := worktree.Setup(h.Home, s.Cwd)
	if command == "" {
		return nil
	}
	return &engine.Setup{Command: command, Run: func(ctx context.Context, output func(string)) error {
		port, err := check.FreePort(ctx)
		if err != nil {
			return err
		}
		result, err := check.Follow(ctx, s.Cwd, check.WithPort(h.options.Env, port), command, func(piece []byte) {
			output(strings.ToValidUTF8(string(piece), "\uFFFD"))
		})
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return err // it was stopped, and is tried again
		}
		if err == nil && !result.OK {
			err = fmt.Errorf("%s:\n%s", result.Exit, result.Output)
		}
		return errors.Join(err, worktree.SetupDone(h.Home, s.Cwd))
	}}
}
