package gitcmd

import (
	"os"
	"os/exec"
)

// inherit does nothing: a git that outlives its Terret holds the index lock
// open, and Windows does not let anyone remove an open file.
func inherit(*exec.Cmd, *os.File) {}

const openFlags = 0

// terminate ends a git; Windows has no polite way.
func terminate(p *os.Process) error { return p.Kill() }
