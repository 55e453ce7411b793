package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// Place is a worktree of a session, and what it belongs to.
type Place struct {
	Top    string // of the worktree
	ID     string
	Origin string // the folder that it was made from
	Made
}

// PlaceOf is the worktree that holds the path.
func PlaceOf(home, path string) (Place, bool) {
	top, id, ok := Find(home, path)
	if !ok {
		return Place{}, false
	}
	origin, ok := Origin(home, path)
	return Place{top, id, origin, MadeAs(home, id)}, ok
}

// MergeBack merges what is committed in a worktree into the branch that it began at, which
// must be checked out in the origin. Nothing happens if that is not possible; the error is a
// *RefusedError then.
func (p Place) MergeBack(ctx context.Context) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	g, err := top(ctx, p.Origin)
	if err != nil {
		return refused("%w", err)
	}
	if now, err := g.branch(ctx); p.Base != "" && (err != nil || now != p.Base) {
		return refused("%s has %s checked out, but this worktree began at %s; check %s out there first", p.Origin, nameOr(now, "no branch"), p.Base, p.Base)
	}
	if err := g.settled(ctx); err != nil {
		return err
	}
	if err := Merge(ctx, p.Origin, p.Top); err != nil {
		return p.explain(ctx, err, "merge")
	}
	return nil
}

// Rebase puts the commits of a worktree on top of the branch that it began at, as it is now.
// Nothing happens if that is not possible; the error is a *RefusedError then.
func (p Place) Rebase(ctx context.Context) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	g, err := top(ctx, p.Top)
	if err != nil {
		return refused("%w", err)
	}
	onto, err := p.base(ctx)
	if err != nil {
		return err
	}
	merges, err := g.run(ctx, "rev-list", "--merges", "--max-count=1", "--end-of-options", onto+"..HEAD", "--")
	if err != nil {
		return refused("%w", err)
	}
	if merges != "" {
		return refused("it cannot be rebased: it has the merge commit %.10s, and a rebase would drop what was settled in it; merge the worktree instead", merges)
	}
	for _, v := range g.person(ctx) {
		if strings.HasPrefix(v, "GIT_COMMITTER_") { // authors stay who they are
			g.Env = append(g.Env, v)
		}
	}
	if _, err := g.run(ctx, "rebase", "--quiet", "--no-verify", "--no-gpg-sign", "--no-autostash", "--no-autosquash", onto); err != nil {
		return p.explain(ctx, g.giveUp(ctx, "rebase", "rebase-merge/onto", onto, err), "rebase")
	}
	return nil
}

// Discard removes the worktree and its branch, with everything in them.
func (p Place) Discard(ctx context.Context, home string) error {
	if _, err := os.Stat(p.Origin); err != nil { // no repository is left that knows of it
		return removeAll(filepath.Join(home, folder, p.ID))
	}
	return Discard(ctx, home, p.ID, p.Origin)
}

// giveUp takes an operation back that stopped half-way, and names the files that it stopped
// at. If the file of git's in which ours notes the commit names another, somebody else has
// begun one, which is left alone.
func (g *git) giveUp(ctx context.Context, operation, file, commit string, err error) error {
	ctx = context.WithoutCancel(ctx)
	if path, failed := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", file); failed != nil || gitcmd.FirstLine(filepath.FromSlash(path)) != commit {
		return err
	}
	files, _ := g.run(ctx, "diff", "--name-only", "-z", "--diff-filter=U")
	_, _ = g.run(ctx, operation, "--abort") // the first error counts
	if names := strings.Split(strings.Trim(files, "\x00"), "\x00"); names[0] != "" {
		if len(names) > 5 {
			names = append(names[:5], fmt.Sprintf("%d more", len(names)-5))
		}
		return fmt.Errorf("both sides have changed %s; have the agent settle that in the worktree, then try again", strings.Join(names, ", "))
	}
	return err
}

// base is the commit to compare a worktree with: where its base is now.
func (p Place) base(ctx context.Context) (string, error) {
	g, err := top(ctx, p.Origin)
	if err != nil {
		return "", refused("%w", err)
	}
	if p.Base != "" {
		if id, err := g.commit(ctx, headsPrefix+p.Base); err == nil {
			return id, nil
		}
		return "", refused("the branch %s, at which this worktree began, is gone", p.Base)
	}
	id, err := g.commit(ctx, "")
	if err != nil {
		return "", refused("%w", err)
	}
	return id, nil
}

// ready refuses a worktree that cannot be moved right now.
func (p Place) ready(ctx context.Context) error {
	if _, err := os.Stat(p.Top); err != nil {
		return refused("the worktree %s is gone", p.Top)
	}
	if _, err := os.Stat(p.Origin); err != nil {
		return refused("the folder %s, from which the worktree was made, is gone", p.Origin)
	}
	g, err := top(ctx, p.Top)
	if err != nil {
		return refused("%w", err)
	}
	if err := g.settled(ctx); err != nil {
		return err
	}
	if _, err := g.clean(ctx, "all"); err != nil {
		return refused("%w", err)
	}
	return nil
}

// explain is an error of git for people.
func (p Place) explain(ctx context.Context, err error, operation string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case strings.Contains(err.Error(), "index.lock"):
		return refused("another git works in the repository (index.lock is there); wait for it, or remove the file if none runs")
	case strings.HasPrefix(err.Error(), "it cannot be "):
		return refused("%w", err)
	}
	return refused("it cannot be %sd: %w", operation, err)
}

func nameOr(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
