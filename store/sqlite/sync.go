package sqlite

import (
	"context"
	"os"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret/internal/lite"
)

// SQLite syncs its log with fsync, which also writes the file's times, and shows a
// transaction only after that. Batches of events are committed without that sync; then
// the log is synced with fdatasync, and Commit returns.
//
// Most of what is committed is pieces of text, and a later event holds their full text.
// A transaction of only such pieces is not synced, so it survives the death of the
// process but not of the machine. The next sync includes it. The same goes for batches
// that are marked as early, which Sync syncs at once.
const (
	unsyncedEvents = 1000        // at most, per process; see jump
	unsyncedFor    = time.Second // then the next transaction is synced, even one of pieces
)

// durability says what has to be on disk, and when. The zero value is a transaction that
// nobody sees before it is on disk.
type durability struct {
	events int  // that it holds, if readers may see them before they are on disk
	later  bool // Commit may return before they are
	early  bool // some of them are early: Sync follows at once
}

// syncer decides which transactions are synced. Whoever holds the turn owns it.
type syncer struct {
	lazy    bool // the machine tells when it was started, so transactions may be seen before they are on disk
	relaxed bool // SQLite does not sync
	events  int  // unsynced so far
	last    time.Time
	changes int64 // of the connection, before the transaction
	failed  bool  // a sync of events that readers see: the log may have a hole on disk
}

// prepare makes the connection ready for a transaction. None may be open.
func (y *syncer) prepare(c *lite.Conn, d durability) error {
	y.changes = c.TotalChanges()
	relax := y.lazy && d.events > 0 && y.events+d.events <= unsyncedEvents
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
func (y *syncer) committing(d durability) {
	if y.relaxed {
		y.events += d.events
	}
}

// done records how the commit went, and reports whether the log must be synced now. If it
// failed, its own events are not in the log, but those before it may not be on disk, and
// later syncs do not tell.
func (y *syncer) done(c *lite.Conn, d durability, err error) bool {
	switch {
	case err != nil:
		y.failed = y.failed || y.events > 0
		return false
	case y.relaxed:
		return !d.later || !d.early && time.Since(y.last) >= unsyncedFor
	case c.TotalChanges() != y.changes: // otherwise there was nothing to sync
		y.events, y.last = 0, time.Now()
	}
	return false
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
		s.sync.events, s.sync.last, s.sync.failed = 0, time.Now(), false
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
		return s.syncLog()
	})
	return describe("sync", s.path, err)
}

// syncLog writes to the disk what is in the log. If it fails, readers see what may not be
// on disk. The turn must be held.
func (s *Store) syncLog() error {
	if err := s.syncData(s.wal); err != nil {
		s.sync.failed = true
		_ = s.tryMend() // before anybody else writes; if it cannot, whoever writes next has to
		s.news.publish()
		return err
	}
	s.sync.events, s.sync.last = 0, time.Now()
	return nil
}

// openLog opens the log file before anything is written to it, since a descriptor reports
// no errors from before it was opened.
func (s *Store) openLog() (err error) {
	s.wal, err = os.OpenFile(s.path+"-wal", os.O_RDWR, 0)
	return err
}
