package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// openFlags are the flags that open what is at a path and nothing else; on
// Windows the check after the open does that alone.
const openFlags = 0

// tryLock opens the file at path for this handle alone. It returns nil when
// someone else has it open.
func tryLock(path string) (*os.File, error) {
	const sharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}
