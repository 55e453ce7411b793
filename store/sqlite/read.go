package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
)

const (
	defaultPage = 1000
	maxPage     = 10_000
	pageBytes   = 8 << 20 // a page ends early when its bodies are larger than this
)

// Read implements terret.Log. A page ends early when it has grown large; the next
// one goes on from its last number.
func (s *Store) Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error) {
	page := pageReader{session: q.Session, raw: q.Raw}
	where, args := kindFilter(q.Kinds)
	query := `SELECT ` + page.columns() + ` FROM events e
		WHERE e.session = (SELECT key FROM sessions WHERE id = ? AND deleted = 0) AND e.seq > ?` + where + ` ORDER BY e.seq LIMIT ?`
	args = append(append([]any{q.Session, q.After}, args...), pageSize(q.Limit))
	if err := s.read(ctx, &page, query, args); err != nil {
		return nil, describe("read session "+q.Session, s.path, err)
	}
	if len(page.out) == 0 {
		if _, err := s.sessionKey(ctx, s.readers, q.Session); err != nil {
			return nil, err
		}
	}
	return page.out, nil
}

// ReadAll implements terret.Log.
func (s *Store) ReadAll(ctx context.Context, q terret.ReadAllQuery) ([]terret.Entry, error) {
	var page pageReader
	where, args := kindFilter(q.Kinds)
	if q.Sessions != nil {
		ids := make([]any, len(q.Sessions))
		for i, id := range q.Sessions {
			ids[i] = id
		}
		where += ` AND s.id IN (` + placeholders(len(ids)) + `)`
		args = append(args, ids...)
	}
	query := `SELECT ` + page.columns() + ` FROM events e JOIN sessions s ON s.key = e.session
		WHERE e.pos > ? AND s.deleted = 0` + where + ` ORDER BY e.pos LIMIT ?`
	args = append(append([]any{q.After}, args...), pageSize(q.Limit))
	if err := s.read(ctx, &page, query, args); err != nil {
		return nil, describe("read the log", s.path, err)
	}
	return page.out, nil
}

func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
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

// read fills a page. Blobs are fetched after the rows, on the same connection, so
// that the rows need no join. Their size is known only then: the page ends before
// the one that would come after too many bytes.
func (s *Store) read(ctx context.Context, page *pageReader, query string, args []any) error {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := page.read(ctx, conn, query, args); err != nil {
		return err
	}
	size := 0
	for _, i := range page.spilled {
		if size >= pageBytes {
			page.out = page.out[:i]
			break
		}
		if err := page.fetch(ctx, conn, &page.out[i]); err != nil {
			return err
		}
		size += len(page.out[i].Body) + len(page.out[i].Raw)
	}
	return nil
}

// pageReader collects rows, of one session or, if session is empty, of all. Bodies
// are copied into large chunks that the entries share, which costs one allocation
// for many.
type pageReader struct {
	session string
	raw     bool
	out     []terret.Entry
	chunk   []byte
	spilled []int // entries whose body or raw message is in a blob
}

// columns are few, since each costs time on every row.
func (p *pageReader) columns() string {
	c := "e.seq, e.kind, e.body"
	if p.session == "" {
		c += ", e.pos, s.id"
	}
	if p.raw {
		c += ", e.raw, e.raw_blob IS NOT NULL"
	}
	return c
}

func (p *pageReader) read(ctx context.Context, conn *sql.Conn, query string, args []any) error {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var e terret.Entry
	var kind, id, body, raw sql.RawBytes
	var rawSpilled bool
	into := []any{&e.Seq, &kind, &body}
	if p.session == "" {
		into = append(into, &e.Pos, &id)
	}
	if p.raw {
		into = append(into, &raw, &rawSpilled)
	}
	for size := 0; size < pageBytes && rows.Next(); {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		e.Session, e.Kind = p.session, intern(kind)
		if p.session == "" {
			e.Session = string(id)
		}
		e.Body, e.Raw = p.keep(body), p.keep(raw)
		size += len(body) + len(raw)
		if len(body) == 0 || rawSpilled {
			p.spilled = append(p.spilled, len(p.out))
			size += inlineLimit // at least
		}
		p.out = append(p.out, e)
	}
	return rows.Err()
}

func (p *pageReader) fetch(ctx context.Context, conn *sql.Conn, e *terret.Entry) error {
	var body, raw []byte
	err := conn.QueryRowContext(ctx, `SELECT b.body, r.body FROM events e
		LEFT JOIN blobs b ON b.hash = e.blob LEFT JOIN blobs r ON r.hash = e.raw_blob
		WHERE e.session = (SELECT key FROM sessions WHERE id = ?) AND e.seq = ?`, e.Session, e.Seq).Scan(&body, &raw)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if len(e.Body) == 0 {
		e.Body = body
	}
	if len(e.Body) == 0 {
		return terret.Errorf(terret.KindInternal, "event %d of session %s is lost: the database is damaged; put a backup in its place", e.Seq, e.Session)
	}
	if p.raw && len(e.Raw) == 0 {
		e.Raw = raw
	}
	return nil
}

func (p *pageReader) keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if cap(p.chunk)-len(p.chunk) < len(b) {
		p.chunk = make([]byte, 0, max(len(b), 64<<10))
	}
	start := len(p.chunk)
	p.chunk = append(p.chunk, b...)
	return p.chunk[start:len(p.chunk):len(p.chunk)]
}

// interned holds the kinds that this version knows, so that reading a known kind
// costs no allocation.
var interned = sync.OnceValue(func() map[string]terret.Kind {
	m := map[string]terret.Kind{}
	for _, k := range terret.Kinds() {
		m[string(k)] = k
	}
	return m
})

func intern(b []byte) terret.Kind {
	if k, ok := interned()[string(b)]; ok {
		return k
	}
	return terret.Kind(b)
}
