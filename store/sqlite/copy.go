package sqlite

import (
	"context"
	"strings"

	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

var _ store.Copyable = (*Store)(nil)

// Dump implements store.Copyable.
func (s *Store) Dump(ctx context.Context, fn func(t *store.Table, row []any) error) error {
	return s.read(ctx, "copy", func(c *lite.Conn) (err error) {
		if err := c.Exec("BEGIN"); err != nil {
			return err
		}
		defer func() { err = first(err, c.Exec("COMMIT")) }()
		for i := range store.Tables {
			t := &store.Tables[i]
			if err := dumpTable(c, t, fn); err != nil {
				return err
			}
		}
		return nil
	})
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// dumpTable reads a table. Its columns have the types of the schema, since the tables are
// strict.
func dumpTable(c *lite.Conn, t *store.Table, fn func(t *store.Table, row []any) error) error {
	kinds := map[string]string{}
	info := c.Query(`SELECT name, type FROM pragma_table_info(?)`, t.Name)
	for info.Next() {
		kinds[info.Text(0)] = info.Text(1)
	}
	if err := info.Close(); err != nil {
		return err
	}
	rows := c.Query(t.Select())
	var failed error
	for failed == nil && rows.Next() {
		row := make([]any, len(t.Columns))
		for i, name := range t.Columns {
			switch {
			case rows.Null(i):
			case kinds[name] == "INTEGER":
				row[i] = rows.Int(i)
			case kinds[name] == "BLOB":
				if b := rows.Bytes(i); len(b) > 0 {
					row[i] = append([]byte(nil), b...)
				}
			default:
				row[i] = rows.Text(i)
			}
		}
		failed = fn(t, row)
	}
	return first(failed, rows.Close())
}

// BeginCopy implements store.Copyable.
func (s *Store) BeginCopy(ctx context.Context, restart bool) error {
	return s.write(ctx, "begin a copy", func(tx *lite.Conn) error {
		begun, err := tx.Row(func(*lite.Rows) {}, `SELECT 1 FROM upkeep WHERE name = 'copying'`)
		if err != nil {
			return err
		}
		if begun && !restart {
			return store.Unfinished(s.path)
		}
		for i := range store.Tables {
			t := &store.Tables[i]
			if begun {
				err = tx.Exec(`DELETE FROM ` + t.Name)
			} else {
				var any bool
				if any, err = tx.Row(func(*lite.Rows) {}, `SELECT 1 FROM `+t.Name+` LIMIT 1`); any {
					return store.NotEmpty(s.path)
				}
			}
			if err != nil {
				return err
			}
		}
		return tx.Exec(`INSERT INTO upkeep (name, value) VALUES ('copying', 1) ON CONFLICT DO NOTHING`)
	})
}

// Fill implements store.Copyable.
func (s *Store) Fill(ctx context.Context, t *store.Table, rows [][]any) error {
	insert := `INSERT INTO ` + t.Name + ` (` + strings.Join(t.Columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(t.Columns)-1) + `)`
	return s.write(ctx, "copy "+t.Name, func(tx *lite.Conn) error {
		for _, row := range rows {
			if err := tx.Exec(insert, row...); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndCopy implements store.Copyable.
func (s *Store) EndCopy(ctx context.Context, lastPos int64, _ string) error {
	return s.write(ctx, "end a copy", func(tx *lite.Conn) error {
		n, err := changed(tx, `UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'events'`, lastPos)
		if err == nil && n == 0 {
			err = tx.Exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)`, lastPos)
		}
		if err != nil {
			return err
		}
		return tx.Exec(`DELETE FROM upkeep WHERE name = 'copying'`)
	})
}
