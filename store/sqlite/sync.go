package sqlite

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/terret-dev/terret/internal/lite"
)

// Most of what is committed is pieces of text, and a later event holds their full text.
// A transaction of only such pieces is written to the log but not synced, so it
// survives the death of the process but not of the machine. The next transaction that
// holds anything else syncs the log file, and everything before it. The same goes for
// batches that are marked as early, which Sync syncs at once.
const (
	unsyncedEvents = 1000        // at most, per process; see jump
	unsyncedFor    = time.Second // then the next transaction is synced, whatever it holds
)

// durability says whether a transaction may be acknowledged before it is on disk.
type durability struct {
	events int  // it holds nothing but so many events that need not be there; 0: it must be
	early  bool // Sync follows at once
}

// synced is a transaction that is on disk when it is acknowledged.
var synced durability

// syncer decides which transactions are synced. Whoever holds the turn owns it.
type syncer struct {
	lazy    bool // pieces need not be synced at once
	relaxed bool // the connection does not sync
	events  int  // unsynced so far
	last    time.Time
	changes int64 // of the connection, before the transaction
}

// prepare makes the connection ready for a transaction. None may be open.
func (y *syncer) prepare(c *lite.Conn, d durability) error {
	y.changes = c.TotalChanges()
	relax := y.lazy && d != synced && y.events+d.events <= unsyncedEvents && (d.early || time.Since(y.last) < unsyncedFor)
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

// done records that the transaction was committed.
func (y *syncer) done(c *lite.Conn, d durability) {
	switch {
	case y.relaxed:
		y.events += d.events
	case c.TotalChanges() != y.changes: // otherwise there was nothing to sync
		y.events, y.last = 0, time.Now()
	}
}

// Sync implements terret.Log. SQLite has no call for it, so the log file is synced
// through a descriptor of our own; unlike on the database, there are no locks on it that
// closing one could release.
func (s *Store) Sync(ctx context.Context) error {
	err := s.alone(ctx, func(*lite.Conn) error {
		if s.sync.events == 0 {
			return nil
		}
		if err := s.syncWAL(); err != nil {
			return err
		}
		s.sync.events, s.sync.last = 0, time.Now()
		return nil
	})
	if err != nil {
		return describe("sync", s.path, err)
	}
	return nil
}

func (s *Store) syncWAL() error {
	if s.fault != nil {
		if err := s.fault("sync"); err != nil {
			return err
		}
	}
	if s.wal == nil {
		f, err := os.OpenFile(s.path+"-wal", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := s.checkGone(); err != nil {
			return errors.Join(err, f.Close())
		}
		s.wal = f
	}
	return syncData(s.wal)
}
