//go:build linux || darwin || freebsd || netbsd || openbsd

package sqlite

import (
	"os"
	"syscall"
)

// writable reports why a file that is there cannot be written, without opening it.
// SQLite would open it to read and leave files beside it that nobody can write,
// also when the permissions are put right.
func writable(path string) error {
	const wOK = 2
	if err := syscall.Access(path, wOK); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}
