//go:build unix

package persona

import "syscall"

// nonBlocking keeps an open from waiting for a pipe.
const nonBlocking = syscall.O_NONBLOCK
