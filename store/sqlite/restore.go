package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/lite"
)

// stamp is the form of times in the names of files that are kept.
const stamp = "20060102T150405Z"

// copyBefore keeps a copy of a database that is about to be migrated. Its transaction keeps
// others from writing meanwhile.
func (s *Store) copyBefore(ctx context.Context, tx *lite.Conn) error {
	version, known, err := schemaVersion(tx, s.path)
	if err != nil || version == 0 || version == known || s.path == Memory {
		return err
	}
	to := fmt.Sprintf("%s.schema-%d-%s.bak", s.path, version, time.Now().UTC().Format(stamp))
	if err := s.Backup(ctx, to); err != nil {
		return terret.Errorf(terret.CodeStartupRefused, "cannot keep a copy of the database before it is brought up to date, so nothing was changed: %w", err)
	}
	s.log.Info("kept a copy of the database before it is brought up to date", "copy", to)
	return nil
}

// copiesBefore are the copies of a database with a schema that is not newer than known, the
// latest last.
func copiesBefore(path string, known int) []string {
	found, _ := filepath.Glob(strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path) + ".schema-*-*.bak")
	at := func(name string) (version, when string) {
		version, when, _ = strings.Cut(strings.TrimPrefix(name, path+".schema-"), "-")
		return version, when
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		version, _ := at(name)
		n, err := strconv.Atoi(version)
		return err != nil || n > known
	})
	slices.SortFunc(found, func(a, b string) int {
		_, one := at(a)
		_, two := at(b)
		return strings.Compare(one, two)
	})
	return found
}

// Restore puts a copy of the database at from in place of the one at path, and returns where
// that is kept; empty if there was none. It refuses while somebody has the database open,
// and a file that is damaged, not ours, or newer than this program.
func Restore(ctx context.Context, path, from string) (kept string, err error) {
	if _, err := os.Stat(from); err != nil {
		return "", terret.Invalid("file", "there is no backup: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", terret.Errorf(terret.CodeInvalidRequest, "cannot create the data folder: %w", err)
	}
	one, _ := os.Stat(path)
	if other, err := os.Stat(from); err == nil && one != nil && os.SameFile(one, other) {
		return "", terret.Invalid("file", "that is the database itself")
	}
	lock, err := files.TryOpenLocked(path + ".restore.lock")
	if err != nil {
		return "", terret.Errorf(terret.CodeInvalidRequest, "cannot restore: %w", err)
	}
	if lock == nil {
		return "", terret.Errorf(terret.CodeConflict, "somebody else restores this database")
	}
	defer func() { err = errors.Join(err, os.Remove(lock.Name()), lock.Close()) }()
	fresh := path + ".restoring"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", terret.Errorf(terret.CodeInvalidRequest, "cannot restore: %w", err)
	}
	defer os.Remove(fresh) //nolint:errcheck // it is in its place, or unwanted
	if err := copyChecked(ctx, from, fresh); err != nil {
		return "", err
	}
	return exchange(path, fresh)
}

// copyChecked copies a database that this program can use.
func copyChecked(ctx context.Context, from, to string) (err error) {
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "cannot copy the backup: %w", err)
	}
	defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
	source, err := dial(from, "PRAGMA busy_timeout = 5000;")
	if err != nil {
		return unusable(from, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	version, _, err := schemaVersion(source, from)
	if err != nil {
		return unusable(from, err)
	}
	if version == 0 {
		return terret.Invalid("file", "%s is no database of terret", from)
	}
	if err := interruptible(ctx, source, func(c *lite.Conn) error { return c.Exec(`VACUUM INTO ?`, to) }); err != nil {
		return unusable(from, err)
	}
	copied, err := lite.Open(to)
	if err != nil {
		return unusable(from, err)
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	found, err := texts(copied, `SELECT integrity_check FROM pragma_integrity_check`)
	if err != nil || !slices.Equal(found, []string{"ok"}) {
		return unusable(from, errors.Join(err, fmt.Errorf("%.5q", found)))
	}
	return nil
}

// unusable says that a backup cannot be restored.
func unusable(from string, err error) error {
	if _, ours := errors.AsType[*terret.Error](err); ours {
		return err
	}
	return terret.Invalid("file", "%s cannot be restored: %w", from, err)
}

// exchange puts a new file in the place of a database that nobody has open, and returns where
// the old one is.
func exchange(path, fresh string) (kept string, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", os.Rename(fresh, path)
	}
	held, err := lite.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	// Leaving the write-ahead log fails while anybody else has the file open, and puts
	// everything into it; the transaction keeps others out from then on.
	err = held.Script("PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE;")
	damaged := code(err) == sqlite3.SQLITE_NOTADB || code(err) == sqlite3.SQLITE_CORRUPT
	switch {
	case isBusy(err), damaged && workerAlive(path):
		return "", terret.Errorf(terret.CodeConflict, "%s is in use; stop every terret first (`terret service status`, `ps`), and try again", path)
	case err != nil && !damaged:
		return "", describe("restore", path, err)
	}
	kept = fmt.Sprintf("%s.replaced-%s", path, time.Now().UTC().Format(stamp))
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			break
		}
		kept = fmt.Sprintf("%s.replaced-%s-%d", path, time.Now().UTC().Format(stamp), n)
	}
	for _, end := range []string{"-wal", "-shm", ""} { // the first two only if it is damaged
		if err := os.Rename(path+end, kept+end); err != nil && (end == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", terret.Errorf(terret.CodeInvalidRequest, "cannot keep the old database: %w", err)
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", errors.Join(err, os.Rename(kept, path))
	}
	return kept, nil
}

// workerAlive reports whether a process has registered itself as one that uses the database.
func workerAlive(path string) bool {
	locks, _ := filepath.Glob(filepath.Join(path+".workers", "*.lock"))
	return slices.ContainsFunc(locks, func(lock string) bool {
		held, err := files.Locked(lock)
		return held || err != nil
	})
}
