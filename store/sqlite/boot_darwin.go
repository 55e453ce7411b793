package sqlite

import "golang.org/x/sys/unix"

// bootID identifies this boot of the machine, or is empty if unknown.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
