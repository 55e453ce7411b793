package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/gitcmd"
)

// git runs git commands in a folder of the user's.
type git struct {
	gitcmd.Git
	in []byte // the input of commands
}

// open finds git, and what the user's git ignores.
func open(ctx context.Context, dir string) (*git, error) {
	bin, reason, err := gitcmd.Find(ctx)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		return nil, errors.New(reason)
	}
	g := gitcmd.Git{Bin: bin, Cwd: dir}
	return &git{Git: g.With("core.excludesFile=" + usersIgnores(ctx, bin, dir))}, nil
}

// usersIgnores finds the file in which the user says what git ignores in every repository:
// it may be there to keep secrets out. The repository has no say in it.
func usersIgnores(ctx context.Context, bin, dir string) string {
	file, ok := gitcmd.UserConfig(ctx, bin, dir, "--global", "--includes", "--type=path", "--get", "core.excludesFile")
	if ok && file != "" {
		return file
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return os.DevNull
		}
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "git", "ignore")
}

// disarm disables what the configuration of the repository names, and that of those
// inside of it.
func (g *git) disarm(ctx context.Context) error {
	safe, err := g.Disarmed(ctx)
	if err != nil {
		return err
	}
	g.Git = safe
	return g.disarmNested(ctx)
}

// run runs a command and returns what it prints, without the last line's end.
func (g *git) run(ctx context.Context, args ...string) (string, error) {
	out, err := g.Output(ctx, g.in, args...)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// with is git with more variables and another input.
func (g *git) with(in []byte, env ...string) *git {
	own := *g
	own.in, own.Env = in, append(append([]string{}, g.Env...), env...)
	return &own
}

// alone waits until nobody else of us changes the repository's list of worktrees, and
// keeps others from it until release is called: git itself fails when it reads about a
// worktree that another git is just making.
func (g *git) alone(ctx context.Context) (release func(), err error) {
	common, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.FromSlash(common))
	if err != nil {
		return nil, err
	}
	if err := files.Lock(ctx, dir); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return func() { _ = dir.Close() }, nil
}
