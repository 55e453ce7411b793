package worktree

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/redact"
)

// Clone clones a repository into a new folder inside root, and returns the folder, whose
// name ends with the id. The user's own git settings say how to sign in; git asks nobody. No
// hook runs meanwhile, and no submodule is fetched.
func Clone(ctx context.Context, address, root, id string, env []string) (dir string, err error) {
	name, err := repositoryName(address)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, name+"-"+id)
	cmd := exec.CommandContext(ctx, "git", "-c", "core.hooksPath="+os.DevNull, "clone", "--quiet", "--template=", "--", address, dir)
	cmd.Env = append(append([]string{}, env...), "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:http:ssh", "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	gitcmd.Polite(cmd)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return dir, nil
	}
	err = errors.Join(err, os.RemoveAll(dir))
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	return "", fmt.Errorf("git cannot clone %s: %s", address, said)
}

// repositoryName checks the address of a repository, and returns what to call its folder.
func repositoryName(address string) (string, error) {
	var rest string
	if user, after, ok := strings.Cut(address, "@"); ok && !strings.Contains(address, "://") && strings.Contains(after, ":") && !strings.ContainsAny(user, "/:-") {
		_, rest, _ = strings.Cut(after, ":") // git@host:path
	} else {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh":
			return "", fmt.Errorf("%q is not the address of a repository; it looks like https://host/path or git@host:path", address)
		case strings.HasPrefix(u.Host, "-"):
			return "", fmt.Errorf("%q is not the address of a host", u.Host)
		}
		if _, has := u.User.Password(); has || isKey(u.User.Username()) {
			return "", errors.New("the address must not hold a password or a key, which would be stored; let git on the worker sign in, with a credential helper or a key")
		}
		rest = u.Path
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r) {
			return r
		}
		return '-'
	}, strings.TrimSuffix(path.Base(rest), ".git"))
	if name = strings.Trim(name, ".-"); name == "" {
		name = "repository"
	}
	return name, nil
}

// isKey reports whether a user's name looks like a key, which some hosts take in its place.
func isKey(name string) bool { return redact.New(nil).String(name) != name }

// clones is the folder in Terret's own that knows which clones are ours, by their names. A
// mark in the clone itself could be made by an agent, in any folder.
const clones = "clones"

func cloneNote(home, dir string) string { return filepath.Join(home, clones, filepath.Base(dir)) }

// NoteClone remembers that a clone of the repository at the address was made for a session,
// and goes with it. Where it came from is not left to the clone: its agent can change that.
func NoteClone(home, dir, address string) error {
	if err := os.MkdirAll(filepath.Join(home, clones), 0o700); err != nil {
		return err
	}
	return files.Write(cloneNote(home, dir), []byte(dir+"\n"+address))
}

// DropClone removes a clone that no session uses, and forgets it.
func DropClone(home, dir string) error {
	return errors.Join(os.RemoveAll(dir), os.RemoveAll(cloneNote(home, dir)))
}

// IsClone reports whether NoteClone has remembered the folder.
func IsClone(home, dir string) bool {
	_, ok := clonedFrom(home, dir)
	return ok
}

// ClonedFrom returns the address of the repository that NoteClone has remembered, or "":
// older versions did not remember it.
func ClonedFrom(home, dir string) string {
	address, _ := clonedFrom(home, dir)
	return address
}

func clonedFrom(home, dir string) (address string, ok bool) {
	text, err := os.ReadFile(cloneNote(home, dir))
	rest, ok := strings.CutPrefix(string(text), dir)
	address, noted := strings.CutPrefix(rest, "\n")
	if !noted {
		address = ""
	}
	return address, err == nil && ok && (noted || rest == "")
}

// RemoveClone removes a clone that NoteClone has remembered, if nothing is lost: everything
// is committed, and pushed. Otherwise it leaves it and says why. own and force are as in
// Remove.
func RemoveClone(ctx context.Context, home, dir string, own func(file string) bool, force bool) (kept string, err error) {
	if !IsClone(home, dir) {
		return "", nil
	}
	if _, err := os.Stat(dir); err == nil {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil { // git would look at a repository above
			return "it is no longer a repository", nil // so it is kept
		}
		g, err := open(ctx, dir)
		if err == nil {
			err = g.disarm(ctx)
		}
		if err != nil {
			return "", err
		}
		if kept, err := g.elsewhere(ctx); kept != "" || err != nil {
			return kept, err
		}
		if kept, err := g.unpushed(ctx, own); kept != "" || err != nil {
			return kept, err
		}
		if kept, err := g.ignored(ctx, own, force); kept != "" || err != nil {
			return kept, err
		}
	}
	return "", errors.Join(removeAll(dir), os.Remove(cloneNote(home, dir)))
}

// unpushed says what would be lost with a clone, or "".
func (g *git) unpushed(ctx context.Context, own func(string) bool) (string, error) {
	if kept, err := g.uncommitted(ctx, own); kept != "" || err != nil {
		return kept, err
	}
	others, err := g.others(ctx)
	if err != nil {
		return "", err
	}
	if len(others) > 0 {
		return "other worktrees belong to it", nil
	}
	ours := []string{"--all"}
	if _, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil { // a branch may have no commit yet
		ours = append(ours, "HEAD")
	}
	lost, err := g.run(ctx, slices.Concat([]string{"rev-list", "--max-count=1"}, ours, []string{"--not", "--remotes"})...)
	if err != nil || lost == "" {
		return "", err
	}
	return "it has commits that were not pushed", nil
}
