package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"github.com/terret-dev/terret"
)

// identity is which files the store has open, so that it is noticed when others are in
// their place: what is written then nobody will find.
type identity struct{ db, wal fs.FileInfo }

// checkGone says whether the files that the store writes are still those at its path. The
// turn must be held.
func (s *Store) checkGone() error {
	if s.path == Memory || s.files.db == nil {
		return nil
	}
	if err := sameFile(s.path, s.files.db); err != nil {
		return err
	}
	return sameFile(s.path+"-wal", s.files.wal)
}

// noteFiles remembers the files once they are there. The turn must be held.
func (s *Store) noteFiles() {
	if s.path == Memory {
		return
	}
	if s.files.db == nil {
		s.files.db, _ = os.Stat(s.path) // if it is gone already, there will be none
	}
	if s.files.wal == nil {
		s.files.wal, _ = os.Stat(s.path + "-wal")
	}
}

func sameFile(path string, known fs.FileInfo) error {
	if known == nil {
		return nil
	}
	now, err := os.Stat(path)
	if err == nil && os.SameFile(now, known) {
		return nil
	}
	what := "replaced"
	if errors.Is(err, fs.ErrNotExist) {
		what = "deleted or moved"
	}
	return terret.Errorf(terret.CodeStartupRefused, "the database file %s was %s while it was in use, so nothing can be stored; put it back, or restart to begin with what is there now", path, what)
}
