package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// chunk is how many rows one upkeep transaction handles, so that it never holds up
// others.
const chunk = 1000

// Delete implements terret.Sessions.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := s.evict(ctx, id); err != nil {
		return err
	}
	var key int64
	err := s.write(ctx, "delete session", func(ctx context.Context, tx pgx.Tx) (err error) {
		if err := s.mayTake(ctx, tx, id); err != nil {
			return err
		}
		// The epoch goes up, so that nobody can append any more.
		return tx.QueryRow(ctx, `UPDATE sessions SET deleted = true, owner = '', epoch = epoch + 1 WHERE id = $1 RETURNING key`, id).Scan(&key)
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
		err := s.write(ctx, "delete session", func(ctx context.Context, tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `DELETE FROM events WHERE session = $1 AND seq IN (SELECT seq FROM events WHERE session = $1 LIMIT $2)`, key, chunk)
			if done = err == nil && tag.RowsAffected() == 0; !done {
				return err
			}
			rest := &pgx.Batch{}
			rest.Queue(`DELETE FROM turns WHERE session = $1`, key)
			rest.Queue(`DELETE FROM requests WHERE session = $1`, key)
			rest.Queue(`DELETE FROM inbox WHERE session = $1`, key)
			rest.Queue(`DELETE FROM rules WHERE session = $1`, id)
			rest.Queue(`DELETE FROM sessions WHERE key = $1`, key)
			return tx.SendBatch(ctx, rest).Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Compact implements terret.Maintainer. It goes through the log once: it remembers where
// it stopped, and the next call continues there.
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

// sweep finishes interrupted deletions, and removes unused blobs, inbox items that were
// handled a day ago, and parts of the log that are empty for good.
func (s *Store) sweep(ctx context.Context) error {
	gone := map[int64]string{}
	err := s.read(ctx, "sweep", func(c *pgx.Conn) error {
		clear(gone)
		rows, err := c.Query(ctx, `SELECT key, id FROM sessions WHERE deleted`)
		if err != nil {
			return err
		}
		var key int64
		var id string
		_, err = pgx.ForEachRow(rows, []any{&key, &id}, func() error {
			gone[key] = id
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	for key, id := range gone {
		if err := s.purge(ctx, key, id); err != nil {
			return err
		}
	}
	err = s.write(ctx, "sweep", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM inbox WHERE state <> 'pending' AND at < $1`, time.Now().Add(-24*time.Hour).UnixMicro())
		return err
	})
	if err != nil {
		return err
	}
	if err := s.dropBlobs(ctx); err != nil {
		return err
	}
	return s.dropParts(ctx)
}

// dropBlobs removes the large bodies that no event refers to.
func (s *Store) dropBlobs(ctx context.Context) error {
	for n := int64(chunk); n == chunk; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.write(ctx, "sweep", func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(`+sqlBlobLock+`)`); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `DELETE FROM blobs WHERE hash IN (SELECT hash FROM blobs b
				WHERE NOT EXISTS (SELECT 1 FROM events WHERE blob = b.hash) AND NOT EXISTS (SELECT 1 FROM events WHERE raw_blob = b.hash) LIMIT $1)`, chunk)
			n = tag.RowsAffected()
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
	seq  int64
	part store.Part
}

func (s *Store) compactChunk(ctx context.Context, before time.Time) (dropped int64, more bool, err error) {
	var from, to int64
	var drop []piece
	err = s.read(ctx, "compact", func(c *pgx.Conn) error {
		from = 0
		err := c.QueryRow(ctx, `SELECT value FROM upkeep WHERE name = 'compacted'`).Scan(&from)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		var pieces []piece
		if pieces, to, err = oldPieces(ctx, c, from, before); err != nil {
			return err
		}
		drop, err = completed(ctx, c, pieces)
		return err
	})
	if err != nil || to == from {
		return 0, false, err
	}
	err = s.write(ctx, "compact", func(ctx context.Context, tx pgx.Tx) error {
		session, seq := make([]int64, len(drop)), make([]int64, len(drop))
		for i, p := range drop {
			session[i], seq[i] = p.part.Session, p.seq
		}
		if _, err := tx.Exec(ctx, `DELETE FROM events e USING unnest($1::bigint[], $2::bigint[]) AS d (session, seq)
			WHERE e.session = d.session AND e.seq = d.seq`, session, seq); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO upkeep (name, value) VALUES ('compacted', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, to)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return int64(len(drop)), true, nil
}

// oldPieces reads the next rows of the log and returns the deltas among them, and how far
// it got. It stops at what is too recent, and at a delta of a session with a running
// turn.
func oldPieces(ctx context.Context, c *pgx.Conn, from int64, before time.Time) (pieces []piece, to int64, err error) {
	rows, err := c.Query(ctx, `SELECT e.pos, e.session, e.seq, e.at, e.kind, CASE WHEN `+sqlWhole+` THEN NULL ELSE e.body END, coalesce(s.turn, '') <> ''
		FROM events e LEFT JOIN sessions s ON s.key = e.session WHERE e.pos > $1 ORDER BY e.pos LIMIT $2`, from, chunk)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	to = from
	for rows.Next() {
		var pos, session, seq, at int64
		var name string
		var body []byte
		var running bool
		if err := rows.Scan(&pos, &session, &seq, &at, &name, &body, &running); err != nil {
			return nil, 0, err
		}
		kind := intern(name)
		if at >= before.UnixMicro() || kind.Delta() && running {
			break
		}
		to = pos
		if !kind.Delta() || len(body) == 0 { // a large one is in a blob: leave it
			continue
		}
		for _, part := range store.PartsOf(session, kind, body) {
			pieces = append(pieces, piece{seq: seq, part: part})
		}
	}
	return pieces, to, rows.Err()
}

// completed returns the pieces whose full text comes later in the log. Nothing else may
// be dropped: the pieces of an interrupted message are all that is left of it.
func completed(ctx context.Context, c *pgx.Conn, pieces []piece) ([]piece, error) {
	first := map[int64]int64{} // session to its first piece
	for _, p := range pieces {
		if _, ok := first[p.part.Session]; !ok {
			first[p.part.Session] = p.seq
		}
	}
	whole := map[store.Part]int64{} // to the number of the event that holds it
	for session, after := range first {
		rows, err := c.Query(ctx, `SELECT e.seq, e.kind, `+sqlBody+` FROM events e
			WHERE e.session = $1 AND e.seq > $2 AND e.kind IN ('message.complete', 'tool.pre') AND `+sqlWhole+` ORDER BY e.seq`, session, after)
		if err != nil {
			return nil, err
		}
		var seq int64
		var kind string
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&seq, &kind, &body}, func() error {
			for _, p := range store.PartsOf(session, intern(kind), body) {
				whole[p] = seq
			}
			return nil
		})
		if err != nil {
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

// Backup implements terret.Maintainer. PostgreSQL has its own ways, which also work while
// the fleet is running.
func (s *Store) Backup(context.Context, string) error {
	return terret.Errorf(terret.CodeInvalidRequest, "a PostgreSQL database is backed up with pg_dump or pg_basebackup")
}

// Check implements terret.Maintainer.
func (s *Store) Check(ctx context.Context) (found []string, err error) {
	err = s.read(ctx, "check", func(c *pgx.Conn) error {
		found = nil
		for _, q := range []struct{ finding, query string }{
			{"session %s: it counts %d events, its log ends elsewhere", `SELECT s.id, s.last_seq FROM sessions s
				WHERE NOT deleted AND last_seq < (SELECT max(seq) FROM events WHERE session = s.key)`},
			{"session %s: event %d is lost, with what it held", `SELECT s.id, e.seq FROM events e JOIN sessions s ON s.key = e.session
				WHERE e.body IS NULL AND NOT EXISTS (SELECT 1 FROM blobs WHERE hash = e.blob)`},
			{"request %s of event %d is without a decision", `SELECT id, seq FROM requests WHERE state <> 'open' AND decision IS NULL`},
			{"an event of session %s is at position %d, beyond the last", `SELECT s.id, e.pos FROM events e JOIN sessions s ON s.key = e.session
				WHERE e.pos > (SELECT last_pos FROM terret)`},
		} {
			rows, err := c.Query(ctx, q.query)
			if err != nil {
				return err
			}
			var id string
			var n int64
			_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error {
				found = append(found, fmt.Sprintf(q.finding, id, n))
				return nil
			})
			if err != nil {
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
