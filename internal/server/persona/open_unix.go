//go:build unix

package persona

import "syscall"

// nonBlocking keeps open from waiting on a named pipe.
const nonBlocking = syscall.O_NONBLOCK
