package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// How to read and set the mode of a terminal, and what stands for no key there.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	noKey      = 0xff
)

// flushInput drops typed input that was not read yet.
func flushInput(f *os.File) {
	const input = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
