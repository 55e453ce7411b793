//go:build !linux

package pages

// Unmap does nothing on this system.
func Unmap() error { return nil }
