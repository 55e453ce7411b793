//go:build linux || darwin

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// keysAtOnce makes a terminal deliver keys as they are pressed, and show none by itself.
// Ctrl-Z still stops the program, and Ctrl-C still interrupts it unless it is to be a key
// like others. The returned function takes that back.
func keysAtOnce(f *os.File, ctrlC bool) (restore func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	mode := *before
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	mode.Lflag |= unix.NOFLSH // Ctrl-C loses nothing that was typed before it
	mode.Iflag &^= unix.IXON
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	mode.Cc[unix.VQUIT] = noKey // it would end the program at once, and leave the terminal like this
	if ctrlC {
		mode.Cc[unix.VINTR] = noKey
	}
	if err := unix.IoctlSetTermios(fd, setTermios, &mode); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, nil
}

// redraws are the signals after which the terminal must be drawn anew: it has another
// size, or the program continues after Ctrl-Z.
func redraws() []os.Signal { return []os.Signal{unix.SIGWINCH, unix.SIGCONT} }
