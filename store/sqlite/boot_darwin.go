package sqlite

import "golang.org/x/sys/unix"

// bootID names the time since the machine was started, or is empty if that cannot be
// known.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
