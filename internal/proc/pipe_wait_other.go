//go:build !linux

package proc

import (
	"io"
	"os"
)

// newWaiter is for Linux; elsewhere the file itself will do.
func newWaiter(f *os.File) io.Reader { return f }
