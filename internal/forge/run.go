package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/worktree"
)

// Folder is a session's folder.
type Folder struct {
	Dir  string   // absolute
	Home string   // Terret's own folder; it knows what worktrees were made from
	Env  []string // the person's environment
}

// How long programs may take, and how much they may say.
const (
	commitLimit = 10 * time.Minute // hooks run tests
	pushLimit   = 5 * time.Minute
	forgeLimit  = time.Minute
	maxOutput   = 8 << 20
	maxLines    = 500
)

func refused(format string, args ...any) error {
	return &worktree.RefusedError{Reason: fmt.Errorf(format, args...).Error()}
}

// quiet is the environment for a program that works on the folder, and asks neither at a
// terminal nor in a window. Allow are the names of secrets that it gets.
func (f Folder) quiet(ctx context.Context, allow ...string) []string {
	env := gitcmd.Here(proc.FilterEnv(f.Env, allow...))
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_MERGE_AUTOEDIT=no", "GIT_PAGER=cat", "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file",
		"LC_ALL=C.UTF-8", "LANGUAGE=", "NO_COLOR=1",
		"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "GH_PAGER=cat", "GLAB_NO_PROMPT=1", "NO_PROMPT=1")
	own, _ := gitcmd.UserConfig(ctx, "git", f.Dir, "--get", "core.sshCommand")
	if own == "" && f.getenv("GIT_SSH_COMMAND") == "" && f.getenv("GIT_SSH") == "" { // else it is the person's own way
		env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes -oConnectTimeout=20")
	}
	return lastOfEach(env)
}

// lastOfEach leaves the last entry of each name: programs differ in which of several they take.
func lastOfEach(env []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, entry := range slices.Backward(env) {
		if name, _, _ := strings.Cut(entry, "="); !seen[name] {
			seen[name], out = true, append(out, entry)
		}
	}
	slices.Reverse(out)
	return out
}

// said is what a program printed.
type said struct {
	out string
	err []string // lines of the standard error
	ok  bool
}

// text is the end of what it printed, without keys.
func (s said) text() string {
	lines := s.err
	if len(lines) == 0 {
		lines = strings.Split(strings.TrimSpace(s.out), "\n")
	}
	return redact.New(nil).String(strings.Join(lines[max(0, len(lines)-20):], "\n"))
}

// run runs a program of the person's in the folder until it ends. Before it returns, all that
// the program has started has ended, too.
func (f Folder) run(ctx context.Context, limit time.Duration, env []string, in string, argv ...string) (said, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, refused("%s gave no answer within %s, so it was stopped", strings.Join(argv[:min(len(argv), 2)], " "), plain(limit)))
	defer cancel()
	var mu sync.Mutex
	var s said
	p, err := proc.Start(ctx, proc.Spec{Argv: argv, Dir: f.Dir, Env: env, OnStderr: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if len(s.err) < maxLines {
			s.err = append(s.err, line)
		}
	}})
	if err != nil {
		if _, gone := os.Stat(f.Dir); gone != nil {
			return said{}, f.gone()
		}
		return said{}, err
	}
	stop := context.AfterFunc(ctx, func() { _, _ = p.Kill() })
	defer stop()
	fed := make(chan struct{})
	go func() { // it ends when the program does
		defer close(fed)
		_, _ = io.WriteString(p.Stdin(), in)
		_ = p.Stdin().Close()
	}()
	out, readErr := io.ReadAll(io.LimitReader(p.Stdout(), maxOutput))
	if readErr == nil && len(out) == maxOutput {
		readErr = errors.New("it printed too much")
		_, _ = p.Kill()
	}
	<-p.Done()
	<-fed
	exit, err := p.Stop(context.WithoutCancel(ctx))
	switch {
	case ctx.Err() != nil:
		return said{}, context.Cause(ctx)
	case err != nil:
		return said{}, err
	case readErr != nil:
		return said{}, fmt.Errorf("%s: %w", argv[0], readErr)
	}
	mu.Lock()
	defer mu.Unlock()
	s.out, s.ok = string(out), exit.Code == 0 && exit.Signal == ""
	return s, nil
}

// plain is a length of time for people.
func plain(d time.Duration) string {
	if d == time.Minute {
		return "a minute"
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

// gone is the error for a folder that is not there.
func (f Folder) gone() error {
	if _, _, ok := worktree.Find(f.Home, f.Dir); ok {
		return refused("the worktree %s is gone: somebody has deleted it. Its branch may still be there", f.Dir)
	}
	return refused("the folder %s is gone", f.Dir)
}
