package worktree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// Pack is what a clone holds that its origin does not, for a clone on another machine.
type Pack struct {
	URL      string     `json:"url"`
	Head     string     `json:"head"`             // the commit that is checked out
	Branch   string     `json:"branch,omitempty"` // that is checked out; empty: none
	Branches []Branched `json:"branches"`
	// Files is a commit on top of Head that holds the files as they are; empty: as Head has them.
	Files string `json:"files,omitempty"`
	// Objects is a git pack of what is not on the origin; empty: everything is.
	Objects []byte `json:"objects,omitempty"`
}

// Branched is a branch of a clone.
type Branched struct {
	Name     string `json:"name"`
	Commit   string `json:"commit"`
	Upstream string `json:"upstream,omitempty"` // its branch of the origin
}

// PackLimits bounds a Pack, in bytes; zero means the default.
type PackLimits struct {
	Objects int   // packed; 8 MB
	Files   int64 // changed files as they are, before git packs them; 256 MB
}

const (
	maxObjects  = 8 << 20
	maxChanged  = 256 << 20
	maxBranches = 1000
	fromOrigin  = "refs/remotes/origin/"
)

// PackClone packs a clone whose origin is at the address: its branches, and its files as they
// are, except for those that git ignores. Tags and stashes stay. It changes nothing in the
// clone. The error is a *RefusedError if a person can do something about it.
func PackClone(ctx context.Context, dir, address string, limits PackLimits) (Pack, error) {
	g, err := top(ctx, dir)
	if err != nil {
		return Pack{}, refused("%w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != g.Cwd {
		return Pack{}, refused("%s is no longer a repository", dir)
	}
	if err := g.ownsAll(ctx, dir); err != nil {
		return Pack{}, err
	}
	if err := g.settled(ctx); err != nil {
		return Pack{}, err
	}
	p := Pack{URL: address}
	if p.Head, err = g.run(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"); err != nil {
		if ctx.Err() != nil {
			return Pack{}, context.Cause(ctx)
		}
		return Pack{}, refused("the repository in %s has no commit yet; make one first", dir)
	}
	if p.Branch, err = g.branch(ctx); err != nil {
		return Pack{}, err
	}
	if p.Branches, err = g.branches(ctx); err != nil {
		return Pack{}, err
	}
	if limits.Files == 0 {
		limits.Files = maxChanged
	}
	if limits.Objects == 0 {
		limits.Objects = maxObjects
	}
	own, done, err := g.apart(ctx)
	if err != nil {
		return Pack{}, err
	}
	defer done()
	own.lineEndings(ctx)
	if p.Files, err = own.snapshot(ctx, p.Head, limits.Files); err != nil {
		return Pack{}, err
	}
	p.Objects, err = own.missing(ctx, p, limits.Objects)
	return p, err
}

// ownsAll refuses a clone that shows another repository, in whole or in part: an agent may
// have made it so, and a pack would hold what is there. Clone makes none of this.
func (g *git) ownsAll(ctx context.Context, dir string) error {
	const only = "only the repository that was cloned here can move; put it back, and try again"
	own := filepath.Join(g.Cwd, ".git")
	for _, path := range []string{dir, own} {
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			return refused("%s is not an ordinary folder; %s", path, only)
		}
	}
	common, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	if common = filepath.FromSlash(common); common != own {
		return refused("%s uses the repository in %s; %s", dir, common, only)
	}
	objects := filepath.Join(own, "objects")
	alternates := filepath.Join(objects, "info", "alternates")
	if _, err := os.Lstat(alternates); !errors.Is(err, fs.ErrNotExist) {
		return refused("%s uses objects of another repository; run `git repack -ad`, remove %s, and try again", dir, alternates)
	}
	return filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // git has just removed it
		case err != nil:
			return err
		case !d.IsDir() && !d.Type().IsRegular():
			return refused("%s is not an ordinary file or folder; %s", path, only)
		}
		return nil
	})
}

// branch is the one that is checked out, or "". Git's short name for it would be another if a
// tag has the same name.
func (g *git) branch(ctx context.Context) (string, error) {
	ref, err := g.run(ctx, "symbolic-ref", "--quiet", "HEAD")
	if gitcmd.ExitCode(err) == 1 {
		return "", nil // a commit is checked out
	}
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(ref, headsPrefix)
	if !ok {
		return "", refused("HEAD in %s is %s, which is not a branch; switch to one, and try again", g.Cwd, ref)
	}
	return name, nil
}

