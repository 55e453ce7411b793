package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// inlineLimit is the size beyond which a body goes into the table of blobs, so that
// scans of the log need not step over it.
const inlineLimit = 64 << 10

// sqlFence admits a batch only if its epoch and its last number are still the
// session's. The batch gets its numbers under the same lock. The key finds the row
// fast; the id makes sure that it is still that session's.
const sqlFence = ` WHERE key = ? AND id = ? AND epoch = ? AND last_seq = ? AND deleted = 0`

// What a batch writes with its numbers. Pieces of text leave the time as it is, and the
// index of it alone.
const (
	sqlNumber = `UPDATE sessions SET last_seq = last_seq + ?` + sqlFence
	sqlTouch  = `UPDATE sessions SET last_seq = last_seq + ?, updated_at = max(updated_at, ?)` + sqlFence
)

const (
	sqlInsertEvent      = `INSERT INTO events (session, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)`
	sqlInsertWholeEvent = `INSERT INTO events (session, seq, at, kind, body, blob, raw, raw_blob) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

const sqlInsertBlob = `INSERT INTO blobs (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING`

// Commit implements terret.Log.
func (s *Store) Commit(ctx context.Context, batches []terret.Batch) ([]terret.Result, error) {
	results := make([]terret.Result, len(batches))
	group, err := store.Group(batches, results)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, "commit", func(tx *lite.Conn) error {
		w := &writer{store: s, tx: tx}
		if len(group) == 1 { // rolling back the transaction is enough
			return w.writeAlone(group[0], results)
		}
		for _, p := range group {
			r, err := w.writeBatch(p)
			if err != nil {
				return err
			}
			results[p.Index] = r
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

// plain reports whether the batch changes only the log and the session's cursor.
func plain(p store.Prepared) bool {
	return p.Projection.Empty() && len(p.Batch.Taken)+len(p.Batch.Delivered)+len(p.Batch.Hits) == 0
}

// settle finds out whether a commit of unknown outcome took place. Any batch that was
// not refused will do, since the transaction holds all of them or none.
func (s *Store) settle(ctx context.Context, group []store.Prepared, results []terret.Result, cause error) error {
	if _, ok := errors.AsType[*commitError](cause); !ok {
		return cause
	}
	unknown := cause
	err := s.alone(context.WithoutCancel(ctx), func(c *lite.Conn) error {
		for _, p := range group {
			if results[p.Index].Err != nil {
				continue
			}
			wrote, known := trace(c, p)
			if wrote {
				unknown = nil
			}
			if wrote || known {
				break
			}
		}
		return nil
	})
	if err != nil {
		return cause
	}
	return unknown
}

// trace looks for the effect of a batch: the session's last number, since nobody else
// can have written under its epoch; without events, its other effects.
func trace(c *lite.Conn, p store.Prepared) (wrote, known bool) {
	scan := func(r *lite.Rows) { wrote = r.Bool(0) }
	var err error
	switch b := p.Batch; {
	case len(p.Rows) > 0:
		_, err = c.Row(scan, `SELECT epoch = ? AND last_seq = ? FROM sessions WHERE id = ?`, b.Epoch, b.After+int64(len(p.Rows)), b.Session)
	case len(b.Taken) > 0:
		_, err = c.Row(scan, `SELECT state = 'taken' FROM inbox WHERE id = ?`, b.Taken[0])
	case len(b.Delivered) > 0:
		_, err = c.Row(scan, `SELECT delivered FROM requests WHERE id = ?`, b.Delivered[0])
	case b.Cursor != nil:
		_, err = c.Row(scan, `SELECT epoch = ? AND cursor IS ? FROM sessions WHERE id = ?`, b.Epoch, b.Cursor, b.Session)
	default:
		return false, false
	}
	return wrote && err == nil, true
}

// writer writes batches in a transaction.
type writer struct {
	store *Store
	tx    *lite.Conn
}

// errRefused rolls back a transaction whose only batch is refused.
var errRefused = errors.New("the batch is refused")

// writeAlone writes the only batch of a transaction.
func (w *writer) writeAlone(p store.Prepared, results []terret.Result) error {
	r, err := w.writeProjected(p)
	if err != nil {
		return err
	}
	results[p.Index] = r
	if r.Err != nil {
		return errRefused
	}
	return nil
}

// writeBatch writes one batch of several. The error is about the whole transaction;
// what concerns only this session is in the result, and leaves no trace in the
// transaction.
func (w *writer) writeBatch(p store.Prepared) (terret.Result, error) {
	if plain(p) {
		key, refused, err := w.take(p)
		if err != nil || refused != nil {
			return terret.Result{Err: refused}, err
		}
		return w.append(key, p)
	}
	if err := w.tx.Exec("SAVEPOINT batch"); err != nil {
		return terret.Result{}, err
	}
	r, err := w.writeProjected(p)
	if err != nil {
		return terret.Result{}, err
	}
	if r.Err != nil {
		if err := w.tx.Exec("ROLLBACK TO batch"); err != nil {
			return terret.Result{}, err
		}
	}
	return r, w.tx.Exec("RELEASE batch")
}

// writeProjected writes a batch and what follows from it. If the result refuses it,
// some of it may already be written.
func (w *writer) writeProjected(p store.Prepared) (terret.Result, error) {
	r, err := w.project(p)
	if code(err) == sqlite3.SQLITE_CONSTRAINT {
		err = terret.Errorf(terret.CodeConflict, "session %s: a turn or a request of the batch already exists (%w)", p.Batch.Session, err)
	}
	if e, ok := errors.AsType[*terret.Error](err); ok {
		return terret.Result{Err: e}, nil
	}
	return r, err
}

func (w *writer) project(p store.Prepared) (terret.Result, error) {
	key, refused, err := w.take(p)
	if err != nil || refused != nil {
		return terret.Result{Err: refused}, err
	}
	r, err := w.append(key, p)
	if err != nil {
		return terret.Result{}, err
	}
	j := projector{tx: w.tx, key: key}
	j.project(p)
	return r, j.err
}

// take takes the numbers for the batch. The second result says why it may not have
// them.
func (w *writer) take(p store.Prepared) (key int64, refused, err error) {
	var touched int64
	if p.Projection.Touched {
		touched = p.Rows[len(p.Rows)-1].Time.UnixMicro()
	}
	key, ok, err := w.pass(p, touched)
	if e, is := errors.AsType[*terret.Error](err); is {
		return 0, e, nil
	}
	if err != nil {
		return 0, nil, err
	}
	if !ok {
		refused, err = whyRefused(w.tx, p.Batch)
		return 0, refused, err
	}
	if p.Batch.Cursor != nil {
		err = w.tx.Exec(`UPDATE sessions SET cursor = ? WHERE key = ?`, p.Batch.Cursor, key)
	}
	return key, refused, err
}

// pass goes through the fence with the cached key and, if that fails, with the
// session's own: an id that was deleted and created again has another key.
func (w *writer) pass(p store.Prepared, touched int64) (key int64, ok bool, err error) {
	remembered, known := w.store.keys.Load(p.Batch.Session)
	for {
		if known {
			key = remembered.(int64)
		} else if key, err = sessionKey(w.tx, p.Batch.Session); err != nil {
			return 0, false, err
		}
		n, err := w.number(key, p, touched)
		if err != nil {
			return 0, false, err
		}
		if n == 1 {
			w.store.keys.Store(p.Batch.Session, key)
			return key, true, nil
		}
		w.store.keys.Delete(p.Batch.Session)
		if !known {
			return 0, false, nil
		}
		known = false
	}
}

// number gives the batch its numbers, if nobody else has them, and returns how many
// sessions that has changed.
func (w *writer) number(key int64, p store.Prepared, touched int64) (int64, error) {
	b, n := p.Batch, len(p.Rows)
	if touched == 0 {
		return changed(w.tx, sqlNumber, n, key, b.Session, b.Epoch, b.After)
	}
	return changed(w.tx, sqlTouch, n, touched, key, b.Session, b.Epoch, b.After)
}

func whyRefused(tx *lite.Conn, b terret.Batch) (refused, err error) {
	var epoch, last int64
	found, err := tx.Row(func(r *lite.Rows) { epoch, last = r.Int(0), r.Int(1) },
		`SELECT epoch, last_seq FROM sessions WHERE id = ? AND deleted = 0`, b.Session)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return notFound(b.Session), nil
	case epoch != b.Epoch:
		return terret.ErrFenced, nil
	}
	return terret.Errorf(terret.CodeConflict, "session %s is at event %d, not %d", b.Session, last, b.After), nil
}

func (w *writer) append(key int64, p store.Prepared) (terret.Result, error) {
	r := terret.Result{LastSeq: p.Batch.After, Entries: make([]terret.Entry, 0, len(p.Rows))}
	for _, row := range p.Rows {
		r.LastSeq++
		var err error
		if len(row.Raw) == 0 && len(row.Body) <= inlineLimit { // almost always
			err = w.tx.Exec(sqlInsertEvent, key, r.LastSeq, row.Time.UnixMicro(), string(row.Kind), row.Body)
		} else {
			err = w.appendLarge(key, r.LastSeq, row)
		}
		if err != nil {
			return r, err
		}
		r.Entries = append(r.Entries, terret.Entry{
			Session: p.Batch.Session, Seq: r.LastSeq, Pos: w.tx.LastInsertID(), Kind: row.Kind, Body: row.Body, Raw: row.Raw,
		})
	}
	return r, nil
}

// appendLarge writes an event that has the agent's own message, or a large part.
func (w *writer) appendLarge(key, seq int64, row store.Row) error {
	body, blob, err := w.spill(row.Body)
	if err != nil {
		return err
	}
	raw, rawBlob, err := w.spill(row.Raw)
	if err != nil {
		return err
	}
	return w.tx.Exec(sqlInsertWholeEvent, key, seq, row.Time.UnixMicro(), string(row.Kind), body, blob, raw, rawBlob)
}

// spill returns what to put into the two columns of a body: the body itself, or the
// hash of the blob that now holds it.
func (w *writer) spill(body []byte) (inline, hash []byte, err error) {
	switch {
	case len(body) == 0:
		return nil, nil, nil
	case len(body) <= inlineLimit:
		return body, nil, nil
	}
	sum := sha256.Sum256(body)
	return nil, sum[:], w.tx.Exec(sqlInsertBlob, sum[:], body)
}
