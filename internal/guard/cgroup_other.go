//go:build !linux

package guard

import "errors"

// Contained says whether agents run in control groups of their own. Only Linux has
// them.
func Contained() error { return errors.ErrUnsupported }
