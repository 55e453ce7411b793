package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks an open file until it is closed, and reports whether it could.
func tryLock(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	case err != nil:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return true, nil
}
