package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Unpack makes a clone like the one that was packed, in a new folder inside root, and
// returns the folder; id and env are as in Clone. Nothing that comes with the pack runs. Nothing
// is staged any more: the files are as they were, and the index as the commit. A file
// that a filter would change, as with LFS, is as git stores it where the commit is not the one
// that the origin's own branch has.
func Unpack(ctx context.Context, p Pack, root, id string, env []string) (dir string, err error) {
	if dir, err = Clone(ctx, p.URL, root, id, env); err != nil {
		return "", err
	}
	g, err := top(ctx, dir)
	if err == nil {
		g.lineEndings(ctx)
		err = g.unpack(ctx, p)
	}
	if err == nil {
		return dir, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", errors.Join(err, removeAll(dir))
}

func (g *git) unpack(ctx context.Context, p Pack) error {
	if err := g.take(ctx, p); err != nil {
		return err
	}
	if _, err := g.run(ctx, "checkout", "--quiet", "--detach", p.Head); err != nil {
		return err
	}
	if err := g.setBranches(ctx, p); err != nil {
		return err
	}
	if p.Branch != "" {
		if _, err := g.run(ctx, "symbolic-ref", "HEAD", "refs/heads/"+p.Branch); err != nil {
			return err
		}
	}
	if p.Files == "" {
		return nil
	}
	if _, err := g.run(ctx, "read-tree", "--reset", "-u", p.Files); err != nil {
		return err
	}
	_, err := g.run(ctx, "reset", "--quiet", "--mixed", "HEAD")
	return err
}

// take adds the objects, after git has checked them, and refuses a pack that is not whole.
func (g *git) take(ctx context.Context, p Pack) error {
	if err := p.check(ctx, g); err != nil {
		return err
	}
	if len(p.Objects) > 0 {
		_, err := g.with(p.Objects).run(ctx, "index-pack", "--stdin", "--fix-thin", "--strict", "--threads=1")
		switch {
		case err != nil && strings.Contains(err.Error(), "unresolved delta"): // of what the origin had
			return p.lost(err)
		case err != nil:
			return fmt.Errorf("what was packed cannot be used: %w", err)
		}
	}
	all, err := g.revisions(ctx, p)
	if err != nil {
		return err
	}
	if _, err := g.with(all).run(ctx, "rev-list", "--objects", "--quiet", "--stdin"); err != nil {
		return p.lost(err)
	}
	return nil
}

func (p Pack) lost(err error) error {
	return fmt.Errorf("commits that were once on %s are missing; push what is not there, and try again: %w", p.URL, err)
}

// check refuses names that git would take for something else.
func (p Pack) check(ctx context.Context, g *git) error {
	at := ""
	for _, b := range p.Branches {
		for _, name := range []string{b.Name, b.Upstream} {
			if name == "" && b.Name != "" {
				continue
			}
			if _, err := g.run(ctx, "check-ref-format", "refs/heads/"+name); err != nil {
				return fmt.Errorf("%q is not the name of a branch", name)
			}
		}
		if b.Name == p.Branch {
			at = b.Commit
		}
	}
	if p.Branch != "" && at != p.Head {
		return fmt.Errorf("branch %q is not at %q", p.Branch, p.Head)
	}
	for _, c := range p.commits() {
		if len(c) != 40 && len(c) != 64 || strings.Trim(c, "0123456789abcdef") != "" {
			return fmt.Errorf("%q is not a commit", c)
		}
	}
	return nil
}

// setBranches makes the local branches those of the pack.
func (g *git) setBranches(ctx context.Context, p Pack) error {
	have, err := g.branches(ctx)
	if err != nil {
		return err
	}
	var in bytes.Buffer
	for _, b := range have {
		fmt.Fprintf(&in, "delete refs/heads/%s\n", b.Name)
	}
	if _, err := g.with(in.Bytes()).run(ctx, "update-ref", "--stdin"); err != nil {
		return err
	}
	in.Reset()
	for _, b := range p.Branches {
		fmt.Fprintf(&in, "create refs/heads/%s %s\n", b.Name, b.Commit)
	}
	if _, err := g.with(in.Bytes()).run(ctx, "update-ref", "--stdin"); err != nil {
		return err
	}
	for _, b := range p.Branches {
		if b.Upstream == "" {
			continue
		}
		if _, err := g.run(ctx, "show-ref", "--verify", "--quiet", fromOrigin+b.Upstream); err != nil {
			continue // it is gone
		}
		if _, err := g.run(ctx, "branch", "--quiet", "--set-upstream-to="+fromOrigin+b.Upstream, "--", b.Name); err != nil {
			return err
		}
	}
	return nil
}
