package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// nested lists the repositories inside of this one that are in its index: submodules that
// are checked out, and others that somebody added. Git enters them to see whether they have
// changed.
func (g *git) nested(ctx context.Context) (paths []string, err error) {
	staged, err := g.run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(g.Cwd)
	if err != nil {
		return nil, err
	}
	for rec := range strings.SplitSeq(staged, "\x00") {
		meta, path, _ := strings.Cut(rec, "\t")
		// "./" is g.Cwd itself, in which git sees no repository, but the one above.
		if strings.HasPrefix(meta, gitcmd.ModeRepo+" ") && path != "./" && isRepository(filepath.Join(real, filepath.FromSlash(path))) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

func (g *git) below(path string) string { return filepath.Join(g.Cwd, filepath.FromSlash(path)) }

// isRepository reports whether a folder, that no link leads to, has a repository.
func isRepository(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// disarmNested disables what the configurations of nested repositories name, since git
// passes our settings on when it enters them.
func (g *git) disarmNested(ctx context.Context) error {
	all, err := g.nested(ctx)
	if err != nil {
		return err
	}
	for _, path := range all {
		sub := *g
		sub.Cwd, sub.Env = g.below(path), []string{"GIT_DIR=.git"} // so git enters it
		if _, err := sub.run(ctx, "rev-parse", "--git-dir"); err != nil && ctx.Err() == nil {
			continue // it is broken, and git does not enter it
		}
		if err := sub.disarm(ctx); err != nil {
			return err
		}
		g.Git = g.Like(sub.Git)
	}
	return nil
}

// Whole refuses a worktree with a repository inside of which something would be lost if what
// was done since a commit is taken elsewhere and the worktree removed: git takes nothing of
// such a repository but the name of its commit. Its errors are for people.
func Whole(ctx context.Context, dir, base string) error {
	g, err := top(ctx, dir)
	if err != nil {
		return err
	}
	own, done, err := g.apart(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := own.stage(ctx); err != nil {
		return err
	}
	return own.whole(ctx, base)
}

func (g *git) whole(ctx context.Context, base string) error {
	all, err := g.nested(ctx)
	if err != nil {
		return err
	}
	for _, path := range all {
		has, err := g.has(ctx, base, path)
		if err != nil {
			return err
		}
		if !has {
			return fmt.Errorf("%s is a repository of its own, or a submodule, and what was done in it would be lost; copy it from %s first", path, g.below(path))
		}
	}
	return nil
}

// has reports whether what is in a nested repository is also elsewhere: its files are
// committed, and the commit is the one that base names, or was pushed.
func (g *git) has(ctx context.Context, base, path string) (bool, error) {
	sub := &git{Git: gitcmd.Git{Bin: g.Bin, Cwd: g.below(path), Config: g.Config}}
	if err := sub.disarm(ctx); err != nil {
		return false, err
	}
	if kept, err := sub.uncommitted(ctx, nil); kept != "" || err != nil {
		return false, err
	}
	head, err := sub.commit(ctx, "")
	if err != nil {
		return false, err
	}
	was, err := g.run(ctx, "ls-tree", "-z", "--full-tree", base, "--", path)
	if err != nil || strings.HasPrefix(was, gitcmd.ModeRepo+" commit "+head+"\t") {
		return err == nil, err
	}
	lost, err := sub.run(ctx, "rev-list", "--max-count=1", head, "--not", "--remotes")
	return lost == "", err
}
