package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/terret-dev/terret/store"
)

var _ store.Copyable = (*Store)(nil)

// Dump implements store.Copyable. It does not wait for a server that restarts: then the
// copy begins again.
func (s *Store) Dump(ctx context.Context, fn func(t *store.Table, row []any) error) error {
	return describe("copy", s.name, s.connected(ctx, func(c *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
				return err
			}
			for i := range store.Tables {
				if err := dumpTable(ctx, tx, &store.Tables[i], fn); err != nil {
					return err
				}
			}
			return nil
		})
	}))
}

func dumpTable(ctx context.Context, tx pgx.Tx, t *store.Table, fn func(t *store.Table, row []any) error) error {
	rows, err := tx.Query(ctx, t.Select())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return err
		}
		for i, value := range row {
			if row[i], err = plain(value); err != nil {
				return fmt.Errorf("%s.%s: %w", t.Name, t.Columns[i], err)
			}
		}
		if err := fn(t, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// plain is a value as both stores give it.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, int64, string:
		return v, nil
	case int32:
		return int64(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case []byte:
		if len(v) == 0 {
			return nil, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("unexpected type %T", value)
}

// BeginCopy implements store.Copyable.
func (s *Store) BeginCopy(ctx context.Context, restart bool) error {
	return s.write(ctx, "begin a copy", func(ctx context.Context, tx pgx.Tx) error {
		var begun bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM upkeep WHERE name = 'copying')`).Scan(&begun); err != nil {
			return err
		}
		if begun && !restart {
			return store.Unfinished(s.name)
		}
		for _, t := range store.Tables {
			if begun {
				if _, err := tx.Exec(ctx, `DELETE FROM `+t.Name); err != nil {
					return err
				}
				continue
			}
			var any bool
			if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+t.Name+`)`).Scan(&any); err != nil {
				return err
			}
			if any {
				return store.NotEmpty(s.name)
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO upkeep (name, value) VALUES ('copying', 1) ON CONFLICT DO NOTHING`)
		return err
	})
}

// Fill implements store.Copyable. Text that this server cannot hold is refused rather than
// mended, since a copy is the same.
func (s *Store) Fill(ctx context.Context, t *store.Table, rows [][]any) error {
	for i, name := range t.Columns {
		if slices.Contains(t.Bools, name) {
			for _, row := range rows {
				row[i] = row[i] != int64(0)
			}
		}
	}
	return s.write(ctx, "copy "+t.Name, func(ctx context.Context, tx pgx.Tx) error {
		if t.Name == "sessions" {
			if err := s.partsFor(ctx, tx, rows); err != nil {
				return err
			}
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{t.Name}, t.Columns, pgx.CopyFromRows(rows))
		return err
	})
}

// partsFor makes the parts of the log that sessions need; the key is the first column.
func (s *Store) partsFor(ctx context.Context, tx pgx.Tx, rows [][]any) error {
	made := map[int64]bool{}
	for _, row := range rows {
		key, ok := row[0].(int64)
		if !ok {
			return errors.New("a session without a key")
		}
		for _, n := range []int64{partOf(key), partOf(key) + 1} {
			if made[n] {
				continue
			}
			if err := addPart(ctx, tx, n); err != nil {
				return err
			}
			made[n] = true
		}
	}
	return nil
}

// EndCopy implements store.Copyable.
func (s *Store) EndCopy(ctx context.Context, lastPos int64, node string) error {
	return s.write(ctx, "end a copy", func(ctx context.Context, tx pgx.Tx) error {
		all := &pgx.Batch{}
		all.Queue(`UPDATE terret SET last_pos = greatest(last_pos, $1)`, lastPos)
		all.Queue(`SELECT setval(pg_get_serial_sequence('sessions', 'key'), greatest((SELECT max(key) FROM sessions), 1))`)
		all.Queue(`UPDATE requests SET expires = to_timestamp(expires_at / 1000000.0) WHERE expires_at IS NOT NULL`)
		all.Queue(`UPDATE sessions SET node = $1 WHERE agent <> 'none'`, clean(node))
		all.Queue(`DELETE FROM upkeep WHERE name = 'copying'`)
		return tx.SendBatch(ctx, all).Close()
	})
}
