package drivertest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// tb is what scenarios need of a test.
type tb interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Context() context.Context
}

// trial is a test that may fail: it collects what would have failed it.
type trial struct {
	t        *testing.T
	ctx      context.Context
	patience time.Duration

	mu    sync.Mutex
	found []string
}

var (
	_ tb = (*trial)(nil)
	_ tb = (*testing.T)(nil)
)

// try runs fn, whose waits take at most patience, and returns what failed.
func try(t *testing.T, patience time.Duration, fn func(tb)) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr := &trial{t: t, ctx: ctx, patience: patience}
	done := make(chan struct{})
	go func() { // so that it can be left in the middle
		defer close(done)
		fn(tr)
	}()
	<-done
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.found
}

func (t *trial) Helper() {}

func (t *trial) Logf(format string, args ...any) { t.t.Logf(format, args...) }

func (t *trial) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found = append(t.found, fmt.Sprintf(format, args...))
}

func (t *trial) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *trial) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.found) > 0
}

func (t *trial) Context() context.Context { return t.ctx }
