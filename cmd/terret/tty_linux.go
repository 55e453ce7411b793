package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// How to read and set the mode of a terminal, and what stands for no key there.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	noKey      = 0
)

// flushInput drops typed input that was not read yet.
func flushInput(f *os.File) {
	const input = 0 // TCIFLUSH
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, input)
}
