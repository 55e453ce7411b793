//go:build unix

package access

import (
	"io/fs"
	"os"
	"syscall"
)

// plainFlags keep open from following a symbolic link or waiting on a named pipe.
const plainFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private says that file modes keep others out.
const private = true

// ours reports whether a file belongs to this user or to root.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid() || st.Uid == 0
}
