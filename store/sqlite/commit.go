package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
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
// session's. The numbers of the batch are given under the same lock.
const sqlFence = `UPDATE sessions SET
	last_seq = last_seq + ?3,
	updated_at = max(updated_at, ?4),
	cursor = coalesce(?5, cursor)
 WHERE id = ?1 AND epoch = ?2 AND last_seq = ?6 AND deleted = 0 RETURNING key`

const sqlInsertEvent = `INSERT INTO events (session, seq, at, kind, body, blob, raw, raw_blob) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

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
	err = s.write(ctx, "commit", func(ctx context.Context, tx *sql.Tx) error {
		for _, p := range group {
			r, err := s.writeBatch(ctx, tx, p)
			if err != nil {
				return err
			}
			results[p.index] = r
		}
		return nil
	})
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
			return nil, terret.Errorf(terret.KindInternal, "two batches for session %s in one commit", group[i].batch.Session)
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

// writeBatch writes one batch. The error is about the whole transaction; what
// concerns only this session is in the result, and leaves no trace in the
// transaction.
func (s *Store) writeBatch(ctx context.Context, tx *sql.Tx, p prepared) (terret.Result, error) {
	plain := p.proj.Empty() && len(p.batch.Taken)+len(p.batch.Delivered)+len(p.batch.Hits) == 0
	if plain {
		key, refused, err := s.fence(ctx, tx, p)
		if err != nil || refused != nil {
			return terret.Result{Err: refused}, err
		}
		return s.insert(ctx, tx, key, p)
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT batch"); err != nil {
		return terret.Result{}, err
	}
	r, err := s.writeProjected(ctx, tx, p)
	if code(err) == sqlite3.SQLITE_CONSTRAINT {
		err = terret.Errorf(terret.KindConflict, "session %s: a turn or a request of the batch is there already (%w)", p.batch.Session, err)
	}
	if e, ok := errors.AsType[*terret.Error](err); ok {
		r, err = terret.Result{Err: e}, nil
	}
	if err != nil {
		return terret.Result{}, err
	}
	end := "RELEASE batch"
	if r.Err != nil {
		end = "ROLLBACK TO batch; RELEASE batch"
	}
	_, err = tx.ExecContext(ctx, end)
	return r, err
}

func (s *Store) writeProjected(ctx context.Context, tx *sql.Tx, p prepared) (terret.Result, error) {
	key, refused, err := s.fence(ctx, tx, p)
	if err != nil || refused != nil {
		return terret.Result{Err: refused}, err
	}
	r, err := s.insert(ctx, tx, key, p)
	if err != nil {
		return terret.Result{}, err
	}
	w := projector{ctx: ctx, tx: tx, key: key}
	w.project(p)
	return r, w.err
}

// fence takes the numbers for the batch. The second result says why it may not
// have them.
func (s *Store) fence(ctx context.Context, tx *sql.Tx, p prepared) (key int64, refused, err error) {
	var touched int64
	if p.proj.Touched {
		touched = p.rows[len(p.rows)-1].Time.UnixMicro()
	}
	var cursor any
	if p.batch.Cursor != nil {
		cursor = p.batch.Cursor
	}
	err = tx.StmtContext(ctx, s.stmts.fence).QueryRowContext(ctx,
		p.batch.Session, p.batch.Epoch, len(p.rows), touched, cursor, p.batch.After).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		refused, err = whyRefused(ctx, tx, p.batch)
	}
	return key, refused, err
}

func whyRefused(ctx context.Context, tx *sql.Tx, b terret.Batch) (refused, err error) {
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
	return terret.Errorf(terret.KindConflict, "session %s is at event %d, not %d", b.Session, last, b.After), nil
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, key int64, p prepared) (terret.Result, error) {
	r := terret.Result{LastSeq: p.batch.After, Entries: make([]terret.Entry, 0, len(p.rows))}
	insert := tx.StmtContext(ctx, s.stmts.insert)
	for _, row := range p.rows {
		body, blob, err := s.spill(ctx, tx, row.Body)
		if err != nil {
			return r, err
		}
		raw, rawBlob, err := s.spill(ctx, tx, row.Raw)
		if err != nil {
			return r, err
		}
		r.LastSeq++
		res, err := insert.ExecContext(ctx, key, r.LastSeq, row.Time.UnixMicro(), string(row.Kind), body, blob, raw, rawBlob)
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
func (s *Store) spill(ctx context.Context, tx *sql.Tx, body []byte) (inline, hash any, err error) {
	switch {
	case len(body) == 0:
		return nil, nil, nil
	case len(body) <= inlineLimit:
		return body, nil, nil
	}
	sum := sha256.Sum256(body)
	_, err = tx.StmtContext(ctx, s.stmts.insertBlob).ExecContext(ctx, sum[:], body)
	return nil, sum[:], err
}

// projector brings the tables beside the log up to date. After the first error it
// does nothing more.
type projector struct {
	ctx context.Context
	tx  *sql.Tx
	key int64 // of the session
	err error
}

func (w *projector) exec(query string, args ...any) (changed int64) {
	if w.err != nil {
		return 0
	}
	res, err := w.tx.ExecContext(w.ctx, query, args...)
	if err != nil {
		w.err = err
		return 0
	}
	changed, w.err = res.RowsAffected()
	return changed
}

func (w *projector) project(p prepared) {
	for _, t := range p.proj.Started {
		w.exec(`UPDATE turns SET undone = 2 WHERE session = ? AND undone = 1`, w.key)
		w.exec(`INSERT INTO turns (id, session, state, origin, start_seq, started_at) VALUES (?, ?, ?, ?, ?, ?)`,
			t.ID, w.key, string(terret.TurnRunning), string(t.Origin), t.Seq, t.At.UnixMicro())
	}
	for _, o := range p.proj.Opened {
		var expires any
		if o.ExpiresAt != nil {
			expires = o.ExpiresAt.UnixMicro()
		}
		w.exec(`INSERT INTO requests (id, session, turn, seq, epoch, gate, state, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?)`,
			o.RequestID, w.key, o.Turn, o.Seq, p.batch.Epoch, string(o.Gate), o.At.UnixMicro(), expires)
	}
	for _, d := range p.proj.Decided {
		w.decide(d)
	}
	for _, t := range p.proj.Ended {
		w.endTurn(t)
	}
	for _, c := range p.proj.Snapshot {
		w.snapshot(c)
	}
	for _, c := range p.proj.Rewound {
		w.rewound(c)
	}
	if len(p.proj.Started)+len(p.proj.Snapshot)+len(p.proj.Rewound) > 0 {
		w.revert()
	}
	w.session(p.proj.Session)
	for _, id := range p.batch.Taken {
		w.exec(`UPDATE inbox SET state = 'taken' WHERE id = ? AND session = ?`, id, w.key)
	}
	for _, id := range p.batch.Delivered {
		w.exec(`UPDATE requests SET delivered = 1 WHERE id = ? AND session = ? AND state = 'decided'`, id, w.key)
	}
	for id, n := range p.batch.Hits {
		w.exec(`UPDATE rules SET hits = hits + ? WHERE id = ?`, n, id)
	}
}

// decide writes the one decision of a request. If another process has answered it
// already, only that answer is taken.
func (w *projector) decide(d terret.Decision) {
	if w.err != nil {
		return
	}
	var state string
	var have sql.NullString
	err := w.tx.QueryRowContext(w.ctx, `SELECT state, decision FROM requests WHERE id = ? AND session = ?`, d.RequestID, w.key).Scan(&state, &have)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		w.err = terret.Errorf(terret.KindNotFound, "there is no request %s in this session", d.RequestID)
		return
	case err != nil:
		w.err = err
		return
	case state != "open" && (state != "answered" || !sameDecision(have.String, d)):
		w.err = alreadyDecided(d.RequestID, have.String)
		return
	}
	text, err := json.Marshal(d)
	if err != nil {
		w.err = err
		return
	}
	w.exec(`UPDATE requests SET state = 'decided', decision = ? WHERE id = ?`, string(text), d.RequestID)
}

func sameDecision(stored string, d terret.Decision) bool {
	var have, want terret.Decision
	text, err := json.Marshal(d)
	return err == nil && json.Unmarshal(text, &want) == nil &&
		json.Unmarshal([]byte(stored), &have) == nil && reflect.DeepEqual(have, want)
}

func alreadyDecided(id, stored string) error {
	var d terret.Decision
	if json.Unmarshal([]byte(stored), &d) != nil || d.Behavior == "" {
		return terret.Errorf(terret.KindAlreadyDecided, "request %s is already decided", id)
	}
	who := d.By
	if who == "" {
		who = string(d.Source)
	}
	return terret.Errorf(terret.KindAlreadyDecided, "request %s is already decided: %s, by %s", id, d.Behavior, who)
}

func (w *projector) endTurn(t store.TurnEnded) {
	n := w.exec(`UPDATE turns SET state = ?, end_seq = ?, ended_at = ?, input = ?, output = ?, cache_read = ?, cache_write = ?, reasoning = ?, cost = ?
		WHERE id = ? AND session = ? AND state = 'running'`,
		string(t.State), t.Seq, t.At.UnixMicro(), t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost),
		t.ID, w.key)
	if n == 0 && w.err == nil {
		w.err = terret.Errorf(terret.KindConflict, "turn %q is not running, so it cannot end", t.ID)
	}
	w.exec(`UPDATE sessions SET input = input + ?, output = output + ?, cache_read = cache_read + ?, cache_write = cache_write + ?, reasoning = reasoning + ?, cost = cost + ? WHERE key = ?`,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost), w.key)
	w.exec(`INSERT INTO usage_days (day, agent, model, cwd, turns, input, output, cache_read, cache_write, reasoning, cost)
		SELECT ?, agent, coalesce(?, model), cwd, 1, ?, ?, ?, ?, ?, ? FROM sessions WHERE key = ?
		ON CONFLICT DO UPDATE SET turns = turns + 1, input = input + excluded.input, output = output + excluded.output,
			cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
			reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost`,
		t.At.UTC().Format("2006-01-02"), t.Model, t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost), w.key)
}

func (w *projector) snapshot(c terret.CheckpointCreated) {
	w.exec(`UPDATE sessions SET checkpoint_id = ? WHERE key = ?`, c.CheckpointID, w.key)
	column := "before"
	if c.Phase == "after" {
		column = "after"
	}
	w.exec(`UPDATE turns SET `+column+` = ?, changed = max(changed, ?) WHERE id = ? AND session = ?`, c.Snapshot, c.Changed, c.OfTurn, w.key)
}

func (w *projector) rewound(c store.Rewound) {
	undone := 0
	switch {
	case c.Direction == "undo" && c.Final:
		undone = 2
	case c.Direction == "undo":
		undone = 1
	}
	w.exec(`UPDATE sessions SET checkpoint_id = ? WHERE key = ?`, c.CheckpointID, w.key)
	for _, id := range c.Turns {
		w.exec(`UPDATE turns SET undone = ? WHERE id = ? AND session = ?`, undone, id, w.key)
	}
}

func (w *projector) revert() {
	w.exec(`UPDATE sessions SET
		can_undo = EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND changed = 1 AND undone = 0),
		can_redo = EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND changed = 1 AND undone = 1)
		WHERE key = ?1`, w.key)
}

func (w *projector) session(c store.SessionChange) {
	if c == (store.SessionChange{}) {
		return
	}
	w.exec(`UPDATE sessions SET native_id = coalesce(?, native_id), title = coalesce(?, title), model = coalesce(?, model),
		policy = coalesce(?, policy), permission_mode = coalesce(?, permission_mode), mode = coalesce(?, mode),
		persona = coalesce(?, persona), state = coalesce(?, state), turn = coalesce(?, turn) WHERE key = ?`,
		c.NativeID, c.Title, c.Model, c.Policy, c.PermissionMode, c.Mode, c.Persona, c.State, c.Turn, w.key)
}
