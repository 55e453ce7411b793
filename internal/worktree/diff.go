package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	g.dir = filepath.FromSlash(path)
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
	done, err := g.apart(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if err := g.stage(ctx); err != nil {
		return "", err
	}
	return g.run(ctx, append(command, "--cached", from, "--")...)
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

// apart makes git work on copies of the index and the objects, until done is called.
func (g *git) apart(ctx context.Context) (done func(), err error) {
	index, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	objects, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "terret-diff-")
	if err != nil {
		return nil, err
	}
	done = func() { g.env = nil; _ = os.RemoveAll(dir) }
	copied := filepath.Join(dir, "index")
	info, err := os.Stat(index)
	var text []byte
	if err == nil {
		text, err = os.ReadFile(index)
	}
	if err == nil {
		err = os.WriteFile(copied, text, 0o600)
	}
	if err == nil { // git looks again at files that are not older than the index
		err = os.Chtimes(copied, info.ModTime(), info.ModTime())
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing was added yet
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "objects"), 0o700)
	}
	if err != nil {
		done()
		return nil, err
	}
	g.env = []string{"GIT_INDEX_FILE=" + copied, "GIT_OBJECT_DIRECTORY=" + filepath.Join(dir, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(objects)}
	return done, nil
}

// quoted is a path as one entry of a list of folders for git.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}
