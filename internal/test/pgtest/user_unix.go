//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// other is the user as whom the server runs, since it refuses to run as root.
func other() (uid, gid uint32, needed bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		id, err := strconv.ParseUint(u.Uid, 10, 32)
		group, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err == nil && err2 == nil {
			return uint32(id), uint32(group), true
		}
	}
	return 0, 0, false
}

func asOther(cmd *exec.Cmd) {
	if uid, gid, needed := other(); needed {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, NoSetGroups: false}}
	}
}

// giveAway makes the other user the owner of a file.
func giveAway(path string) error {
	uid, gid, needed := other()
	if !needed {
		return nil
	}
	if err := os.Chown(path, int(uid), int(gid)); err != nil {
		return fmt.Errorf("give %s to the server: %w", path, err)
	}
	return nil
}
