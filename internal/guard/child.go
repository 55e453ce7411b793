//go:build linux || darwin

package guard

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// argv0 is the name under which a program that links this package is a guard.
const argv0 = "terret-guard"

// File descriptors of the guard's two pipes.
const (
	controlFD = 3
	statusFD  = 4
)

//nolint:gochecknoinits // any program that links the package must be able to be the guard, before its main and with no set-up
func init() {
	if len(os.Args) > 0 && os.Args[0] == argv0 {
		unix.Exit(guardMain()) // os.Exit runs hooks of whatever the program links
	}
}

// child is the guard's own state. One goroutine owns it, and only that one
// forks, signals and reaps: a pid that it has not reaped cannot be reused.
type child struct {
	spec    *spec
	status  *os.File
	agent   int
	began   time.Time
	exited  bool
	ending  *ending // nil while the agent may run
	tracker tracker
}

// guardMain is the guard process. Its result is the process's exit code.
func guardMain() int {
	nameProcess(argv0)
	for _, fd := range []int{controlFD, statusFD} {
		unix.CloseOnExec(fd)
	}
	closeInherited(statusFD + 1)

	// Caught and dropped, not ignored: an ignored signal would stay ignored in
	// the agent, a caught one is back to its default there.
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE,
		unix.SIGALRM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	childEnded := make(chan os.Signal, 1)
	signal.Notify(childEnded, unix.SIGCHLD)

	control := os.NewFile(controlFD, "control")
	c := &child{status: os.NewFile(statusFD, "status")}
	first, err := readFrame(control)
	if err == nil {
		c.spec, err = decodeSpec(first)
	}
	if err != nil {
		// Nobody to report to but the person who ran this by hand.
		fmt.Fprintf(os.Stderr, "%s: only a harness can start this, not a person: %v\n", argv0, err)
		return 2
	}
	if err := c.start(); err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		_ = writeFrame(c.status, frameFailed, numbers(int64(errno)))
		_ = writeFrame(c.status, frameGone, numbers(0))
		return 1
	}
	frames := make(chan frame)
	go func() {
		defer close(frames)
		for {
			f, err := readFrame(control)
			if err != nil {
				return
			}
			frames <- f
		}
	}()
	left := c.serve(frames, childEnded)
	if _, gone := cgroup(c.spec.cgroup).end(); gone {
		left = 0 // also processes of others, which a signal does not reach
	}
	_ = writeFrame(c.status, frameGone, numbers(int64(left)))
	return 0
}

// start runs the agent on the guard's own standard files and then lets go of
// them, so that the harness sees the end of the pipes when the agent ends. That
// comes before the report: from then on only the agent holds them.
func (c *child) start() error {
	if err := becomeReaper(); err != nil {
		return err
	}
	for fd := range 3 {
		_ = unix.SetNonblock(fd, false)
	}
	var err error
	c.began = time.Now()
	if c.agent, err = c.fork(); err != nil {
		return err
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || duplicate(null, fd) != nil {
			_ = unix.Close(fd)
		}
	}
	_ = writeFrame(c.status, frameStarted, numbers(int64(c.agent)))
	return nil
}

// fork starts the agent, in a control group of its own if there can be one.
func (c *child) fork() (pid int, err error) {
	group := cgroup(c.spec.cgroup)
	attr := &syscall.ProcAttr{Dir: c.spec.dir, Env: c.spec.env, Files: []uintptr{0, 1, 2}, Sys: c.attributes()}
	if done, err := group.enter(attr.Sys); err == nil {
		pid, err = syscall.ForkExec(c.spec.path, c.spec.argv, attr)
		done()
		if err == nil {
			return pid, nil
		}
		group.end()
	}
	attr.Sys = c.attributes()
	return syscall.ForkExec(c.spec.path, c.spec.argv, attr)
}

// attributes say what the agent leads: a process group, or the session of its terminal.
func (c *child) attributes() *syscall.SysProcAttr {
	if c.spec.terminal {
		return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// serve runs until nothing is left of the tree and returns the number of
// processes it had to give up.
func (c *child) serve(frames <-chan frame, childEnded <-chan os.Signal) (left int) {
	for {
		if none := c.reap(); none && c.tracker.none() {
			return 0
		}
		timer := c.tracker.sample()
		if c.ending != nil {
			if timer, left = c.ending.advance(&c.tracker); left > 0 {
				return left
			}
		}
		select {
		case f, ok := <-frames:
			if !ok {
				frames = nil
				c.end(time.Duration(c.spec.grace))
				continue
			}
			c.obey(f)
		case <-childEnded:
		case <-timer:
		}
	}
}

func (c *child) obey(f frame) {
	sig := syscall.Signal(f.number(0))
	switch f.kind {
	case frameSignal:
		if !c.exited {
			_ = unix.Kill(c.agent, sig) // not yet reaped, so still the agent
		}
	case frameSignalTree:
		for _, t := range c.tracker.descendants() {
			_ = t.signal(sig)
			t.close()
		}
	case frameEnd:
		c.end(time.Duration(f.number(0)))
	}
}

// end begins to end the tree, or makes an end that has begun come sooner.
func (c *child) end(grace time.Duration) {
	deadline := time.Now().Add(grace)
	if c.ending == nil {
		c.ending = newEnding(deadline)
	} else {
		c.ending.hasten(deadline)
	}
}

// reap collects every child that has ended and reports whether none is left.
func (c *child) reap() (none bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, waitAny|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return true
		case err != nil || pid == 0:
			return false
		}
		if pid == c.agent && !c.exited {
			c.exited = true
			_ = writeFrame(c.status, frameExited, numbers(int64(status), int64(time.Since(c.began))))
			if !c.spec.keep {
				c.end(time.Duration(c.spec.grace))
			}
		}
	}
}
