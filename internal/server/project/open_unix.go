//go:build unix

package project

import "syscall"

// plainFlags keep open from following a symbolic link or waiting on a named pipe.
const plainFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
