//go:build unix

package worktree

import (
	"os"
	"syscall"
)

// terminate asks a program to stop.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
