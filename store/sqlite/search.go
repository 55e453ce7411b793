package sqlite

import (
	"context"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// Search implements terret.Searcher.
func (s *Store) Search(ctx context.Context, q terret.SearchQuery) (terret.Page[terret.Found], error) {
	page := terret.Page[terret.Found]{Items: []terret.Found{}}
	words, err := store.SearchWords(q.Words)
	if err != nil {
		return page, err
	}
	limit, before, err := store.SearchPage(q)
	if err != nil {
		return page, err
	}
	if err := s.index(ctx); err != nil {
		return page, err
	}
	where, args := `words MATCH ? AND words.rowid < ? AND s.deleted = 0`, []any{matchAll(words), before}
	if q.Session != "" {
		where, args = where+` AND s.id = ?`, append(args, q.Session)
	}
	err = s.read(ctx, "search", func(c *lite.Conn) error {
		rows := c.Query(`SELECT words.rowid, s.id, s.title, s.agent, s.cwd, e.seq, e.at, e.kind,
				coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob))
			FROM words JOIN events e ON e.pos = words.rowid JOIN sessions s ON s.key = e.session
			WHERE `+where+` ORDER BY words.rowid DESC LIMIT ?`, append(args, limit+1)...)
		var last int64
		for rows.Next() {
			if len(page.Items) == limit {
				page.Next = strconv.FormatInt(last, 10)
				break
			}
			last = rows.Int(0)
			said, _ := store.SaidIn(intern(rows.Bytes(7)), rows.Bytes(8))
			page.Items = append(page.Items, terret.Found{
				Session: rows.Text(1), Title: rows.Text(2), Agent: rows.Text(3), Cwd: rows.Text(4), Seq: rows.Int(5), Time: micros(rows.Int(6)),
				Turn: said.Turn, MessageID: said.MessageID, Role: said.Role, Text: store.Snippet(said.Text, words),
			})
		}
		return rows.Close()
	})
	return page, err
}

// matchAll is a query for texts with all words, each of which may be the beginning of a
// longer one.
func matchAll(words []string) string {
	terms := make([]string, len(words))
	for i, word := range words {
		terms[i] = `"` + word + `"*` // a word holds no quotes
	}
	return strings.Join(terms, " AND ")
}

// index adds what was said since the last time, a chunk at a time, so that it never holds
// up others.
func (s *Store) index(ctx context.Context) error {
	for {
		more, err := s.unindexed(ctx)
		if err != nil || !more {
			return err
		}
		if err := s.write(ctx, "index messages", indexChunk); err != nil {
			return err
		}
	}
}

const (
	sqlSearched  = `SELECT coalesce((SELECT value FROM upkeep WHERE name = 'searched'), 0)`
	sqlUnindexed = ` FROM events e INDEXED BY events_said JOIN sessions s ON s.key = e.session
		WHERE e.pos > (` + sqlSearched + `) AND e.kind IN ` + store.SaidKinds + ` AND s.deleted = 0 ORDER BY e.pos LIMIT ?`
)

// unindexed reports whether there is something to index. Looking takes no lock.
func (s *Store) unindexed(ctx context.Context) (more bool, err error) {
	err = s.read(ctx, "search", func(c *lite.Conn) error {
		more, err = c.Row(func(*lite.Rows) {}, `SELECT 1`+sqlUnindexed, 1)
		return err
	})
	return more, err
}

func indexChunk(tx *lite.Conn) error {
	type row struct {
		pos  int64
		text string
	}
	var add []row
	var last int64
	rows := tx.Query(`SELECT e.pos, e.kind, coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob))`+sqlUnindexed, chunk)
	for rows.Next() {
		last = rows.Int(0)
		if said, ok := store.SaidIn(intern(rows.Bytes(1)), rows.Bytes(2)); ok {
			add = append(add, row{last, said.Text})
		}
	}
	if err := rows.Close(); err != nil || last == 0 { // another process was faster
		return err
	}
	for _, r := range add {
		if err := tx.Exec(`INSERT INTO words (rowid, text) VALUES (?, ?)`, r.pos, r.text); err != nil {
			return err
		}
	}
	return tx.Exec(`INSERT INTO upkeep (name, value) VALUES ('searched', ?) ON CONFLICT DO UPDATE SET value = excluded.value`, last)
}
