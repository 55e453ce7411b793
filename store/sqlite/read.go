package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// A page ends at its limit, or when it has grown large: the reader asks again after its
// last event. Pages are small, so that a thousand waiting readers, each holding one, do
// not fill the memory.
const (
	defaultPage = 1000
	maxPage     = 10_000
	pageBytes   = 256 << 10
)

// Read implements terret.Log. A page ends early when it has grown large; the next one
// continues after its last number.
func (s *Store) Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error) {
	page := pageReader{session: q.Session, raw: q.Raw, limit: store.PageSize(q.Limit, defaultPage, maxPage), bytes: store.PageSize(q.Bytes, pageBytes, pageBytes)}
	text, args := page.query(q)
	err := s.read(ctx, "read session "+q.Session, func(c *lite.Conn) error {
		key, err := sessionKey(c, q.Session)
		if err != nil {
			return err
		}
		args[0] = key
		return page.read(c, text, args)
	})
	if err != nil {
		return nil, err
	}
	return page.out, nil
}

// LastPos implements terret.Log.
func (s *Store) LastPos(ctx context.Context) (pos int64, err error) {
	if err := s.alone(ctx, func(*lite.Conn) error { return s.checkGone() }); err != nil {
		return 0, err
	}
	err = s.read(ctx, "read the log", func(c *lite.Conn) error {
		_, err := c.Row(func(r *lite.Rows) { pos = r.Int(0) }, `SELECT seq FROM sqlite_sequence WHERE name = 'events'`)
		return err
	})
	return pos, err
}

// ReadAll implements terret.Log.
func (s *Store) ReadAll(ctx context.Context, q terret.ReadAllQuery) ([]terret.Entry, error) {
	page := pageReader{limit: store.PageSize(q.Limit, defaultPage, maxPage), bytes: store.PageSize(q.Bytes, pageBytes, pageBytes), ids: map[int64]string{}}
	err := s.read(ctx, "read the log", func(c *lite.Conn) error {
		where, args := kindFilter(q.Kinds)
		if q.Sessions != nil {
			keys, err := keysOf(c, q.Sessions)
			if err != nil {
				return err
			}
			where += ` AND e.session IN (` + placeholders(len(keys)) + `)`
			args = append(args, keys...)
		}
		return page.read(c, `SELECT `+page.columns()+` FROM events e NOT INDEXED WHERE e.pos > ?`+where+` ORDER BY e.pos`, append([]any{q.After}, args...))
	})
	if err != nil {
		return nil, err
	}
	return page.out, nil
}

