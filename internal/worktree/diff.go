package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Diff is what has changed in the repository that dir is in, as a unified diff: between
// two commits if rev is a range (A..B or A...B), or else from that commit to the files as they are now,
// new files included. It runs nothing that the repository names, and changes nothing in
// it. Its errors are for people.
func Diff(ctx context.Context, dir, rev string) (string, error) {
	g, err := top(ctx, dir)
	if err != nil {
		return "", err
	}
	return g.diff(ctx, rev, "diff", "--src-prefix=a/", "--dst-prefix=b/")
}

// top opens the repository that dir is in, at its top.
func top(ctx context.Context, dir string) (*git, error) {
	g, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	path, err := g.run(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s is not in a git repository", dir)
	}
	g.Cwd = filepath.FromSlash(path)
	return g, g.disarm(ctx)
}

// diff runs a diff command from a commit to the files as they are now.
func (g *git) diff(ctx context.Context, rev string, command ...string) (string, error) {
	command = append(command, "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty")
	if strings.Contains(rev, "..") {
		from, to, err := g.ends(ctx, rev)
		if err != nil {
			return "", err
		}
		return g.run(ctx, append(command, from, to, "--")...)
	}
	from, err := g.commit(ctx, rev)
	if err != nil {
		return "", err
	}
	own, done, err := g.apart(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if err := own.stage(ctx); err != nil {
		return "", err
	}
	return own.run(ctx, append(command, "--cached", from, "--")...)
}

// ends are the commits that a range compares. With three dots the first is the last one
// that both sides have in common, as in git diff.
func (g *git) ends(ctx context.Context, rev string) (from, to string, err error) {
	a, b, common := strings.Cut(rev, "...")
	if !common {
		a, b, _ = strings.Cut(rev, "..")
	}
	if from, err = g.commit(ctx, a); err != nil {
		return "", "", err
	}
	if to, err = g.commit(ctx, b); err != nil {
		return "", "", err
	}
	if common {
		if from, err = g.run(ctx, "merge-base", from, to); err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%q compares two histories that have no commit in common", rev)
		}
	}
	return from, to, err
}

// commit finds a commit; empty means the one that is checked out.
func (g *git) commit(ctx context.Context, rev string) (string, error) {
	if rev == "" {
		rev = "HEAD"
	}
	id, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("%q is not a commit here", rev)
	}
	return id, err
}

// apart is git with an index and a store of objects of its own, which begin like those of
// the repository. They are there until done is called.
func (g *git) apart(ctx context.Context) (own *git, done func(), err error) {
	index, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, nil, err
	}
	objects, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, nil, err
	}
	temp, err := os.MkdirTemp("", "terret-git-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(temp) }
	copied, mine := filepath.Join(temp, "index"), filepath.Join(temp, "objects")
	// With it git need not read files that have not changed. There is none if nothing was added yet.
	if err = copyIndex(filepath.FromSlash(index), copied); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(mine, 0o700)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return g.with(g.in, "GIT_INDEX_FILE="+copied, "GIT_OBJECT_DIRECTORY="+mine, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoted(objects)), done, nil
}

// quoted is a path as one entry of a list of folders for git.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// copyIndex copies an index with its time: git reads a file that is not older than the index,
// even if it looks unchanged.
func copyIndex(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat() // of what is read: git replaces an index as a whole
	if err != nil {
		return err
	}
	content, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}
