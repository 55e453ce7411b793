package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/lite"
)

// worker is this store's identity among the processes that share the file. It is
// registered at the first claim, so that commands which only read leave no trace.
type worker struct {
	id  string
	dir string // of the lock files; empty in memory

	mu   sync.Mutex
	lock *os.File // nil until registered
	up   bool
	gone bool // the store is closed
}

func (w *worker) init(path string) {
	w.id = terret.NewID(terret.PrefixWorker)
	if path != Memory {
		w.dir = path + ".workers"
	}
}

func (w *worker) lockFile(id string) string { return filepath.Join(w.dir, id+".lock") }

// Worker implements terret.Ownership.
func (s *Store) Worker() string { return s.worker.id }

// register takes the lock first and then writes the row, so that a row without a held
// lock always means a dead worker.
func (s *Store) register(ctx context.Context) error {
	w := &s.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return errClosed()
	}
	if w.up {
		return nil
	}
	if w.dir != "" && w.lock == nil {
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			return terret.Errorf(terret.CodeStartupRefused, "cannot create the folder for lock files: %w", err)
		}
		lock, err := files.TryOpenLocked(w.lockFile(w.id))
		if err == nil && lock == nil {
			err = errors.New("taken")
		}
		if err != nil {
			return terret.Errorf(terret.CodeStartupRefused, "cannot lock %s: %w", w.lockFile(w.id), err)
		}
		w.lock = lock
	}
	host, _ := os.Hostname() // only shown to people
	err := s.write(ctx, "register worker", func(tx *lite.Conn) error {
		return tx.Exec(`INSERT INTO workers (id, pid, host, started_at) VALUES (?, ?, ?, ?)`,
			w.id, os.Getpid(), host, terret.Now().UnixMicro())
	})
	w.up = err == nil
	return err
}

// retire gives back everything that this worker owns and removes its traces.
func (s *Store) retire() error {
	w := &s.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	var err error
	if w.up {
		err = s.write(context.Background(), "retire worker", func(tx *lite.Conn) error {
			if err := tx.Exec(`UPDATE sessions SET owner = '' WHERE owner = ?`, w.id); err != nil {
				return err
			}
			return tx.Exec(`DELETE FROM workers WHERE id = ?`, w.id)
		})
		w.up = false
	}
	if w.lock != nil {
		// Remove the file first: a process that finds it missing takes us for dead, and
		// we no longer own anything.
		err = errors.Join(err, os.Remove(w.lock.Name()), w.lock.Close())
		w.lock = nil
	}
	return err
}

// alive reports whether the worker with that id holds its lock.
func (w *worker) alive(id string) bool {
	if id == w.id {
		return true
	}
	if w.dir == "" || !terret.ValidID(terret.PrefixWorker, id) {
		return false
	}
	held, err := files.Locked(w.lockFile(id))
	return held || err != nil // cannot tell: never take a session from a worker that may be alive
}

// Claim implements terret.Ownership.
func (s *Store) Claim(ctx context.Context, session string) (terret.Claim, error) {
	if err := s.register(ctx); err != nil {
		return terret.Claim{}, err
	}
	var c terret.Claim
	err := s.write(ctx, "claim session", func(tx *lite.Conn) error {
		owner, err := ownerOf(tx, session)
		if err != nil {
			return err
		}
		if owner != "" && s.worker.alive(owner) && owner != s.worker.id {
			return owned(tx, session, owner)
		}
		if err := tx.Exec(`UPDATE sessions SET owner = ?, epoch = epoch + 1 WHERE id = ?`, s.worker.id, session); err != nil {
			return err
		}
		if _, err := tx.Row(func(r *lite.Rows) { c.Cursor = bytes.Clone(r.Bytes(0)) }, `SELECT cursor FROM sessions WHERE id = ?`, session); err != nil {
			return err
		}
		c.Session, err = sessionOf(tx, session)
		return err
	})
	return c, err
}

func ownerOf(tx *lite.Conn, session string) (owner string, err error) {
	found, err := tx.Row(func(r *lite.Rows) { owner = r.Text(0) }, `SELECT owner FROM sessions WHERE id = ? AND deleted = 0`, session)
	if err == nil && !found {
		err = notFound(session)
	}
	return owner, err
}

func owned(tx *lite.Conn, session, owner string) error {
	var pid int64
	var host string
	found, err := tx.Row(func(r *lite.Rows) { pid, host = r.Int(0), r.Text(1) }, `SELECT pid, host FROM workers WHERE id = ?`, owner)
	if err != nil || !found {
		return terret.Errorf(terret.CodeConflict, "session %s is in use by worker %s", session, owner)
	}
	return terret.Errorf(terret.CodeConflict, "session %s is in use by process %d on %s", session, pid, host)
}

// Release implements terret.Ownership.
func (s *Store) Release(ctx context.Context, session string, epoch int64) error {
	return s.write(ctx, "release session", func(tx *lite.Conn) error {
		return tx.Exec(`UPDATE sessions SET owner = '' WHERE id = ? AND owner = ? AND epoch = ?`, session, s.worker.id, epoch)
	})
}

// Orphans implements terret.Ownership. It also forgets dead workers that own nothing.
func (s *Store) Orphans(ctx context.Context) ([]terret.Session, error) {
	var out []terret.Session
	var idle []string // workers
	err := s.read(ctx, "find orphans", func(c *lite.Conn) error {
		owners, err := texts(c, sqlOwners)
		if err != nil {
			return err
		}
		for _, owner := range owners {
			if s.worker.alive(owner) {
				continue
			}
			some, err := sessions(c, `owner = ? AND owner <> '' AND deleted = 0`, []any{owner}, "id", 0)
			if err != nil {
				return err
			}
			out = append(out, some...)
		}
		idle, err = texts(c, `SELECT id FROM workers WHERE id NOT IN (`+sqlOwners+`)`)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, s.forgetWorkers(ctx, idle)
}

const sqlOwners = `SELECT DISTINCT owner FROM sessions WHERE owner <> '' AND deleted = 0`

func (s *Store) forgetWorkers(ctx context.Context, idle []string) error {
	for _, id := range idle {
		if s.worker.alive(id) {
			continue
		}
		err := s.write(ctx, "forget worker", func(tx *lite.Conn) error {
			return tx.Exec(`DELETE FROM workers WHERE id = ? AND id NOT IN (`+sqlOwners+`)`, id)
		})
		if err != nil {
			return err
		}
		os.Remove(s.worker.lockFile(id)) //nolint:errcheck // it may be gone already
	}
	return nil
}

// texts reads a column.
func texts(c *lite.Conn, query string) (out []string, err error) {
	rows := c.Query(query)
	for rows.Next() {
		out = append(out, rows.Text(0))
	}
	return out, rows.Close()
}
