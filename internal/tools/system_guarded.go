//go:build linux || darwin

package tools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// openFlags make an open return at once, whatever the file has become.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// lockPatience is how long a writer waits for another one in the same folder.
// Then it goes on: the check against the prepared state still holds.
const (
	lockPatience = 5 * time.Second
	lockPause    = 2 * time.Millisecond
)

// lockFolder excludes other writers of this package from the folder until unlock
// is called. Where there are no locks it does nothing.
func lockFolder(ctx context.Context, root *os.Root, dir string) (unlock func()) {
	f, err := root.OpenFile(dir, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return func() {}
	}
	conn, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return func() {}
	}
	patience := time.NewTimer(lockPatience)
	defer patience.Stop()
	again := time.NewTicker(lockPause)
	defer again.Stop()
	for waiting := true; waiting; {
		var locked error
		_ = conn.Control(func(fd uintptr) {
			locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a descriptor
		})
		if !errors.Is(locked, syscall.EWOULDBLOCK) && !errors.Is(locked, syscall.EINTR) {
			break
		}
		select {
		case <-again.C:
		case <-patience.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	return func() { _ = f.Close() }
}

// keepOwner gives f the owner and group of old, as far as that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if !ok || err != nil {
		return
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || was.Uid == is.Uid && was.Gid == is.Gid {
		return
	}
	if f.Chown(int(was.Uid), int(was.Gid)) != nil {
		_ = f.Chown(-1, int(was.Gid))
	}
}
