package sqlite

import "os"

// bootID identifies this boot of the machine, or is empty if unknown.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}
