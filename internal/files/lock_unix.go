//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file until it is closed, and reports whether it could. Several may
// have a shared lock.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		for {
			locked = syscall.Flock(int(fd), how|syscall.LOCK_NB) // a descriptor
			if !errors.Is(locked, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return false, err
	case errors.Is(locked, syscall.EWOULDBLOCK):
		return false, nil
	case locked != nil:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: locked}
	}
	return true, nil
}
