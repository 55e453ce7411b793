package workfiles

import (
	"os"

	"golang.org/x/sys/unix"
)

// madeUp reports whether a file is in a virtual file system that shows processes,
// devices or settings.
func madeUp(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return true
	}
	var st unix.Statfs_t
	var statErr error
	if err := conn.Control(func(fd uintptr) { statErr = unix.Fstatfs(int(fd), &st) }); err != nil || statErr != nil {
		return true
	}
	switch int64(st.Type) { // its type depends on the architecture
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.NSFS_MAGIC:
		return true
	}
	return false
}
