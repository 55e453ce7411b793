//go:build unix

package workfiles

import "syscall"

// openFlags make an open return at once, whatever the file has become.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
