package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData writes a file's content to the disk, without its times.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
