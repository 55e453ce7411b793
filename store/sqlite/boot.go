package sqlite

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/terret-dev/terret/internal/lite"
)

// jumpPositions is how far positions jump: more than all processes together can have
// had unsynced.
const jumpPositions = 1 << 20

// boot is the number of this boot of the machine, or 0 if unknown.
func boot() int64 {
	id := bootID()
	if id == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint64(sum[:])>>1) | 1
}

// lastBoot is the boot in which the store was last open, 0 if that was before pieces
// went unsynced.
func lastBoot(c *lite.Conn) (n int64, err error) {
	_, err = c.Row(func(r *lite.Rows) { n = r.Int(0) }, `SELECT value FROM upkeep WHERE name = 'boot'`)
	return n, err
}

// jump makes sure that no number is reused. If the machine died, events that readers had
// seen but that were not synced may be lost. They can only have been the last events of
// sessions whose owner died with the machine, at most unsyncedEvents of each: everything
// that ends ownership is synced before anybody sees it. So these sessions continue after
// all numbers that anybody can have seen.
func (s *Store) jump(tx *lite.Conn) error {
	last, err := lastBoot(tx)
	if err != nil || last == s.boot {
		return err // another process was faster
	}
	var owners []string
	if last != 0 {
		if owners, err = texts(tx, sqlOwners); err != nil {
			return err
		}
	}
	for _, owner := range owners {
		if s.worker.alive(owner) {
			continue
		}
		if err := tx.Exec(`UPDATE sessions SET last_seq = last_seq + ? WHERE owner = ?`, unsyncedEvents, owner); err != nil {
			return err
		}
	}
	if len(owners) > 0 {
		if err := tx.Exec(`UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'events'`, jumpPositions); err != nil {
			return err
		}
	}
	return tx.Exec(`INSERT INTO upkeep (name, value) VALUES ('boot', ?) ON CONFLICT DO UPDATE SET value = excluded.value`, s.boot)
}
