package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The mechanisms.
const (
	Bubblewrap = "bubblewrap"
	Landlock   = "landlock"
)

// trialLimit bounds how long it may take to try out a mechanism.
const trialLimit = 20 * time.Second

// Runner puts commands into sandboxes, by what this machine offers. It is safe for
// concurrent use.
type Runner struct {
	helper []string
	path   string // PATH

	mu     sync.Mutex // held while mechanisms are tried out
	known  bool       // what choose found, for good
	chosen by
	err    error
}

// by is what makes the sandbox.
type by struct {
	name    string
	program string // of bubblewrap
}

// New makes a Runner. The helper is a program, with an absolute path, that calls [Main]
// with what follows in its arguments; without one there is no sandbox. Bubblewrap is
// looked up in the PATH of the environment.
func New(helper, environ []string) *Runner {
	r := &Runner{helper: helper}
	for _, v := range environ {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			r.path = path
		}
	}
	return r
}

// tried says what makes the sandbox. It is tried out once, and again only if a mechanism
// failed for a reason that passes.
func (r *Runner) tried() (by, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known {
		return r.chosen, r.err
	}
	chosen, lasting, err := r.choose()
	r.known, r.chosen, r.err = lasting, chosen, err
	return chosen, err
}

// Mechanism says what makes the sandbox on this machine, or why there can be none.
func (r *Runner) Mechanism() (string, error) {
	b, err := r.tried()
	return b.name, err
}

// Check says why a command cannot run in the box on this machine; nil if it can.
func (r *Runner) Check(b Box) error {
	_, err := r.suited(b)
	return err
}

// suited says what makes the sandbox for that box.
func (r *Runner) suited(b Box) (by, error) {
	found, err := r.tried()
	if err != nil {
		return by{}, err
	}
	if inner := b.excepted(); inner != "" && found.name == Landlock {
		return by{}, fmt.Errorf("commands in the sandbox could write to %s, which Landlock cannot except from the folder around it: install bubblewrap (bwrap), work in another folder, or choose another data folder with --data", inner)
	}
	return found, nil
}

// Wrap returns the arguments that run argv in the box. argv begins with the program, which
// is looked up in this process's PATH.
func (r *Runner) Wrap(b Box, argv []string) ([]string, error) {
	by, err := r.suited(b)
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	return r.wrap(by, b, append([]string{path}, argv[1:]...)), nil
}

// order is what the helper is told.
type order struct {
	Bwrap   string   `json:"bwrap,omitempty"` // empty: Landlock
	Write   []string `json:"write,omitempty"`
	Protect []string `json:"protect,omitempty"`
}

func (r *Runner) wrap(by by, b Box, argv []string) []string {
	text, err := json.Marshal(order{Bwrap: by.program, Write: b.Write, Protect: b.Protect})
	if err != nil {
		panic(err) // strings always encode
	}
	out := append([]string{}, r.helper...)
	return append(append(out, string(text)), argv...)
}

// choose tries out what could make a sandbox, the best first. The answer is lasting unless
// something failed for a reason that passes.
func (r *Runner) choose() (chosen by, lasting bool, err error) {
	switch {
	case runtime.GOOS != "linux":
		return by{}, true, errors.New("there is no sandbox on this system, only on Linux; start the session without it")
	case len(r.helper) == 0:
		return by{}, true, errors.New("this program has no sandbox; start the session without it")
	}
	var why []error
	lasting = true
	if program, err := r.bwrap(); err != nil {
		why = append(why, err)
	} else if passes, err := r.try(by{Bubblewrap, program}); err != nil {
		why, lasting = append(why, fmt.Errorf("bubblewrap does not work here: %w", err)), !passes
	} else {
		return by{Bubblewrap, program}, true, nil
	}
	if passes, err := r.try(by{name: Landlock}); err != nil {
		why = append(why, fmt.Errorf("Landlock does not work here: %w", err)) //nolint:staticcheck // a name
		return by{}, lasting && !passes, fmt.Errorf("there is no sandbox on this machine; install bubblewrap, or start the session without it: %w", errors.Join(why...))
	}
	return by{name: Landlock}, lasting, nil
}

// bwrap finds bubblewrap. A relative entry of PATH could be of a project, and does not
// count.
func (r *Runner) bwrap() (string, error) {
	for _, dir := range filepath.SplitList(r.path) {
		path := filepath.Join(dir, "bwrap")
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New("bubblewrap (bwrap) is not installed")
}

// try has the helper break out of a sandbox, which must fail. An error passes if the
// machine was only short of something.
func (r *Runner) try(by by) (passes bool, err error) {
	ctx, stop := context.WithTimeout(context.Background(), trialLimit)
	defer stop()
	outside, err := os.MkdirTemp("", "terret-sandbox-")
	if err != nil {
		return true, err
	}
	defer func() { _ = os.RemoveAll(outside) }()
	argv := r.wrap(by, Box{}, append(append([]string{}, r.helper...), trial, filepath.Join(outside, "file")))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // our own program
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{}, time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return ctx.Err() != nil || passing(err, said.String()), fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	if strings.TrimSpace(said.String()) != held {
		return false, fmt.Errorf("it was tried out, and said %q", said.String())
	}
	return false, nil
}

// passing reports whether a command failed because the machine was short of something: it
// could not be started, was killed, or says so.
func passing(err error, said string) bool {
	exit, ended := errors.AsType[*exec.ExitError](err)
	if ended && !exit.Exited() {
		return true
	}
	for _, short := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, short) || strings.Contains(strings.ToLower(said), short.Error()) {
			return true
		}
	}
	return false
}

const (
	trial = "try"  // the helper's argument to try to break out
	held  = "held" // what it says if it cannot
)
