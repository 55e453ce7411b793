package postgres

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// Search implements terret.Searcher.
func (s *Store) Search(ctx context.Context, q terret.SearchQuery) (terret.Page[terret.Found], error) {
	var page terret.Page[terret.Found]
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
	err = s.read(ctx, "search", func(c *pgx.Conn) error {
		page = terret.Page[terret.Found]{Items: []terret.Found{}}
		rows, err := c.Query(ctx, `SELECT w.pos, s.id, s.title, s.agent, s.cwd, e.seq, e.at, e.kind, coalesce(e.body, b.body)
			FROM words w JOIN sessions s ON s.key = w.session JOIN events e ON e.session = w.session AND e.seq = w.seq LEFT JOIN blobs b ON b.hash = e.blob
			WHERE w.words @@ $1::text::tsquery AND w.pos < $2 AND NOT s.deleted AND ($3 = '' OR s.id = $3) ORDER BY w.pos DESC LIMIT $4`,
			matchAll(words), before, clean(q.Session), limit+1)
		if err != nil {
			return err
		}
		var f terret.Found
		var kind string
		var pos, last, at int64
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&pos, &f.Session, &f.Title, &f.Agent, &f.Cwd, &f.Seq, &at, &kind, &body}, func() error {
			if len(page.Items) == limit {
				page.Next = strconv.FormatInt(last, 10)
				return nil
			}
			last = pos
			said, _ := store.SaidIn(terret.Kind(kind), body)
			f.Time, f.Turn, f.MessageID, f.Role, f.Text = micros(at), said.Turn, said.MessageID, said.Role, store.Snippet(said.Text, words)
			page.Items = append(page.Items, f)
			return nil
		})
		return err
	})
	return page, err
}

// matchAll is a query for texts with all words, each of which may be the beginning of a
// longer one.
func matchAll(words []string) string {
	terms := make([]string, len(words))
	for i, word := range words {
		terms[i] = `'` + clean(word) + `':*` // a word holds no quotes and no backslashes
	}
	return strings.Join(terms, " & ")
}

// index adds what was said since the last time, a chunk at a time.
func (s *Store) index(ctx context.Context) error {
	for {
		more := false
		err := s.read(ctx, "index messages", func(c *pgx.Conn) error {
			return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) (err error) {
				more, err = indexChunk(ctx, tx)
				return err
			})
		})
		if err != nil || !more {
			return err
		}
	}
}

// said is an event to index.
type said struct {
	pos, session, seq int64
	words             []string
}

// indexChunk indexes the next events and reports whether there may be more. One process
// at a time does it. It tells nobody: nobody waits for it.
func indexChunk(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	if _, err := tx.Exec(ctx, `INSERT INTO upkeep (name, value) VALUES ('searched', 0) ON CONFLICT DO NOTHING`); err != nil {
		return false, err
	}
	var from int64
	if err := tx.QueryRow(ctx, `SELECT value FROM upkeep WHERE name = 'searched' FOR UPDATE`).Scan(&from); err != nil {
		return false, err
	}
	add, last, n, err := unindexed(ctx, tx, from)
	if err != nil || n == 0 {
		return false, err
	}
	living, err := lockSessions(ctx, tx, add)
	if err != nil {
		return false, err
	}
	b := &pgx.Batch{}
	for _, e := range add {
		if living[e.session] {
			b.Queue(`INSERT INTO words (pos, session, seq, words) VALUES ($1, $2, $3, array_to_tsvector($4::text[])) ON CONFLICT DO NOTHING`, e.pos, e.session, e.seq, e.words)
		}
	}
	b.Queue(`UPDATE upkeep SET value = $1 WHERE name = 'searched'`, last)
	return n == chunk, tx.SendBatch(ctx, b).Close()
}

func unindexed(ctx context.Context, tx pgx.Tx, from int64) (add []said, last int64, n int, err error) {
	rows, err := tx.Query(ctx, `SELECT e.pos, e.session, e.seq, e.kind, coalesce(e.body, b.body) FROM events e LEFT JOIN blobs b ON b.hash = e.blob
		WHERE e.pos > $1 AND e.kind IN `+store.SaidKinds+` ORDER BY e.pos LIMIT $2`, from, chunk)
	if err != nil {
		return nil, 0, 0, err
	}
	var e said
	var kind string
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&e.pos, &e.session, &e.seq, &kind, &body}, func() error {
		n, last = n+1, e.pos
		if in, ok := store.SaidIn(terret.Kind(kind), body); ok {
			e.words = store.Words(clean(in.Text))
			add = append(add, e)
		}
		return nil
	})
	return add, last, n, err
}

// lockSessions returns which of the sessions still exist, and keeps them from being
// removed before the transaction ends. It takes them in the order in which others do.
func lockSessions(ctx context.Context, tx pgx.Tx, of []said) (map[int64]bool, error) {
	keys := make([]int64, len(of))
	for i, e := range of {
		keys[i] = e.session
	}
	rows, err := tx.Query(ctx, `SELECT key FROM sessions WHERE key = ANY ($1) AND NOT deleted ORDER BY id FOR KEY SHARE`, keys)
	if err != nil {
		return nil, err
	}
	living := map[int64]bool{}
	var key int64
	_, err = pgx.ForEachRow(rows, []any{&key}, func() error {
		living[key] = true
		return nil
	})
	return living, err
}
