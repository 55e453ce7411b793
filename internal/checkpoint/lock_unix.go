//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// openFlags keep an open from following a symbolic link or waiting for a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock opens and locks the file at path. It returns nil when someone else
// holds the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}
