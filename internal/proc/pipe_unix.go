//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
)

// readNow reads what is in the pipe f, which does not block. No bytes and no
// error mean that there is nothing.
func readNow(f *os.File, p []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var readErr error
	err = conn.Control(func(fd uintptr) {
		for {
			n, readErr = syscall.Read(int(fd), p) // a descriptor
			if !errors.Is(readErr, syscall.EINTR) {
				return
			}
		}
	})
	if errors.Is(readErr, syscall.EAGAIN) {
		readErr = nil
	}
	return max(n, 0), errors.Join(err, readErr)
}
