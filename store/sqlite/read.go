package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
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
		if _, err := s.sessionKey(ctx, reading{s}, q.Session); err != nil {
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

// pageReader collects rows, of one session or, if session is empty, of all.
type pageReader struct {
	session string
	raw     bool
	out     []terret.Entry
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

// read collects rows straight from the driver: package sql would copy each value
// once more, which is a third of the cost of a replay.
func (p *pageReader) read(ctx context.Context, conn *sql.Conn, query string, args []any) error {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return err
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(ctx, query, named)
		if err != nil {
			return err
		}
		return errors.Join(p.collect(rows), rows.Close())
	})
}

func (p *pageReader) collect(rows driver.Rows) error {
	row := make([]driver.Value, len(rows.Columns()))
	for size := 0; size < pageBytes; {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e := terret.Entry{Session: p.session}
		e.Seq, _ = row[0].(int64)
		kind, _ := row[1].(string)
		e.Kind = intern(kind)
		e.Body, _ = row[2].([]byte)
		rest := row[3:]
		if p.session == "" {
			e.Pos, _ = rest[0].(int64)
			e.Session, _ = rest[1].(string)
			rest = rest[2:]
		}
		spilled := int64(0)
		if p.raw {
			e.Raw, _ = rest[0].([]byte)
			spilled, _ = rest[1].(int64)
		}
		size += len(e.Body) + len(e.Raw)
		if len(e.Body) == 0 || spilled != 0 {
			p.spilled = append(p.spilled, len(p.out))
			size += inlineLimit // at least
		}
		p.out = append(p.out, e)
	}
	return nil
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
		return terret.Errorf(terret.CodeInternal, "event %d of session %s is lost: the database is damaged; put a backup in its place", e.Seq, e.Session)
	}
	if p.raw && len(e.Raw) == 0 {
		e.Raw = raw
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

func intern(kind string) terret.Kind {
	if k, ok := interned()[kind]; ok {
		return k
	}
	return terret.Kind(kind)
}
