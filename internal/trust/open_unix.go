//go:build unix

package trust

import "syscall"

// nonBlocking keeps an open from waiting for a pipe.
const nonBlocking = syscall.O_NONBLOCK
