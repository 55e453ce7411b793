//go:build !linux && !darwin

package guard

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// Guaranteed reports whether no descendant of an agent can outlive its harness
// on this system.
func Guaranteed() bool { return false }

// Guard is never made on this system: Start fails.
type Guard struct{}

func unsupported() error {
	return fmt.Errorf("unsupported on %s: %w; run Terret on Linux or macOS, or in WSL", runtime.GOOS, ErrUnsupported)
}

// Start returns an error that wraps ErrUnsupported.
func Start(_ context.Context, c Config) (*Guard, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("start agent %s: %w", c.Path, unsupported())
}

// Sweep finds nothing, since nothing can have been started.
func Sweep(context.Context) (ended int, err error) { return 0, nil }

// The methods below exist so that package proc builds.

// PID is zero.
func (*Guard) PID() int { return 0 }

// GuardPID is zero.
func (*Guard) GuardPID() int { return 0 }

// Exited is nil.
func (*Guard) Exited() <-chan struct{} { return nil }

// Gone is nil.
func (*Guard) Gone() <-chan struct{} { return nil }

// Status is the zero Exit.
func (*Guard) Status() Exit { return Exit{} }

// Err wraps ErrUnsupported.
func (*Guard) Err() error { return unsupported() }

// Signal returns an error that wraps ErrUnsupported.
func (*Guard) Signal(syscall.Signal) error { return unsupported() }

// SignalTree returns an error that wraps ErrUnsupported.
func (*Guard) SignalTree(syscall.Signal) error { return unsupported() }

// End returns an error that wraps ErrUnsupported.
func (*Guard) End(time.Duration) error { return unsupported() }

// Close does nothing.
func (*Guard) Close() error { return nil }
