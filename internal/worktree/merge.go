package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// ownFile is what Terret writes into folders that git does not ignore.
const ownFile = ".terret/.gitignore"

func isOwn(path string) bool { return path == ownFile || strings.HasSuffix(path, "/"+ownFile) }

// stage adds everything to the index but Terret's own files.
func (g *git) stage(ctx context.Context) error {
	if _, err := g.run(ctx, "add", "--all"); err != nil {
		return err
	}
	added, err := g.run(ctx, "diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=A", "HEAD", "--")
	if err != nil {
		return err
	}
	for path := range strings.SplitSeq(added, "\x00") {
		if isOwn(path) {
			if _, err := g.run(ctx, "rm", "--cached", "--quiet", "--", path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Head is the commit that is checked out in a folder without uncommitted changes. With
// changes, or without a repository, it is an error for people.
func Head(ctx context.Context, dir string) (string, error) {
	g, err := top(ctx, dir)
	if err != nil {
		return "", err
	}
	return g.clean(ctx, "all")
}

// clean is the commit that is checked out. Changes are an error; untracked files are one if
// untracked is all, and are not if it is no.
func (g *git) clean(ctx context.Context, untracked string) (string, error) {
	head, err := g.commit(ctx, "")
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", fmt.Errorf("the repository in %s has no commit yet; make one first", g.Cwd)
	}
	status, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files="+untracked)
	if err != nil {
		return "", err
	}
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) > 3 && !isOwn(entry[3:]) {
			return "", fmt.Errorf("%s has uncommitted changes (%s); commit or stash them first", g.Cwd, entry[3:])
		}
	}
	return head, nil
}

// Discard removes the worktree with that id and its branch, with everything in them. A
// missing one is fine. A branch that the worktree has left stays, unless it has the id: it may be
// somebody's by now.
func Discard(ctx context.Context, home, id, dir string) error {
	g, err := top(ctx, dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	own, branch := filepath.Join(home, folder, id), MadeAs(home, id).Branch
	entries, err := os.ReadDir(own)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	release, err := g.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	trees, err := g.trees(ctx) // while it still says what is checked out there
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isNote(e.Name()) { // it says which branch goes: needed again if we are killed here
			continue
		}
		if err := removeAll(filepath.Join(own, e.Name())); err != nil {
			return err
		}
	}
	for _, t := range trees {
		if filepath.Dir(t.path) != own {
			continue
		}
		if _, err := g.run(ctx, "worktree", "remove", "--force", "--force", t.path); err != nil {
			return err
		}
		if t.ref == headsPrefix+branch || branch == branchPrefix+id { // the latter is nobody else's
			if err := g.drop(ctx, branch); err != nil {
				return err
			}
		}
	}
	return removeAll(own)
}

// Commit commits everything in a worktree, in the user's name. Nothing to commit is fine.
func Commit(ctx context.Context, dir, message string) error {
	g, err := top(ctx, dir)
	if err != nil {
		return err
	}
	if err := g.stage(ctx); err != nil {
		return err
	}
	if _, err := g.run(ctx, "diff", "--cached", "--quiet", "HEAD", "--"); err == nil {
		return nil
	}
	g.Env = g.person(ctx)
	_, err = g.run(ctx, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", message)
	return err
}

// nobodysEmail is that of commits where git has none.
const nobodysEmail = "terret@localhost"

// person is who commits: the user, as git's own configuration says.
func (g *git) person(ctx context.Context) []string {
	ask := func(key, otherwise string) string {
		value, _ := gitcmd.UserConfig(ctx, g.Bin, g.Cwd, "--get", key)
		return cmp.Or(strings.TrimSpace(value), otherwise)
	}
	name, email := ask("user.name", "Terret"), ask("user.email", nobodysEmail)
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email}
}

// Merge merges what is checked out in a worktree into what is checked out in dir, which may
// hold untracked files but no other changes: git could not take the merge back without
// them. If that is not possible, or would replace a file, dir stays as it is.
func Merge(ctx context.Context, dir, tree string) error {
	from, err := top(ctx, tree)
	if err != nil {
		return err
	}
	// Whoever worked there may have left the branch that the worktree was made with, and has
	// chosen the name of theirs.
	name, err := from.branch(ctx)
	if name != "" {
		name = headsPrefix + name
	} else if err == nil {
		name, err = from.commit(ctx, "")
	}
	if err != nil {
		return err
	}
	g, err := top(ctx, dir)
	if err != nil {
		return err
	}
	if _, err := g.clean(ctx, "no"); err != nil {
		return err
	}
	id, err := g.commit(ctx, name)
	if err != nil {
		return err
	}
	if err := g.free(ctx, from, id); err != nil {
		return err
	}
	g.Env = g.person(ctx)
	if _, err := g.run(ctx, "merge", "--quiet", "--no-edit", "--no-verify", "--no-gpg-sign", "--end-of-options", name); err != nil {
		return fmt.Errorf("it cannot be merged: %w", g.giveUp(ctx, "merge", "MERGE_HEAD", id, err))
	}
	return nil
}

// free refuses a merge of a commit that would replace files that git ignores, which git does
// without a word, or that would need filters, which do not run.
func (g *git) free(ctx context.Context, from *git, name string) error {
	added, err := g.run(ctx, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=A", "--end-of-options", "HEAD", name, "--")
	if err != nil {
		return err
	}
	since, err := g.run(ctx, "diff", "--name-only", "-z", "--no-renames", "--end-of-options", "HEAD..."+name, "--")
	if err != nil {
		return err
	}
	for _, side := range []*git{g, from} { // either may say what has a filter
		if err := side.unfiltered(ctx, []byte(since), "merge it with git"); err != nil {
			return fmt.Errorf("it cannot be merged: %w", err)
		}
	}
	changed := map[string]bool{} // the rest of what was added was removed in HEAD, and stays so
	for path := range strings.SplitSeq(since, "\x00") {
		changed[path] = true
	}
	for path := range strings.SplitSeq(added, "\x00") {
		there := g.inTheWay(path)
		if there == "" || !changed[path] {
			continue
		}
		ignored, err := g.run(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", there)
		if err != nil {
			return err
		}
		if ignored != "" {
			return fmt.Errorf("it cannot be merged: that would overwrite %s, which git ignores; move it away first", there)
		}
	}
	return nil
}

// inTheWay is what a new file at a path would replace: what is there, or a file where a
// folder above it goes.
func (g *git) inTheWay(path string) string {
	for i := 0; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if info, err := os.Lstat(g.below(path[:i])); err != nil {
			return ""
		} else if !info.IsDir() {
			return path[:i]
		}
	}
	if _, err := os.Lstat(g.below(path)); path == "" || err != nil {
		return ""
	}
	return path
}

// Apply brings what has changed in a worktree since a commit into dir, without a commit.
// If that is not possible, dir stays as it is.
func Apply(ctx context.Context, dir, tree, base string) error {
	from, err := top(ctx, tree)
	if err != nil {
		return err
	}
	patch, err := from.diff(ctx, base, "diff", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
	if err != nil || patch == "" {
		return err
	}
	g, err := top(ctx, dir)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "terret-patch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(patch + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if _, err := g.run(ctx, "apply", "--whitespace=nowarn", f.Name()); err != nil {
		return fmt.Errorf("the changes do not fit: %w", err)
	}
	return nil
}
