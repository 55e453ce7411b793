package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed and not yet read.
func flushInput(f *os.File) {
	const input = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
