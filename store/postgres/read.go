package postgres

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// A page ends at its limit, or when it has grown large: the reader asks again after its
// last event.
const (
	defaultPage = 1000
	maxPage     = 10_000
	pageBytes   = 256 << 10
	firstRows   = 64 // of a page; how many more depends on their size
)

// Read implements terret.Log. A page ends early when it has grown large; the next one
// continues after its last number.
func (s *Store) Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error) {
	page := pageReader{limit: store.PageSize(q.Limit, defaultPage, maxPage), bytes: store.PageSize(q.Bytes, pageBytes, pageBytes)}
	err := s.read(ctx, "read session "+q.Session, func(c *pgx.Conn) error {
		key, err := sessionKey(ctx, c, q.Session)
		if err != nil {
			return err
		}
		return page.read(func(rows int) error {
			text, args := sessionPage(key, q, rows, page.last())
			return page.query(ctx, c, text, args, func(r pgx.Rows) (terret.Entry, error) {
				e := terret.Entry{Session: q.Session}
				var kind string
				into := []any{&e.Seq, &kind, &e.Body}
				if q.Raw {
					into = append(into, &e.Raw)
				}
				err := r.Scan(into...)
				e.Kind = intern(kind)
				return e, err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return page.out, nil
}

// sessionPage selects the next rows of a page that so far ends with the last entry.
func sessionPage(key int64, q terret.ReadQuery, rows int, last *terret.Entry) (text string, args []any) {
	after, before := q.After, q.Before
	if last != nil && q.Backward {
		before = last.Seq
	} else if last != nil {
		after = last.Seq
	}
	w := where{}
	w.add(`e.session = ? AND e.seq > ?`, key, after)
	w.addIf(before > 0, `e.seq < ?`, before)
	w.kinds(q.Kinds)
	text = `SELECT e.seq, e.kind, ` + sqlBody
	if q.Raw {
		text += `, coalesce(e.raw, (SELECT body FROM blobs WHERE hash = e.raw_blob))`
	}
	text += ` FROM events e WHERE ` + w.String() + ` ORDER BY e.seq`
	if q.Backward {
		text += ` DESC`
	}
	return text + ` LIMIT ` + strconv.Itoa(rows), w.args
}

const sqlBody = `coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob))`

// sqlWhole is the condition of the index events_whole.
const sqlWhole = `e.kind NOT IN ('message.delta', 'reasoning.delta', 'tool.delta')`

func (w *where) kinds(kinds []terret.Kind) {
	if len(kinds) == 0 {
		return
	}
	if !slices.ContainsFunc(kinds, terret.Kind.Delta) {
		w.add(sqlWhole)
	}
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = clean(string(k))
	}
	w.add(`e.kind = ANY (?)`, list)
}

// ReadAll implements terret.Log.
func (s *Store) ReadAll(ctx context.Context, q terret.ReadAllQuery) ([]terret.Entry, error) {
	page := pageReader{limit: store.PageSize(q.Limit, defaultPage, maxPage), bytes: store.PageSize(q.Bytes, pageBytes, pageBytes)}
	err := s.read(ctx, "read the log", func(c *pgx.Conn) error {
		return page.read(func(rows int) error {
			w := where{}
			after := q.After
			if last := page.last(); last != nil {
				after = last.Pos
			}
			w.add(`e.pos > ? AND NOT s.deleted`, after)
			w.kinds(q.Kinds)
			if q.Sessions != nil {
				ids := make([]string, len(q.Sessions))
				for i, id := range q.Sessions {
					ids[i] = clean(id)
				}
				w.add(`s.id = ANY (?)`, ids)
			}
			text := `SELECT s.id, e.seq, e.pos, e.kind, ` + sqlBody + ` FROM events e JOIN sessions s ON s.key = e.session
				WHERE ` + w.String() + ` ORDER BY e.pos LIMIT ` + strconv.Itoa(rows)
			return page.query(ctx, c, text, w.args, func(r pgx.Rows) (e terret.Entry, err error) {
				var kind string
				err = r.Scan(&e.Session, &e.Seq, &e.Pos, &kind, &e.Body)
				e.Kind = intern(kind)
				return e, err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return page.out, nil
}

// LastPos implements terret.Log.
func (s *Store) LastPos(ctx context.Context) (pos int64, err error) {
	err = s.read(ctx, "read the log", func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT last_pos FROM terret`).Scan(&pos)
	})
	return pos, err
}

// pageReader collects a page in a few queries, since the server sends all that is asked
// for: the first asks for a few rows, the others for as many as will fit if they are
// alike.
type pageReader struct {
	limit, bytes int

	out  []terret.Entry
	size int
	got  int // rows of the last query
}

func (p *pageReader) last() *terret.Entry {
	if len(p.out) == 0 {
		return nil
	}
	return &p.out[len(p.out)-1]
}

func (p *pageReader) read(next func(rows int) error) error {
	p.out, p.size = nil, 0 // this may be another try
	for rows := firstRows; ; {
		asked := min(rows, p.limit-len(p.out))
		if err := next(asked); err != nil {
			return err
		}
		if p.got < asked || len(p.out) >= p.limit || p.size >= p.bytes {
			return nil
		}
		rows = min(1+len(p.out)*(p.bytes-p.size)/max(p.size, 1), 2000)
	}
}

func (p *pageReader) query(ctx context.Context, c *pgx.Conn, text string, args []any, scan func(pgx.Rows) (terret.Entry, error)) error {
	rows, err := c.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	p.got = 0
	for rows.Next() {
		p.got++
		e, err := scan(rows)
		if err != nil {
			return err
		}
		if e.Body == nil {
			return terret.Errorf(terret.CodeInternal, "event %d of session %s is lost: the database is damaged; replace it with a backup", e.Seq, e.Session)
		}
		if p.size >= p.bytes {
			continue // it comes with the next page
		}
		p.out = append(p.out, e)
		p.size += len(e.Body) + len(e.Raw)
	}
	return rows.Err()
}

// interned holds the kinds that this version knows, so that entries share them.
var interned = sync.OnceValue(func() map[string]terret.Kind {
	m := map[string]terret.Kind{}
	for _, k := range terret.Kinds() {
		m[string(k)] = k
	}
	return m
})

func intern(kind string) terret.Kind {
	if k, ok := interned()[kind]; ok {
		return k
	}
	return terret.Kind(kind)
}
