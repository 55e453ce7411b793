//go:build unix

package project

import "syscall"

// plainFlags keep an open from following a symbolic link or waiting for a pipe.
const plainFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
