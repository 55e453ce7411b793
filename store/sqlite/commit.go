package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// inlineLimit is the size from which on a body is kept in the table of blobs, so
// that scans of the log do not have to step over it.
const inlineLimit = 64 << 10

// sqlFence lets a batch in only if its epoch and its last number are still the
// session's. The numbers of the batch are given under the same lock. The key finds
// the row fast; the id makes sure that it is still that session's.
const sqlFence = `UPDATE sessions SET last_seq = last_seq + ?, updated_at = max(updated_at, ?)
 WHERE key = ? AND id = ? AND epoch = ? AND last_seq = ? AND deleted = 0`

const (
	sqlInsertEvent      = `INSERT INTO events (session, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)`
	sqlInsertWholeEvent = `INSERT INTO events (session, seq, at, kind, body, blob, raw, raw_blob) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

const sqlInsertBlob = `INSERT INTO blobs (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING`

// prepared is a batch that is ready to be written.
type prepared struct {
	index int // in the caller's list
	batch terret.Batch
	rows  []store.Row
	proj  store.Projection
}

// Commit implements terret.Log.
func (s *Store) Commit(ctx context.Context, batches []terret.Batch) ([]terret.Result, error) {
	results := make([]terret.Result, len(batches))
	group, err := prepareGroup(batches, results)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, "commit", func(ctx context.Context, tx *txn) error {
		w := &writer{store: s, tx: tx}
		if len(group) == 1 { // the transaction is all there is to take back
			return w.writeAlone(ctx, group[0], results)
		}
		for _, p := range group {
			r, err := w.writeBatch(ctx, p)
			if err != nil {
				return err
			}
			results[p.index] = r
		}
		return nil
	})
	if errors.Is(err, errRefused) {
		return results, nil
	}
	if err != nil {
		if err = s.settle(ctx, group, results, err); err != nil {
			return nil, err
		}
		s.news.publish()
	}
	return results, nil
}

// prepareGroup encodes the batches before the write lock is taken, in the order of
// their sessions' ids. A batch that cannot be encoded fails alone.
func prepareGroup(batches []terret.Batch, results []terret.Result) ([]prepared, error) {
	group := make([]prepared, 0, len(batches))
	for i, b := range batches {
		rows, proj, err := store.Rows(b)
		if err != nil {
			results[i].Err = terret.AsError(err)
			continue
		}
		group = append(group, prepared{index: i, batch: b, rows: rows, proj: proj})
	}
	slices.SortFunc(group, func(a, b prepared) int { return strings.Compare(a.batch.Session, b.batch.Session) })
	for i := 1; i < len(group); i++ {
		if group[i].batch.Session == group[i-1].batch.Session {
			return nil, terret.Errorf(terret.CodeInternal, "two batches for session %s in one commit", group[i].batch.Session)
		}
	}
	return group, nil
}

// settle finds out whether a commit of unknown outcome took place. Any batch that
// was not refused tells, since the transaction holds all of them or none.
func (s *Store) settle(ctx context.Context, group []prepared, results []terret.Result, cause error) error {
	if _, ok := errors.AsType[*commitError](cause); !ok {
		return cause
	}
	ctx = context.WithoutCancel(ctx)
	for _, p := range group {
		if results[p.index].Err != nil {
			continue
		}
		if wrote, known := s.trace(ctx, p); wrote {
			return nil
		} else if known {
			return cause
		}
	}
	return cause
}

// trace looks for what a batch leaves behind: the session's last number, since
// nobody else can have written under its epoch; without events, what else it did.
func (s *Store) trace(ctx context.Context, p prepared) (wrote, known bool) {
	var row *sql.Row
	switch b := p.batch; {
	case len(p.rows) > 0:
		row = s.db.QueryRowContext(ctx, `SELECT epoch = ? AND last_seq = ? FROM sessions WHERE id = ?`, b.Epoch, b.After+int64(len(p.rows)), b.Session)
	case len(b.Taken) > 0:
		row = s.db.QueryRowContext(ctx, `SELECT state = 'taken' FROM inbox WHERE id = ?`, b.Taken[0])
	case len(b.Delivered) > 0:
		row = s.db.QueryRowContext(ctx, `SELECT delivered FROM requests WHERE id = ?`, b.Delivered[0])
	case b.Cursor != nil:
		row = s.db.QueryRowContext(ctx, `SELECT epoch = ? AND cursor IS ? FROM sessions WHERE id = ?`, b.Epoch, b.Cursor, b.Session)
	default:
		return false, false
	}
	err := row.Scan(&wrote)
	return wrote && err == nil, true
}

// writer writes batches in a transaction.
type writer struct {
	store *Store
	tx    *txn
}

// errRefused rolls a transaction back whose only batch is refused.
var errRefused = errors.New("the batch is refused")

// writeAlone writes the only batch of a transaction.
func (w *writer) writeAlone(ctx context.Context, p prepared, results []terret.Result) error {
	r, err := w.writeProjected(ctx, p)
	if err != nil {
		return err
	}
	results[p.index] = r
	if r.Err != nil {
		return errRefused
	}
	return nil
}

// writeBatch writes one batch of several. The error is about the whole transaction;
// what concerns only this session is in the result, and leaves no trace in the
// transaction.
func (w *writer) writeBatch(ctx context.Context, p prepared) (terret.Result, error) {
	plain := p.proj.Empty() && len(p.batch.Taken)+len(p.batch.Delivered)+len(p.batch.Hits) == 0
	if plain {
		key, refused, err := w.take(ctx, p)
		if err != nil || refused != nil {
			return terret.Result{Err: refused}, err
		}
		return w.append(ctx, key, p)
	}
	if _, err := w.tx.ExecContext(ctx, "SAVEPOINT batch"); err != nil {
		return terret.Result{}, err
	}
	r, err := w.writeProjected(ctx, p)
	if err != nil {
		return terret.Result{}, err
	}
	if r.Err != nil {
		if _, err := w.tx.ExecContext(ctx, "ROLLBACK TO batch"); err != nil {
			return terret.Result{}, err
		}
	}
	_, err = w.tx.ExecContext(ctx, "RELEASE batch")
	return r, err
}

// writeProjected writes a batch and what follows from it. If the result says that it is
// refused, some of it may be written already.
func (w *writer) writeProjected(ctx context.Context, p prepared) (terret.Result, error) {
	r, err := w.project(ctx, p)
	if code(err) == sqlite3.SQLITE_CONSTRAINT {
		err = terret.Errorf(terret.CodeConflict, "session %s: a turn or a request of the batch is there already (%w)", p.batch.Session, err)
	}
	if e, ok := errors.AsType[*terret.Error](err); ok {
		return terret.Result{Err: e}, nil
	}
	return r, err
}

func (w *writer) project(ctx context.Context, p prepared) (terret.Result, error) {
	key, refused, err := w.take(ctx, p)
	if err != nil || refused != nil {
		return terret.Result{Err: refused}, err
	}
	r, err := w.append(ctx, key, p)
	if err != nil {
		return terret.Result{}, err
	}
	j := projector{ctx: ctx, tx: w.tx, key: key}
	j.project(p)
	return r, j.err
}

// fence takes the numbers for the batch. The second result says why it may not
// have them.
func (w *writer) take(ctx context.Context, p prepared) (key int64, refused, err error) {
	var touched int64
	if p.proj.Touched {
		touched = p.rows[len(p.rows)-1].Time.UnixMicro()
	}
	key, ok, err := w.pass(ctx, p, touched)
	if e, is := errors.AsType[*terret.Error](err); is {
		return 0, e, nil
	}
	if err != nil {
		return 0, nil, err
	}
	if !ok {
		refused, err = whyRefused(ctx, w.tx, p.batch)
		return 0, refused, err
	}
	if p.batch.Cursor != nil {
		_, err = w.tx.ExecContext(ctx, `UPDATE sessions SET cursor = ? WHERE key = ?`, p.batch.Cursor, key)
	}
	return key, refused, err
}

// pass goes through the fence with the key that is remembered, and if that fails
// with the session's own: an id that was deleted and made again has another.
func (w *writer) pass(ctx context.Context, p prepared, touched int64) (key int64, ok bool, err error) {
	remembered, known := w.store.keys.Load(p.batch.Session)
	for {
		if known {
			key = remembered.(int64)
		} else if key, err = w.store.sessionKey(ctx, w.tx, p.batch.Session); err != nil {
			return 0, false, err
		}
		res, err := w.tx.ExecContext(ctx, sqlFence, len(p.rows), touched, key, p.batch.Session, p.batch.Epoch, p.batch.After)
		if err != nil {
			return 0, false, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, false, err
		}
		if n == 1 {
			w.store.keys.Store(p.batch.Session, key)
			return key, true, nil
		}
		w.store.keys.Delete(p.batch.Session)
		if !known {
			return 0, false, nil
		}
		known = false
	}
}

func whyRefused(ctx context.Context, tx *txn, b terret.Batch) (refused, err error) {
	var epoch, last int64
	err = tx.QueryRowContext(ctx, `SELECT epoch, last_seq FROM sessions WHERE id = ? AND deleted = 0`, b.Session).Scan(&epoch, &last)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return notFound(b.Session), nil
	case err != nil:
		return nil, err
	case epoch != b.Epoch:
		return terret.ErrFenced, nil
	}
	return terret.Errorf(terret.CodeConflict, "session %s is at event %d, not %d", b.Session, last, b.After), nil
}

func (w *writer) append(ctx context.Context, key int64, p prepared) (terret.Result, error) {
	r := terret.Result{LastSeq: p.batch.After, Entries: make([]terret.Entry, 0, len(p.rows))}
	insert, err := w.tx.stmt(ctx, sqlInsertEvent)
	if err != nil {
		return r, err
	}
	for _, row := range p.rows {
		body, blob, err := w.spill(ctx, row.Body)
		if err != nil {
			return r, err
		}
		raw, rawBlob, err := w.spill(ctx, row.Raw)
		if err != nil {
			return r, err
		}
		r.LastSeq++
		var res sql.Result
		if blob == nil && raw == nil && rawBlob == nil { // almost always
			res, err = insert.ExecContext(ctx, key, r.LastSeq, row.Time.UnixMicro(), string(row.Kind), row.Body)
		} else {
			res, err = w.tx.ExecContext(ctx, sqlInsertWholeEvent, key, r.LastSeq, row.Time.UnixMicro(), string(row.Kind), body, blob, raw, rawBlob)
		}
		if err != nil {
			return r, err
		}
		pos, err := res.LastInsertId()
		if err != nil {
			return r, err
		}
		r.Entries = append(r.Entries, terret.Entry{
			Session: p.batch.Session, Seq: r.LastSeq, Pos: pos, Kind: row.Kind, Body: row.Body, Raw: row.Raw,
		})
	}
	return r, nil
}

// spill returns what to put into the two columns of a body: itself, or the hash
// of the blob that now holds it.
func (w *writer) spill(ctx context.Context, body []byte) (inline, hash any, err error) {
	switch {
	case len(body) == 0:
		return nil, nil, nil
	case len(body) <= inlineLimit:
		return body, nil, nil
	}
	sum := sha256.Sum256(body)
	_, err = w.tx.ExecContext(ctx, sqlInsertBlob, sum[:], body)
	return nil, sum[:], err
}
