package sqlite

import (
	"time"

	"github.com/terret-dev/terret/internal/lite"
)

// Pieces of text are most of what is committed, and a later event holds them whole.
// A transaction of nothing else is written to the log but not synced, so it survives
// the death of the process and not that of the machine. The next transaction that
// holds anything else syncs the log file and with it all that came before.
const (
	unsyncedPieces = 1000        // at most, of a process; see jump
	unsyncedFor    = time.Second // after which the next transaction is synced, whatever it holds
)

// durability says of a transaction how many pieces of text it holds and nothing else.
type durability int

// synced is a transaction that is on disk when it is acknowledged.
const synced durability = 0

// syncer decides which transactions are synced. It belongs to whoever has the turn.
type syncer struct {
	lazy    bool // pieces need not be synced at once
	relaxed bool // the connection does not sync
	pieces  int  // not synced yet
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

// done notes that the transaction was committed.
func (y *syncer) done(c *lite.Conn, d durability) {
	switch {
	case y.relaxed:
		y.pieces += int(d)
	case c.TotalChanges() != y.changes: // else there was nothing to sync
		y.pieces, y.last = 0, time.Now()
	}
}
