//go:build unix

package workfiles

import (
	"os"
	"syscall"
)

// openFlags make an open return at once, whatever the file has become.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// terminate asks a program to stop.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
