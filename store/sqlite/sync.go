package sqlite

import (
	"time"

	"github.com/terret-dev/terret/internal/lite"
)

// Most of what is committed is pieces of text, and a later event holds their full text.
// A transaction of only such pieces is written to the log but not synced, so it
// survives the death of the process but not of the machine. The next transaction that
// holds anything else syncs the log file, and everything before it.
const (
	unsyncedPieces = 1000        // at most, per process; see jump
	unsyncedFor    = time.Second // then the next transaction is synced, whatever it holds
)

// durability is how many pieces of text a transaction holds, if it holds nothing else.
type durability int

// synced is a transaction that is on disk when it is acknowledged.
const synced durability = 0

// syncer decides which transactions are synced. Whoever holds the turn owns it.
type syncer struct {
	lazy    bool // pieces need not be synced at once
	relaxed bool // the connection does not sync
	pieces  int  // unsynced so far
	last    time.Time
	changes int64 // of the connection, before the transaction
}

// prepare makes the connection ready for a transaction. None may be open.
func (y *syncer) prepare(c *lite.Conn, d durability) error {
	y.changes = c.TotalChanges()
	relax := y.lazy && d != synced && y.pieces+int(d) <= unsyncedPieces && time.Since(y.last) < unsyncedFor
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
		y.pieces += int(d)
	case c.TotalChanges() != y.changes: // otherwise there was nothing to sync
		y.pieces, y.last = 0, time.Now()
	}
}
