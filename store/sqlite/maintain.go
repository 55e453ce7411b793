package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// chunk is how many rows one upkeep transaction handles, so that it never holds up
// others.
const chunk = 1000

// Delete implements terret.Sessions.
func (s *Store) Delete(ctx context.Context, id string) error {
	var key int64
	err := s.write(ctx, "delete session", func(tx *lite.Conn) error {
		owner, err := ownerOf(tx, id)
		if err != nil {
			return err
		}
		if owner != "" && owner != s.worker.id && s.worker.alive(owner) {
			return owned(tx, id, owner)
		}
		if key, err = sessionKey(tx, id); err != nil {
			return err
		}
		// The epoch goes up, so that nobody can append any more.
		return tx.Exec(`UPDATE sessions SET deleted = 1, owner = '', epoch = epoch + 1 WHERE key = ?`, key)
	})
	if err != nil {
		return err
	}
	return s.purge(ctx, key, id)
}

// purge removes what belongs to a deleted session, a chunk at a time.
func (s *Store) purge(ctx context.Context, key int64, id string) error {
	for done := false; !done; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.write(ctx, "delete session", func(tx *lite.Conn) error {
			// In both statements the same events: those with the lowest numbers.
			const some = `(SELECT pos FROM events WHERE session = ? ORDER BY seq LIMIT ?)`
			if err := tx.Exec(`DELETE FROM words WHERE rowid IN `+some, key, chunk); err != nil {
				return err
			}
			n, err := changed(tx, `DELETE FROM events WHERE pos IN `+some, key, chunk)
			if err != nil || n > 0 {
				return err
			}
			done = true
			for _, q := range []struct {
				text string
				arg  any
			}{
				{`DELETE FROM turns WHERE session = ?`, key},
				{`DELETE FROM requests WHERE session = ?`, key},
				{`DELETE FROM inbox WHERE session = ?`, key},
				{`DELETE FROM rules WHERE session = ?`, id},
				{`DELETE FROM sessions WHERE key = ?`, key},
			} {
				if err := tx.Exec(q.text, q.arg); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Compact implements terret.Maintainer. It goes through the log once: it remembers
// where it stopped, and the next call continues there.
func (s *Store) Compact(ctx context.Context, before time.Time) (int64, error) {
	if err := s.sweep(ctx); err != nil {
		return 0, err
	}
	if err := s.index(ctx); err != nil {
		return 0, err
	}
	var dropped int64
	for {
		n, more, err := s.compactChunk(ctx, before)
		dropped += n
		if err != nil || !more {
			return dropped, err
		}
	}
}

// sweep finishes interrupted deletions, and removes unused blobs and inbox items that
// were handled a day ago.
func (s *Store) sweep(ctx context.Context) error {
	gone := map[int64]string{}
	err := s.read(ctx, "sweep", func(c *lite.Conn) error {
		rows := c.Query(`SELECT key, id FROM sessions WHERE deleted = 1`)
		for rows.Next() {
			gone[rows.Int(0)] = rows.Text(1)
		}
		return rows.Close()
	})
	if err != nil {
		return err
	}
	for key, id := range gone {
		if err := s.purge(ctx, key, id); err != nil {
			return err
		}
	}
	err = s.write(ctx, "sweep", func(tx *lite.Conn) error {
		return tx.Exec(`DELETE FROM inbox WHERE state <> 'pending' AND at < ?`, time.Now().Add(-24*time.Hour).UnixMicro())
	})
	if err != nil {
		return err
	}
	return s.dropBlobs(ctx)
}

// dropBlobs removes the large bodies that no event refers to.
func (s *Store) dropBlobs(ctx context.Context) error {
	for n := int64(chunk); n == chunk; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.write(ctx, "sweep", func(tx *lite.Conn) (err error) {
			n, err = changed(tx, `DELETE FROM blobs WHERE hash IN (SELECT hash FROM blobs b
				WHERE NOT EXISTS (SELECT 1 FROM events WHERE blob = b.hash) AND NOT EXISTS (SELECT 1 FROM events WHERE raw_blob = b.hash) LIMIT ?)`, chunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// piece is a delta that might be dropped.
type piece struct {
	pos, seq int64
	part     store.Part
}

func (s *Store) compactChunk(ctx context.Context, before time.Time) (dropped int64, more bool, err error) {
	var from, to int64
	var drop []piece
	err = s.read(ctx, "compact", func(c *lite.Conn) error {
		if _, err := c.Row(func(r *lite.Rows) { from = r.Int(0) }, `SELECT value FROM upkeep WHERE name = 'compacted'`); err != nil {
			return err
		}
		var pieces []piece
		if pieces, to, err = oldPieces(c, from, before); err != nil {
			return err
		}
		drop, err = completed(c, pieces)
		return err
	})
	if err != nil || to == from {
		return 0, false, err
	}
	err = s.write(ctx, "compact", func(tx *lite.Conn) error {
		for _, p := range drop {
			if err := tx.Exec(`DELETE FROM events WHERE pos = ?`, p.pos); err != nil {
				return err
			}
		}
		return tx.Exec(`INSERT INTO upkeep (name, value) VALUES ('compacted', ?) ON CONFLICT DO UPDATE SET value = excluded.value`, to)
	})
	if err != nil {
		return 0, false, err
	}
	return int64(len(drop)), true, nil
}

// oldPieces reads the next rows of the log and returns the deltas among them, and how
// far it got. It stops at what is too recent, and at a delta of a session with a
// running turn.
func oldPieces(c *lite.Conn, from int64, before time.Time) (pieces []piece, to int64, err error) {
	rows := c.Query(`SELECT e.pos, e.session, e.seq, e.at, e.kind, e.body, coalesce(s.turn, '') <> ''
		FROM events e LEFT JOIN sessions s ON s.key = e.session WHERE e.pos > ? ORDER BY e.pos LIMIT ?`, from, chunk)
	to = from
	for rows.Next() {
		p := piece{pos: rows.Int(0), seq: rows.Int(2)}
		kind, body := intern(rows.Bytes(4)), rows.Bytes(5)
		if rows.Int(3) >= before.UnixMicro() || kind.Delta() && rows.Bool(6) {
			break
		}
		to = p.pos
		if !kind.Delta() || len(body) == 0 { // a large one is in a blob: leave it
			continue
		}
		for _, p.part = range store.PartsOf(rows.Int(1), kind, body) {
			pieces = append(pieces, p)
		}
	}
	return pieces, to, rows.Close()
}

// completed returns the pieces whose full text comes later in the log. Nothing else may
// be dropped: the pieces of an interrupted message are all that is left of it.
func completed(c *lite.Conn, pieces []piece) ([]piece, error) {
	first := map[int64]int64{}               // session to its first piece
	last := map[int64]map[store.Part]int64{} // and to the last piece of each part
	for _, p := range pieces {
		session := p.part.Session
		if last[session] == nil {
			first[session], last[session] = p.seq, map[store.Part]int64{}
		}
		last[session][p.part] = p.seq
	}
	whole := map[store.Part]int64{} // to the number of the event that holds it
	for session, seq := range first {
		missing := last[session]
		rows := c.Query(`SELECT e.seq, e.kind, coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob)) FROM events e
			WHERE e.session = ? AND e.seq > ? AND e.kind IN ('message.complete', 'tool.pre') ORDER BY e.seq`, session, seq)
		for len(missing) > 0 && rows.Next() {
			for _, p := range store.PartsOf(session, intern(rows.Bytes(1)), rows.Bytes(2)) {
				if whole[p] = rows.Int(0); whole[p] > missing[p] {
					delete(missing, p)
				}
			}
		}
		if err := rows.Close(); err != nil {
			return nil, err
		}
	}
	drop := pieces[:0]
	for _, p := range pieces {
		if whole[p.part] > p.seq {
			drop = append(drop, p)
		}
	}
	return drop, nil
}

// Backup implements terret.Maintainer.
func (s *Store) Backup(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // as private as what it copies
	if errors.Is(err, os.ErrExist) {
		return terret.Errorf(terret.CodeConflict, "%s already exists; a backup never overwrites a file", path)
	}
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "cannot write the backup: %w", err)
	}
	if err := s.backup(ctx, path); err != nil {
		return errors.Join(describe("back up to "+path, s.path, err), f.Close(), os.Remove(path))
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *Store) backup(ctx context.Context, path string) error {
	copyInto := func(c *lite.Conn) error { return c.Exec(`VACUUM INTO ?`, path) }
	if s.path == Memory {
		return s.alone(ctx, copyInto)
	}
	// On its own connection, so that nobody waits.
	c, err := dial(s.path, setUpOneself)
	if err != nil {
		return err
	}
	err = interruptible(ctx, c, copyInto)
	return errors.Join(err, c.Close())
}

// Check implements terret.Maintainer.
func (s *Store) Check(ctx context.Context) (found []string, err error) {
	err = s.read(ctx, "check", func(c *lite.Conn) error {
		if found, err = texts(c, `SELECT integrity_check FROM pragma_integrity_check`); err != nil {
			return err
		}
		if len(found) == 1 && found[0] == "ok" {
			found = nil
		}
		for _, q := range []struct{ finding, query string }{
			{"session %s: it counts %s events, its log ends elsewhere", `SELECT s.id, s.last_seq FROM sessions s
				WHERE deleted = 0 AND last_seq < (SELECT max(seq) FROM events WHERE session = s.key)`},
			{"session %s: there are several events %s", `SELECT s.id, e.seq FROM events e JOIN sessions s ON s.key = e.session
				GROUP BY e.session, e.seq HAVING count(*) > 1`},
			{"session %s: event %s is lost, with what it held", `SELECT s.id, e.seq FROM events e JOIN sessions s ON s.key = e.session
				WHERE e.body IS NULL AND NOT EXISTS (SELECT 1 FROM blobs WHERE hash = e.blob)`},
			{"request %s is %s without a decision", `SELECT id, state FROM requests WHERE state <> 'open' AND decision IS NULL`},
		} {
			rows := c.Query(q.query)
			for rows.Next() {
				found = append(found, fmt.Sprintf(q.finding, rows.Text(0), rows.Text(1)))
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
