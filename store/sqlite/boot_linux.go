package sqlite

import "os"

// bootID names the time since the machine was started, or is empty if that cannot be
// known.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}