// branches lists the local branches.
func (g *git) branches(ctx context.Context) ([]Branched, error) {
	out, err := g.run(ctx, "for-each-ref", "--format=%(objectname) %(refname) %(upstream)", "refs/heads/")
	if err != nil || out == "" {
		return []Branched{}, err
	}
	all := []Branched{}
	for line := range strings.SplitSeq(out, "\n") {
		part := strings.Split(line, " ") // names have no spaces
		b := Branched{Commit: part[0], Name: strings.TrimPrefix(part[1], "refs/heads/")}
		if up, ok := strings.CutPrefix(part[2], fromOrigin); ok {
			b.Upstream = up
		}
		all = append(all, b)
	}
	if len(all) > maxBranches {
		return nil, refused("%s has %d branches; at most %d can move", g.Cwd, len(all), maxBranches)
	}
	return all, nil
}

// snapshot makes a commit of the files as they are, on top of head, or "" if they are as
// head has them.
func (g *git) snapshot(ctx context.Context, head string, limit int64) (string, error) {
	if err := g.notTooMuch(ctx, limit); err != nil {
		return "", err
	}
	if err := g.stage(ctx); err != nil {
		return "", refused("git cannot read the files: %w", err)
	}
	if err := g.movable(ctx, head); err != nil {
		return "", err
	}
	tree, err := g.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	if was, err := g.run(ctx, "rev-parse", "--verify", head+"^{tree}"); err != nil || was == tree {
		return "", err
	}
	own := g.with(nil, "GIT_AUTHOR_NAME=Terret", "GIT_AUTHOR_EMAIL="+nobodysEmail, "GIT_COMMITTER_NAME=Terret", "GIT_COMMITTER_EMAIL="+nobodysEmail)
	return own.record(ctx, tree, head, "The files as they were")
}

// notTooMuch refuses files that have changed and are too large to look at.
func (g *git) notTooMuch(ctx context.Context, limit int64) error {
	out, err := g.run(ctx, "ls-files", "-z", "--modified", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var sum int64
	for path := range strings.SplitSeq(out, "\x00") {
		info, err := os.Lstat(filepath.Join(g.Cwd, filepath.FromSlash(path)))
		if err != nil || !info.Mode().IsRegular() {
			continue // it was deleted, or is a link
		}
		if sum += info.Size(); sum > limit {
			return refused("the files in %s that are not committed have more than %d MB; let git ignore what is not needed, or commit and push the rest, and try again", g.Cwd, limit>>20)
		}
	}
	return nil
}

// movable refuses what would not arrive: repositories inside of this one, and files that
// git stores in another form.
func (g *git) movable(ctx context.Context, head string) error {
	inside, err := g.nested(ctx)
	if err != nil {
		return err
	}
	if len(inside) > 0 {
		return refused("%s is a repository of its own, or a submodule, whose files would stay behind; remove it (git submodule deinit), and try again", inside[0])
	}
	changed, err := g.run(ctx, "diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=d", "--no-ext-diff", head, "--")
	if err != nil {
		return err
	}
	return g.unfiltered(ctx, []byte(changed), "commit and push it with git, and try again")
}

// commits lists what a pack names.
func (p Pack) commits() []string {
	out := []string{p.Head}
	for _, b := range p.Branches {
		out = append(out, b.Commit)
	}
	if p.Files != "" {
		out = append(out, p.Files)
	}
	return out
}

// revisions selects, for commands that read it, the commits of a pack that are not on the
// origin.
func (g *git) revisions(ctx context.Context, p Pack) ([]byte, error) {
	onOrigin, err := g.run(ctx, "for-each-ref", "--format=^%(objectname)", fromOrigin)
	return []byte(strings.Join(p.commits(), "\n") + "\n" + onOrigin + "\n"), err
}

// missing packs what the origin does not have.
func (g *git) missing(ctx context.Context, p Pack, limit int) ([]byte, error) {
	in, err := g.revisions(ctx, p)
	if err != nil {
		return nil, err
	}
	if lost, err := g.with(in).run(ctx, "rev-list", "--max-count=1", "--stdin"); err != nil || lost == "" {
		return nil, err
	}
	var out bytes.Buffer
	args := []string{"pack-objects", "--revs", "--thin", "--stdout", "--quiet", "--delta-base-offset", "--threads=1"}
	err = g.Stream(ctx, bytes.NewReader(in), args, func(r *bufio.Reader) error {
		if n, err := out.ReadFrom(io.LimitReader(r, int64(limit)+1)); err != nil || n <= int64(limit) {
			return err
		}
		return refused("what was not pushed from %s has more than %d MB, packed; push it, let git ignore what is not needed, and try again", g.Cwd, limit>>20)
	})
	return out.Bytes(), err
}
