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
	"strings"
)

// Clone clones a repository into a new folder inside root, and returns the folder, whose
// name ends with the id. The user's own git settings say how to sign in; git asks nobody. No
// hook of the repository runs, and no submodule is fetched.
func Clone(ctx context.Context, address, root, id string, env []string) (dir string, err error) {
	name, err := repositoryName(address)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, name+"-"+id)
	cmd := exec.CommandContext(ctx, "git", "clone", "--quiet", "--template=", "-c", "core.hooksPath="+os.DevNull, "--", address, dir)
	cmd.Env = append(append([]string{}, env...), "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:http:ssh", "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
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
		if _, has := u.User.Password(); has {
			return "", errors.New("the address must not hold a password, which would be stored; let git on the worker sign in, with a credential helper or a key")
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
