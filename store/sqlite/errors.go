package sqlite

import (
	"context"
	"errors"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// code is the primary SQLite result code in err, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*lite.Error](err); ok {
		return e.Primary()
	}
	return 0
}

func isBusy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// describe turns a SQLite error into one that a person can act on. Errors that already
// are, and those of the context, pass through.
func describe(what, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*terret.Error](err); ok || errors.Is(err, terret.ErrFenced) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*os.SyscallError](err); ok {
		return failedDisk(what, path, err)
	}
	switch code(err) {
	case sqlite3.SQLITE_FULL:
		return terret.Errorf(terret.CodeInternal, "%s: the disk that holds %s is full; free some space and try again, nothing stored is lost (%w)", what, path, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return terret.Errorf(terret.CodeStartupRefused, "%s: %s is damaged; replace it with a backup, or move it away to start over (%w)", what, path, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return terret.Errorf(terret.CodeConflict, "%s: another program has held %s locked for too long; close it and try again (%w)", what, path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return terret.Errorf(terret.CodeStartupRefused, "%s: %s or its folder cannot be written; check the permissions or choose another data folder (%w)", what, path, err)
	case sqlite3.SQLITE_IOERR:
		return failedDisk(what, path, err)
	}
	return terret.Errorf(terret.CodeInternal, "%s: %s: %w", what, path, err)
}

func failedDisk(what, path string, err error) error {
	return terret.Errorf(terret.CodeInternal, "%s: the disk that holds %s is full or has failed; free some space and try again, nothing stored is lost (%w)", what, path, err)
}
