package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops typed input that was not read yet.
func flushInput(f *os.File) {
	const input = 0 // TCIFLUSH
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, input)
}
