package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// nested lists the repositories inside of this one that are in its index: submodules that
// are checked out, and others that somebody added. Git enters them to see whether they have
// changed.
func (g *git) nested(ctx context.Context) (paths []string, err error) {
	staged, err := g.run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for rec := range strings.SplitSeq(staged, "\x00") {
		meta, path, _ := strings.Cut(rec, "\t")
		if strings.HasPrefix(meta, modeLink+" ") && isRepository(g.below(path)) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// modeLink is the mode of a repository in the index of another.
const modeLink = "160000"

func (g *git) below(path string) string { return filepath.Join(g.dir, filepath.FromSlash(path)) }

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
		sub.dir, sub.env = g.below(path), nil
		if err := sub.disarm(ctx); err != nil {
			return err
		}
		g.off = sub.off
	}
	return nil
}
