package checkpoint

import (
	"os"
	"path/filepath"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// git runs commands on the shadow repository.
type git struct{ gitcmd.Git }

// git is for commands that hold the lock too, if it is not nil.
func (r *Repo) git(lock *os.File) git {
	return git{gitcmd.Git{
		Bin: r.bin, Dir: r.shadow, Work: r.dir, Cwd: r.dir, Index: filepath.Join(r.shadow, "index"), Config: r.conf, Lock: lock,
	}}
}
