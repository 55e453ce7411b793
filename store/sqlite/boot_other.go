//go:build !linux && !darwin

package sqlite

// bootID is empty: this platform has no boot id.
func bootID() string { return "" }
