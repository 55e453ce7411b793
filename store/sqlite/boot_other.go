//go:build !linux && !darwin

package sqlite

// bootID is empty: nobody says when the machine was started.
func bootID() string { return "" }
