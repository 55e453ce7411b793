package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// RefusedError is a commit that was not made, and what a person can do about it.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

func refused(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Errorf(format, args...).Error()}
}

// unfinished is what git keeps in its folder while an operation of several steps waits for
// a person, and its name.
var unfinished = []struct{ file, name string }{
	{"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"},
	{"rebase-merge", "rebase"},
	{"rebase-apply", "rebase"},
	{"BISECT_LOG", "bisect"},
}

// CommitFiles commits files as a person has seen them on top of head, the commit that was
// checked out then (empty: none), in the name of the user of git's configuration, and
// returns the commit. Paths are from dir. What else is staged stays staged. No hook runs
// and nothing is signed; a file that a filter would change is refused, and so is one that
// is no longer as it was seen. The error is a *RefusedError if a person can do something
// about it; then nothing is changed. The context bounds the call until the repository is
// changed.
func CommitFiles(ctx context.Context, dir, message, head string, files []Seen) (commit string, err error) {
	g, err := top(ctx, dir)
	if err != nil {
		return "", refused("%w", err)
	}
	g.Cwd = dir
	if err := g.ready(ctx, files); err != nil {
		return "", err
	}
	if g.Env, err = g.author(ctx); err != nil {
		return "", err
	}
	release, err := g.alone(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	g.lineEndings(ctx)
	temp, err := os.MkdirTemp("", "terret-commit-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	staged, tree, err := g.treeOf(ctx, filepath.Join(temp, "index"), head, files)
	if err != nil {
		return "", err
	}
	if commit, err = g.record(ctx, tree, head, message); err != nil {
		return "", err
	}
	note := "commit: "
	if head == "" {
		note = "commit (initial): "
	}
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	ctx = context.WithoutCancel(ctx) // what is begun is finished: half of it would have to be undone
	err = g.move(ctx, head, commit, note+first, func() error {
		_, err := g.with(staged).run(ctx, "update-index", "-z", "--index-info")
		return err
	})
	if err == nil {
		return commit, nil
	}
	if now, _ := g.run(ctx, "rev-parse", "--quiet", "--verify", "HEAD"); now != head { // an error: there is none
		return "", refused("another commit is checked out since you looked at the changes, so nothing was committed; look at them again")
	}
	return "", refused("git did not commit: %w", err)
}

// ready refuses what cannot be committed right now.
func (g *git) ready(ctx context.Context, files []Seen) error {
	if err := g.settled(ctx); err != nil {
		return err
	}
	return g.unfiltered(ctx, joined(files, func(Seen) bool { return true }), "commit it with git")
}

// settled refuses a repository in which an operation of several steps waits for a person.
func (g *git) settled(ctx context.Context) error {
	name, err := g.unfinished(ctx)
	if err == nil && name != "" {
		err = refused("a %s is in progress in %s; finish or abort it with git first", name, g.Cwd)
	}
	return err
}

func (g *git) unfinished(ctx context.Context) (name string, err error) {
	own, err := g.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	for _, u := range unfinished {
		if _, err := os.Lstat(filepath.Join(filepath.FromSlash(own), u.file)); err == nil {
			return u.name, nil
		}
	}
	return "", nil
}

// Unfinished names the operation of several steps, such as a rebase, that waits for a person
// in the repository that dir is in, or "".
func Unfinished(ctx context.Context, dir string) (string, error) {
	g, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	return g.unfinished(ctx)
}

// unfiltered refuses files that git stores in another form, and says what to do instead. The
// paths each end with a zero byte.
func (g *git) unfiltered(ctx context.Context, paths []byte, instead string) error {
	out, err := g.with(paths).run(ctx, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	record := strings.Split(out, "\x00")
	for i := 0; i+2 < len(record); i += 3 {
		if v := record[i+2]; v != "unspecified" && v != "unset" {
			return refused("%s is stored by git in another form (filter %s in .gitattributes), and filters do not run here; %s", record[i], v, instead)
		}
	}
	return nil
}

// author is who commits, as git's configuration says. Without one there is no commit.
func (g *git) author(ctx context.Context) ([]string, error) {
	env := g.person(ctx)
	if slices.Contains(env, "GIT_AUTHOR_EMAIL="+nobodysEmail) {
		return nil, refused("git does not know who you are; tell it with `git config --global user.name NAME` and `git config --global user.email ADDRESS`")
	}
	return env, nil
}

// lineEndings has git store line endings as the user's own git does: the configuration that
// says so is mostly not that of the repository.
func (g *git) lineEndings(ctx context.Context) {
	for _, key := range []string{"core.autocrlf", "core.eol"} {
		if value, ok := gitcmd.UserConfig(ctx, g.Bin, g.Cwd, "--get", key); ok {
			g.Git = g.With(key + "=" + strings.TrimSpace(value))
		}
	}
}
