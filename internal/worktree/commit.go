package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// CommitFiles commits files as they are in the folder, in the name of the user of git's
// configuration, and returns the commit. Paths are from dir. What else is staged stays
// staged. No hook runs and nothing is signed; a file that a filter would change is refused.
// The error is a *RefusedError if a person can do something about it; then nothing is
// changed. The context bounds the call until the repository is changed.
func CommitFiles(ctx context.Context, dir, message string, paths []string) (commit string, err error) {
	g, err := top(ctx, dir)
	if err != nil {
		return "", refused("%w", err)
	}
	g.dir = dir
	if err := g.ready(ctx, paths); err != nil {
		return "", err
	}
	if g.env, err = g.author(ctx); err != nil {
		return "", err
	}
	release, err := g.alone(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	ctx = context.WithoutCancel(ctx) // what is begun is finished: half of it would have to be undone
	g.lineEndings(ctx)
	added, err := g.mention(ctx, paths)
	if err != nil {
		return "", refused("git did not commit: %w", err)
	}
	g.in = joined(paths)
	_, err = g.run(ctx, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--message", message,
		"--only", "--pathspec-from-file=-", "--pathspec-file-nul")
	if err != nil {
		if len(added) > 0 {
			g.in = joined(added)
			_, undo := g.run(ctx, "rm", "--cached", "--quiet", "--force", "--pathspec-from-file=-", "--pathspec-file-nul")
			err = errors.Join(err, undo)
		}
		return "", refused("git did not commit: %w", err)
	}
	g.in = nil
	return g.run(ctx, "rev-parse", "--verify", "HEAD")
}

// ready refuses what cannot be committed right now.
func (g *git) ready(ctx context.Context, paths []string) error {
	own, err := g.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	for _, u := range unfinished {
		if _, err := os.Lstat(filepath.Join(filepath.FromSlash(own), u.file)); err == nil {
			return refused("a %s is in progress in %s; finish or abort it with git first", u.name, g.dir)
		}
	}
	g.in = joined(paths)
	defer func() { g.in = nil }()
	out, err := g.run(ctx, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	record := strings.Split(out, "\x00")
	for i := 0; i+2 < len(record); i += 3 {
		if v := record[i+2]; v != "unspecified" && v != "unset" {
			return refused("%s is stored by git in another form (filter %s in .gitattributes), and filters do not run here; commit it with git", record[i], v)
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
		cmd := exec.CommandContext(ctx, g.bin, "config", "--get", key)
		cmd.Dir = g.dir
		if out, err := cmd.Output(); err == nil {
			n := len(g.off) / 2
			g.off = append(g.off, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, strings.TrimSpace(string(out))))
		}
	}
}

// mention makes git know those of the files that it does not, and returns them.
func (g *git) mention(ctx context.Context, paths []string) ([]string, error) {
	out, err := g.run(ctx, "ls-files", "--others", "--exclude-standard", "-z", "--")
	if err != nil {
		return nil, err
	}
	var list []string
	for p := range strings.SplitSeq(out, "\x00") {
		if p != "" && slices.Contains(paths, p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	g.in = joined(list)
	defer func() { g.in = nil }()
	_, err = g.run(ctx, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
	return list, err
}

func joined(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.Bytes()
}
