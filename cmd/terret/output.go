package main

import (
	"io"
	"sync"
	"syscall"

	"github.com/terret-dev/terret"
)

// exitPipe is the shell's exit code for a program that a broken pipe ended.
const exitPipe = 128 + int(syscall.SIGPIPE)

// output is standard output. It remembers the first error, so that lost output never
// looks like success, and then drops everything.
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

// lost returns the error if output was lost.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
