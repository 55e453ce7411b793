package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops typed input that was not read yet.
func flushInput(f *os.File) {
	const input = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
