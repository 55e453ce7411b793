package forge

import (
	"context"
	"errors"
	"os"
	"strings"
)

// Commit commits these files, by their paths from the folder, as the person's own git does
// it: hooks run, and it is signed if git is set so. What else is staged stays staged. It
// returns the commit.
func (f Folder) Commit(ctx context.Context, message string, paths []string) (string, error) {
	r, err := f.open(ctx)
	if err != nil {
		return "", err
	}
	s, err := f.Status(ctx)
	if err != nil {
		return "", err
	}
	if s.Operation != "" {
		return "", refused("a %s is in progress in %s; finish or abort it with git first", s.Operation, f.Dir)
	}
	added, err := f.untracked(ctx, r, paths)
	if err != nil {
		return "", err
	}
	env := f.quiet(ctx)
	if len(added) > 0 { // otherwise git does not know what they are
		if err := f.git(ctx, env, literal(added), "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return "", err
		}
	}
	err = f.commit(ctx, env, message, paths)
	if err != nil {
		if len(added) > 0 {
			undo := []string{"reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"}
			if s.Head == "" {
				undo = []string{"rm", "--cached", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"}
			}
			_ = f.git(context.WithoutCancel(ctx), env, literal(added), undo...) // the first error counts
		}
		return "", err
	}
	return r.ask(ctx, "rev-parse", "HEAD")
}

// commit runs git commit. The list of files needs the standard input, so the message is in a
// file: arguments can be read by everybody on the machine.
func (f Folder) commit(ctx context.Context, env []string, message string, paths []string) error {
	file, err := os.CreateTemp("", "terret-message-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(message)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	got, err := f.run(ctx, commitLimit, env, literal(paths), "git", "commit", "--quiet", "--only", "--cleanup=strip", "--file="+file.Name(), "--pathspec-from-file=-", "--pathspec-file-nul")
	if err != nil {
		return err
	}
	if got.ok {
		return nil
	}
	text := got.text()
	switch {
	case strings.Contains(text, "index.lock"):
		return refused("another git works in the repository (index.lock is there); wait for it, or remove the file if none runs")
	case strings.Contains(text, "empty ident") || strings.Contains(text, "tell me who you are"):
		return refused("git does not know who you are; tell it with `git config --global user.name NAME` and `git config --global user.email ADDRESS`")
	case strings.Contains(text, "failed to sign") || strings.Contains(text, "gpg failed"):
		return refused("the commit could not be signed, since nobody can be asked for a passphrase here; unlock the key in a terminal first, or commit without hooks and signing. Git says: %s", text)
	case text == "":
		return refused("nothing was committed: git, or a hook, refused without a word")
	}
	return refused("nothing was committed. Git, or a hook, says: %s", text)
}

// git runs a command of the person's own git.
func (f Folder) git(ctx context.Context, env []string, in string, args ...string) error {
	got, err := f.run(ctx, forgeLimit, env, in, append([]string{"git"}, args...)...)
	if err == nil && !got.ok {
		err = refused("git %s: %s", args[0], got.text())
	}
	return err
}

// untracked are those of the paths that git does not know.
func (f Folder) untracked(ctx context.Context, r *repo, paths []string) (out []string, err error) {
	known := map[string]bool{}
	list, err := r.ask(ctx, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(list, "\x00") {
		known[path] = true
	}
	old, err := r.ask(ctx, append([]string{"ls-tree", "-z", "--name-only", "-r", "HEAD", "--"}, paths...)...)
	if err == nil { // otherwise there is no commit yet
		for path := range strings.SplitSeq(old, "\x00") {
			known[path] = true
		}
	}
	for _, path := range paths {
		if !known[path] {
			out = append(out, path)
		}
	}
	return out, nil
}

// literal makes a list of paths that git takes as they are.
func literal(paths []string) string {
	var out strings.Builder
	for _, p := range paths {
		out.WriteString(":(literal)" + p + "\x00")
	}
	return out.String()
}
