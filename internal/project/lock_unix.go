//go:build unix

package project

import (
	"errors"
	"os"
	"syscall"
)

// plainFlags keep an open from following a symbolic link or waiting for a pipe.
const plainFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock locks the file until it is closed, and reports whether it could.
func tryLock(file *os.File) (bool, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return false, err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) {
		for {
			lockErr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
			if !errors.Is(lockErr, syscall.EINTR) {
				return
			}
		}
	})
	if errors.Is(lockErr, syscall.EWOULDBLOCK) {
		return false, err
	}
	return err == nil && lockErr == nil, errors.Join(err, lockErr)
}
