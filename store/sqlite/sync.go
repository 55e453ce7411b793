package sqlite

import (
	"context"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret/internal/lite"
)

// SQLite syncs its log with fsync, which also writes the file's times, and shows a
// transaction only after that. Events are committed without that sync, so they survive
// the death of the process but not of the machine. Sync syncs them with fdatasync.
// Everything else is synced by SQLite, with all that was committed before it.

// unsyncedEvents is how many events of a process may be unsynced at a time; see jump.
const unsyncedEvents = 1000

// syncer decides which transactions SQLite syncs. The holder of the turn owns it.
type syncer struct {
	lazy    bool  // the machine tells when it was started, so transactions may be seen before they are on disk
	relaxed bool  // SQLite does not sync
	events  int   // unsynced so far
	changes int64 // of the connection, before the transaction
	failed  bool  // a sync of events that readers see: the log may have a hole on disk
}

// prepare makes the connection ready for a transaction with that many events that readers
// may see before they are on disk; if there are none, SQLite syncs it. No transaction may
// be open.
func (y *syncer) prepare(c *lite.Conn, events int) error {
	y.changes = c.TotalChanges()
	relax := y.lazy && events > 0 && y.events+events <= unsyncedEvents
	if relax == y.relaxed {
		return nil
	}
	level := "PRAGMA synchronous = FULL"
	if relax {
		level = "PRAGMA synchronous = NORMAL"
	}
	if err := c.Script(level); err != nil {
		return err
	}
	y.relaxed = relax
	return nil
}

// committing records that the transaction may be committed from now on.
func (y *syncer) committing(events int) {
	if y.relaxed {
		y.events += events
	}
}

// done records how the commit went. If it failed, its events may be in the log, and those
// before it may not be on disk, which later syncs do not tell.
func (y *syncer) done(c *lite.Conn, err error) {
	switch {
	case err != nil:
		y.failed = y.failed || y.events > 0
	case !y.relaxed && c.TotalChanges() != y.changes: // otherwise there was nothing to sync
		y.events = 0
	}
}

// mend makes sure that nothing is written behind a hole in the log: after a power cut it
// would be lost. The turn must be held.
func (s *Store) mend(ctx context.Context) error {
	if !s.sync.failed {
		return nil
	}
	return s.whileBusy(ctx, s.tryMend)
}

// tryMend copies the log, which is still in memory, into the database. SQLite syncs the
// log first, and may hear only now of the error that we heard of: Linux reports it once
// for each descriptor. The turn must be held.
func (s *Store) tryMend() error {
	err := s.checkpoint()
	if code(err) == sqlite3.SQLITE_IOERR {
		err = s.checkpoint()
	}
	if err == nil {
		s.sync.events, s.sync.failed = 0, false
	}
	return err
}

func (s *Store) checkpoint() error {
	if s.fault != nil {
		if err := s.fault("checkpoint"); err != nil {
			return err
		}
	}
	busy := true
	_, err := s.db.Row(func(r *lite.Rows) { busy = r.Bool(0) }, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && busy {
		err = &lite.Error{Code: sqlite3.SQLITE_BUSY, Text: "the log is in use"}
	}
	return err
}

// Sync implements terret.Log. SQLite has no call for it, so the log file is synced
// through a descriptor of our own; unlike on the database, there are no locks on it that
// closing one could release.
func (s *Store) Sync(ctx context.Context) error {
	err := s.alone(ctx, func(*lite.Conn) error {
		switch {
		case s.sync.failed:
			return s.mend(ctx)
		case s.sync.events == 0:
			return nil
		}
		if err := s.syncData(s.wal); err != nil {
			s.sync.failed = true
			_ = s.tryMend() // before the next write; if it cannot, the next writer has to
			return err
		}
		s.sync.events = 0
		return nil
	})
	return describe("sync", s.path, err)
}

// openLog opens the log file before anything is written to it, since a descriptor reports
// no errors from before it was opened.
func (s *Store) openLog() (err error) {
	s.wal, err = os.OpenFile(s.path+"-wal", os.O_RDWR, 0)
	return err
}
