//go:build !unix

package sqlite

// Permissions and locks are other things there.

func dropPrivileges() error { return nil }

func probeLock(string) error { return nil }
