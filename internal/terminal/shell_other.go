//go:build !linux && !darwin

package terminal

import "context"

// start returns ErrUnsupported.
func start(context.Context, Spec, string, int, int) (device, error) { return nil, ErrUnsupported }
