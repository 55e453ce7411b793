//go:build unix

package config

import "syscall"

// nonBlocking keeps open from waiting on a named pipe.
const nonBlocking = syscall.O_NONBLOCK
