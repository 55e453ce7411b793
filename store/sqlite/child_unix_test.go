//go:build unix

package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// nobody is a user that owns nothing.
const nobody = 65534

// dropPrivileges makes permissions bind, which they do not for root.
func dropPrivileges() error {
	if os.Getuid() != 0 {
		return nil
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
}

// probeLock fails unless another process holds the lock by which SQLite knows
// that a database is in use.
func probeLock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 0x40000002, Len: 510}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		return err
	}
	if lock.Type == syscall.F_UNLCK {
		return errors.New("nobody holds the lock of the file")
	}
	return nil
}
