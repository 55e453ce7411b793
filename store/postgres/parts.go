package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// partSize is how many sessions share a part of the log.
const partSize = 1 << 14

// partOf is the number of the part that holds the events of a session.
func partOf(key int64) int64 { return key / partSize }

// addPart creates a part of the log, if it is not there. Creating it apart and attaching
// it holds up nobody.
func addPart(ctx context.Context, tx pgx.Tx, n int64) error {
	name := fmt.Sprintf("events_%d", n)
	var there bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass(quote_ident(current_schema()) || '.' || $1) IS NOT NULL`, name).Scan(&there); err != nil || there {
		return err
	}
	_, err := tx.Conn().PgConn().Exec(ctx, fmt.Sprintf(`CREATE TABLE %[1]s (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
		ALTER TABLE events ATTACH PARTITION %[1]s FOR VALUES FROM (%[2]d) TO (%[3]d)`, name, n*partSize, (n+1)*partSize)).ReadAll()
	return err
}

// dropWait bounds how long a drop waits for its lock: everybody else who uses the log
// waits behind it.
const dropWait = "200ms"

// dropParts drops the parts of the log whose sessions are all gone. A part that may still
// get one stays. If a program reads the log all the time, such as a backup, the parts stay
// until the next sweep.
func (s *Store) dropParts(ctx context.Context) error {
	parts, err := s.fullParts(ctx)
	if err != nil {
		return err
	}
	for _, n := range parts {
		err := s.write(ctx, "drop a part of the log", func(ctx context.Context, tx pgx.Tx) error { return dropPart(ctx, tx, n) })
		if isCode(err, "55P03") { // lock_timeout
			s.log.InfoContext(ctx, "an empty part of the log stays for now, since somebody reads the log", "part", n)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fullParts lists the parts without sessions that no new session belongs to.
func (s *Store) fullParts(ctx context.Context) (parts []int64, err error) {
	err = s.read(ctx, "sweep", func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `SELECT n FROM (SELECT substring(c.relname FROM 8)::bigint AS n FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
				WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]+$') parts
			WHERE n < (SELECT last_value FROM sessions_key_seq) / $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE key >= n * $1 AND key < (n + 1) * $1)
			ORDER BY n`, int64(partSize))
		if err != nil {
			return err
		}
		parts, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return parts, err
}

// dropPart drops a part of the log, unless there is something in it after all: a
// transaction that took its key long ago may have ended only now. With the log locked,
// the events of such a session can only go to events_rest.
func dropPart(ctx context.Context, tx pgx.Tx, n int64) error {
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '`+dropWait+`'`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `LOCK TABLE ONLY events IN ACCESS EXCLUSIVE MODE`); err != nil {
		return err
	}
	var used bool
	err := tx.QueryRow(ctx, fmt.Sprintf(`SELECT to_regclass('events_%[1]d') IS NULL
		OR EXISTS (SELECT 1 FROM sessions WHERE key >= $1 AND key < $2)`, n), n*partSize, (n+1)*partSize).Scan(&used)
	if err != nil || used { // or another node was faster
		return err
	}
	if err := tx.QueryRow(ctx, fmt.Sprintf(`SELECT EXISTS (SELECT 1 FROM events_%d)`, n)).Scan(&used); err != nil || used {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(`DROP TABLE events_%d`, n))
	return err
}
