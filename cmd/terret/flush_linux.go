package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed and not yet read.
func flushInput(f *os.File) {
	const input = 0 // TCIFLUSH
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, input)
}
