//go:build linux || darwin

package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret/internal/guard"
)

// shell is a device: a shell under a guard.
type shell struct {
	*os.File // the pty's own side
	guard    *guard.Guard
}

var _ device = (*shell)(nil)

// start opens a pty and starts a shell on it.
func start(ctx context.Context, s Spec, program string, columns, rows int) (device, error) {
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("open a terminal: the folder %s is gone: %w", s.Dir, os.ErrNotExist)
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: the system gives none: %w", err)
	}
	defer func() { _ = theirs.Close() }()
	dev := &shell{}
	if dev.File, err = pollable(ours); err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	if err = dev.Resize(columns, rows); err == nil {
		dev.guard, err = guard.Start(ctx, guard.Config{
			Path: program, Argv: []string{filepath.Base(program)}, Dir: s.Dir, Env: environ(s.Env, program, s.Dir), Owner: s.Owner,
			Stdin: theirs, Stdout: theirs, Stderr: theirs, Terminal: true,
		})
	}
	if err != nil {
		dev.Release()
		return nil, fmt.Errorf("open a terminal with %s: %w", program, err)
	}
	return dev, nil
}

// pollable replaces a file by one whose Close ends a Read or Write that waits.
func pollable(f *os.File) (*os.File, error) {
	defer func() { _ = f.Close() }()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil //nolint:gosec // a descriptor
}

// control calls fn with the descriptor of the pty.
func (s *shell) control(fn func(fd int) error) error {
	conn, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = fn(int(fd)) }); err != nil { //nolint:gosec // a descriptor
		return err
	}
	return failed
}

// Resize implements device.
func (s *shell) Resize(columns, rows int) error {
	size := unix.Winsize{Col: uint16(columns), Row: uint16(rows)} //nolint:gosec // both are at most maxSide
	if err := s.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size) }); err != nil {
		return fmt.Errorf("change the size of a terminal: %w", err)
	}
	return nil
}

// Foreground implements device. The shell leads the terminal's session, so that its process
// group has its number.
func (s *shell) Foreground() (name string, busy bool) {
	group := 0
	err := s.control(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	if err != nil || group <= 0 || group == s.guard.PID() {
		return "", false
	}
	if runtime.GOOS == "linux" {
		comm, _ := os.ReadFile("/proc/" + strconv.Itoa(group) + "/comm") // it may have ended by now
		name = strings.TrimSpace(string(comm))
	}
	return name, true
}

// End implements device. Interactive shells ignore TERM; HUP is what a terminal that is
// closed sends.
func (s *shell) End(grace time.Duration) {
	_ = s.guard.SignalTree(syscall.SIGHUP)
	_ = s.guard.SignalTree(syscall.SIGCONT)
	_ = s.guard.End(grace)
}

// Gone implements device.
func (s *shell) Gone() <-chan struct{} { return s.guard.Gone() }

// Exit implements device.
func (s *shell) Exit() (code int, signal string) {
	exit := s.guard.Status()
	return exit.Code, exit.Signal
}

// Release implements device.
func (s *shell) Release() { _ = s.Close() }
