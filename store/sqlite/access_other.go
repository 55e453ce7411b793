//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package sqlite

// writable leaves it to SQLite to find out.
func writable(string) error { return nil }
