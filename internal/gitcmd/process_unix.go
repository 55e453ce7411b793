//go:build unix

package gitcmd

import (
	"os"
	"os/exec"
	"syscall"
)

// inherit makes cmd hold the lock too.
func inherit(cmd *exec.Cmd, lock *os.File) {
	if lock != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, lock)
	}
}

// openFlags make an open return at once, whatever the file has become.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// terminate asks a git to stop; it then removes its lock and temporary files.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
