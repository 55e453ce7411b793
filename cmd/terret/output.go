package main

import (
	"io"
	"sync"
	"syscall"

	"github.com/terret-dev/terret"
)

// exitPipe is what a shell says of a program that a broken pipe has ended.
const exitPipe = 128 + int(syscall.SIGPIPE)

// output is standard output. It remembers the first failure, so that what is lost
// is never taken for success, and then takes nothing more.
type output struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err = terret.Errorf(terret.CodeInternal, "cannot write the output: %w", err)
	}
	return n, err
}

// lost says why output was lost, if it was.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