// keysOf returns the keys of the sessions that exist.
func keysOf(c *lite.Conn, sessions []string) (keys []any, err error) {
	for _, id := range sessions {
		key, err := sessionKey(c, id)
		if e := terret.AsError(err); e != nil && e.Code == terret.CodeSessionNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func kindFilter(kinds []terret.Kind) (where string, args []any) {
	if len(kinds) == 0 {
		return "", nil
	}
	for _, k := range kinds {
		args = append(args, string(k))
	}
	return ` AND e.kind IN (` + placeholders(len(kinds)) + `)`, args
}

// pageReader collects rows of one session or, if session is empty, of all.
type pageReader struct {
	session string
	raw     bool
	limit   int
	bytes   int
	ids     map[int64]string // of the sessions of all, by key; empty for those that are deleted

	out  []terret.Entry
	size int
	room []byte // for bodies
}

// query selects events of one session. The first argument must be its key.
func (p *pageReader) query(q terret.ReadQuery) (text string, args []any) {
	args = []any{nil, q.After}
	where := ` WHERE e.session = ? AND e.seq > ?`
	if q.Before > 0 {
		where += ` AND e.seq < ?`
		args = append(args, q.Before)
	}
	kinds, more := kindFilter(q.Kinds)
	where, args = where+kinds, append(args, more...)
	order := ` ORDER BY e.seq`
	if q.Backward {
		order += ` DESC`
	}
	return `SELECT ` + p.columns() + ` FROM events e` + where + order, args
}

// columns are few, since each costs time on every row.
func (p *pageReader) columns() string {
	switch {
	case p.session == "":
		return "e.seq, e.kind, e.body, e.pos, e.session"
	case p.raw:
		return "e.seq, e.kind, e.body, e.raw, e.raw_blob IS NOT NULL"
	}
	return "e.seq, e.kind, e.body"
}

func (p *pageReader) read(c *lite.Conn, text string, args []any) error {
	rows := c.Query(text, args...)
	for rows.Next() {
		e := terret.Entry{Session: p.session}
		if p.session == "" {
			id, err := p.idOf(c, rows.Int(4))
			if err != nil {
				return errors.Join(err, rows.Close())
			}
			if id == "" {
				continue
			}
			e.Session, e.Pos = id, rows.Int(3)
		}
		e.Seq, e.Kind, e.Body = rows.Int(0), intern(rows.Bytes(1)), p.keep(rows.Bytes(2))
		spilled := e.Body == nil
		if p.raw {
			e.Raw = p.keep(rows.Bytes(3))
			spilled = spilled || rows.Bool(4)
		}
		if spilled {
			if err := p.fetch(c, &e); err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		p.add(e)
		if len(p.out) >= p.limit || p.size >= p.bytes {
			break
		}
	}
	return rows.Close()
}

// add adds an entry. After the first few, it makes room for as many as the page will
// hold if the others are alike.
func (p *pageReader) add(e terret.Entry) {
	const few = 16
	if n := len(p.out); n == cap(p.out) {
		room := few
		if n >= few {
			room = min(p.limit, n+n*(p.bytes-p.size)/max(p.size, 1)*5/4)
		}
		p.out = slices.Grow(p.out, min(room, p.limit)-n)
	}
	p.out = append(p.out, e)
	p.size += len(e.Body) + len(e.Raw)
}

// keep copies a body before SQLite reuses its memory. Small ones share memory.
func (p *pageReader) keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if len(b) > cap(p.room)-len(p.room) {
		if len(b) > 16<<10 {
			return append(make([]byte, 0, len(b)), b...)
		}
		p.room = make([]byte, 0, max(len(b), min(4*cap(p.room), 64<<10, p.bytes)))
	}
	at := len(p.room)
	p.room = append(p.room, b...)
	return p.room[at:len(p.room):len(p.room)]
}

// idOf returns the id of a session, or "" if it is deleted.
func (p *pageReader) idOf(c *lite.Conn, key int64) (string, error) {
	if id, ok := p.ids[key]; ok {
		return id, nil
	}
	id := ""
	_, err := c.Row(func(r *lite.Rows) { id = r.Text(0) }, `SELECT id FROM sessions WHERE key = ? AND deleted = 0`, key)
	p.ids[key] = id
	return id, err
}

// fetch reads what is not in the event's row because it is large.
func (p *pageReader) fetch(c *lite.Conn, e *terret.Entry) error {
	_, err := c.Row(func(r *lite.Rows) {
		if e.Body == nil {
			e.Body = p.keep(r.Bytes(0))
		}
		if p.raw && e.Raw == nil {
			e.Raw = p.keep(r.Bytes(1))
		}
	}, `SELECT b.body, r.body FROM events e
		LEFT JOIN blobs b ON b.hash = e.blob LEFT JOIN blobs r ON r.hash = e.raw_blob
		WHERE e.session = (SELECT key FROM sessions WHERE id = ?) AND e.seq = ?`, e.Session, e.Seq)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if e.Body == nil {
		return terret.Errorf(terret.CodeInternal, "event %d of session %s is lost: the database is damaged; replace it with a backup", e.Seq, e.Session)
	}
	return nil
}

// interned holds the kinds that this version knows, so that entries share them.
var interned = sync.OnceValue(func() map[string]terret.Kind {
	m := map[string]terret.Kind{}
	for _, k := range terret.Kinds() {
		m[string(k)] = k
	}
	return m
})

func intern(kind []byte) terret.Kind {
	if k, ok := interned()[string(kind)]; ok {
		return k
	}
	return terret.Kind(kind)
}
