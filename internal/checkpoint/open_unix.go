//go:build unix

package checkpoint

import "syscall"

// openFlags keep an open from following a symbolic link or waiting for a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
