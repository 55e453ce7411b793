package project

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// plainFlags are none: the check after the open does all.
const plainFlags = 0

// tryLock locks the file until it is closed, and reports whether it could.
func tryLock(file *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
