package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/guard"
)

// Spec says what to start. Only Argv is required.
type Spec struct {
	// Argv is the program and its arguments. A program without a separator is
	// looked up in the harness's PATH; a relative path is taken from the
	// harness's working folder, never from Dir, which may be a repository.
	Argv []string
	Dir  string // working folder; empty is the harness's own
	// Env is the whole environment, see FilterEnv. Nil is an empty one, not
	// the harness's. The guard's marks are added.
	Env   []string
	Owner string // worker id for the owner mark

	StopGrace time.Duration // each wait of Stop; zero is 2 s
	KillGrace time.Duration // from TERM to KILL in Kill; zero is 5 s
	// KeepDescendants leaves descendants alive when the agent ends by itself;
	// they are ended by Stop, by Kill or with the harness.
	KeepDescendants bool

	// OnStderr, if not nil, is called for each line of stderr, cut at 500
	// bytes, in order, from one goroutine. It must return soon and must not
	// wait for the Process, since Done waits for it.
	OnStderr func(line string)
}

// Start starts the agent of s and returns once it runs. ctx bounds the start
// only. A program that is not found gives an error that wraps exec.ErrNotFound.
func Start(ctx context.Context, s Spec) (*Process, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	var pipes [3]pipe
	for i := range pipes {
		if pipes[i].r, pipes[i].w, err = os.Pipe(); err != nil {
			closePipes(pipes[:])
			return nil, fmt.Errorf("start agent %s: open its pipes: %w", c.Path, err)
		}
	}
	c.Stdin, c.Stdout, c.Stderr = pipes[0].r, pipes[1].w, pipes[2].w
	g, err := guard.Start(ctx, c)
	if err != nil {
		closePipes(pipes[:])
		return nil, err
	}
	for _, theirs := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		_ = theirs.Close()
	}
	p := &Process{
		guard:     g,
		name:      filepath.Base(c.Path),
		stopGrace: orDefault(s.StopGrace, defaultStopGrace),
		killGrace: orDefault(s.KillGrace, defaultKillGrace),
		stdin:     pipes[0].w,
		stdout:    newPipeReader(pipes[1].r),
		stderr:    newPipeReader(pipes[2].r),
		tail:      &tail{onLine: s.OnStderr},
		done:      make(chan struct{}),
	}
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		p.tail.collect(p.stderr)
	}()
	go p.finish(s.KeepDescendants, collected)
	return p, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

// config checks s and resolves its program and folder.
func (s *Spec) config() (guard.Config, error) {
	c := guard.Config{
		Argv:            s.Argv,
		Env:             s.Env,
		Owner:           s.Owner,
		Grace:           s.StopGrace,
		KeepDescendants: s.KeepDescendants,
	}
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return c, errors.New("start agent: the argument list is empty; it must begin with the program")
	}
	name := s.Argv[0]
	if strings.ContainsRune(name, 0) {
		return c, errors.New("start agent: the program's name contains a NUL byte")
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return c, fmt.Errorf("start agent: program %q is not installed or not in PATH: %w", name, notFound(err))
	}
	if err != nil {
		return c, fmt.Errorf("start agent: program %q cannot be run: %w", name, err)
	}
	c.Path = path
	if c.Dir, err = filepath.Abs(s.Dir); err != nil {
		return c, fmt.Errorf("start agent %s: cannot find the working folder: %w", name, err)
	}
	info, err := os.Stat(c.Dir)
	if err != nil {
		return c, fmt.Errorf("start agent %s: working folder: %w", name, err)
	}
	if !info.IsDir() {
		return c, fmt.Errorf("start agent %s: working folder %s is not a folder", name, c.Dir)
	}
	return c, nil
}

// notFound makes a path that does not exist an exec.ErrNotFound as well.
func notFound(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", exec.ErrNotFound, err)
}

type pipe struct{ r, w *os.File }

func closePipes(pipes []pipe) {
	for _, p := range pipes {
		for _, f := range []*os.File{p.r, p.w} {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}
