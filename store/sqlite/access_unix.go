//go:build linux || darwin || freebsd || netbsd || openbsd

package sqlite

import (
	"os"
	"syscall"
)

// writable reports why an existing file cannot be written, without opening it. SQLite
// would open it read-only and leave files beside it that nobody can write, even after
// the permissions are fixed.
func writable(path string) error {
	const wOK = 2
	if err := syscall.Access(path, wOK); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}
