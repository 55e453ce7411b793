package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// inlineLimit is the size beyond which a body goes into the table of blobs.
const inlineLimit = 64 << 10

// prepared is a batch that is ready to write.
type prepared struct {
	store.Prepared

	bodies []placed   // of the rows; nil if none of them is large
	row    sessionRow // once it is locked
}

// placed says where a row has its body and its raw message: in itself, or by the hash of
// the blob that will hold it.
type placed struct{ body, blob, raw, rawBlob []byte }

// prepare does what takes long with large bodies before anything is locked.
func prepare(p store.Prepared) prepared {
	out := prepared{Prepared: p}
	if !slices.ContainsFunc(p.Rows, func(r store.Row) bool { return max(len(r.Body), len(r.Raw)) > inlineLimit }) {
		return out
	}
	for _, row := range p.Rows {
		out.bodies = append(out.bodies, place(row))
	}
	return out
}

// placed says where the row with that index has its body.
func (p *prepared) placed(i int) placed {
	if p.bodies == nil {
		return place(p.Rows[i])
	}
	return p.bodies[i]
}

func place(row store.Row) (p placed) {
	p.body, p.blob = spill(row.Body)
	p.raw, p.rawBlob = spill(row.Raw)
	return p
}

// A commit with bodies of more than largeCommit bytes in all may be idle for longer in its
// transaction: while they are packed up, the server would soon take this process for one
// that is stopped.
const (
	largeCommit = 1 << 20
	largeIdle   = `SET LOCAL idle_in_transaction_session_timeout = '15s'`
)

// large reports whether that is such a commit.
func large(all []prepared) bool {
	n := 0
	for _, p := range all {
		for _, row := range p.Rows {
			n += len(row.Body) + len(row.Raw)
		}
	}
	return n > largeCommit
}

// sessionRow is what is known of a session while its row is locked.
type sessionRow struct {
	key, epoch, last  int64
	agent, model, cwd string
	canRedo           bool
}

// Commit implements terret.Log. It takes two round trips: the first locks the rows of the
// sessions and of the requests to decide, so that it is known which batches are refused;
// the second writes everything and commits.
func (s *Store) Commit(ctx context.Context, batches []terret.Batch) ([]terret.Result, error) {
	results := make([]terret.Result, len(batches))
	encoded, err := store.Group(batches, results)
	if err != nil {
		return nil, err
	}
	if len(encoded) == 0 {
		return results, nil
	}
	all := make([]prepared, len(encoded))
	for i, p := range encoded {
		all[i] = prepare(p)
	}
	for tries := 1; ; tries++ {
		group, err := s.commit(ctx, all, results)
		if isCode(err, "55P03") && tries < 5 {
			continue // lock_timeout: the others are slow, but they are not stopped
		}
		if _, unknown := asType[*commitError](err); !unknown {
			return results, err
		}
		wrote, lost := s.settle(ctx, group, results)
		switch {
		case lost != nil:
			return nil, errors.Join(err, lost)
		case wrote:
			return results, nil
		case !unreachable(err) || tries == 5:
			return nil, err
		}
	}
}

// commit writes the batches, once. It returns those that were not refused.
func (s *Store) commit(ctx context.Context, all []prepared, results []terret.Result) (group []prepared, err error) {
	err = s.writing(ctx, "commit", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		w := &writer{store: s, conn: c.Conn(), results: results}
		if group, err = w.lock(ctx, all); err != nil {
			return err
		}
		if len(group) == 0 {
			return abandon(ctx, c.Conn())
		}
		return w.write(ctx, group)
	})
	return group, err
}

// writer writes a group of batches in a transaction.
type writer struct {
	store   *Store
	conn    *pgx.Conn
	results []terret.Result
}

// write writes the batches that were not refused, and commits. Rows that several
// processes change (of usage and rules) come last and sorted, so that nobody waits for
// each other.
func (w *writer) write(ctx context.Context, group []prepared) error {
	last := &pgx.Batch{}
	w.sessions(last, group)
	shared := newShared()
	for _, p := range group {
		j := projector{batch: last, key: p.row.key, shared: shared}
		j.project(p)
	}
	version := w.append(last, group, shared)
	if err := w.store.finish(ctx, w.conn, last); err != nil {
		return err
	}
	w.store.news.mine(*version)
	return nil
}

// sessions queues the new numbers of the sessions.
func (w *writer) sessions(last *pgx.Batch, group []prepared) {
	n := len(group)
	keys, numbers, touched, cursors := make([]int64, n), make([]int64, n), make([]int64, n), make([][]byte, n)
	for i, p := range group {
		keys[i], numbers[i], cursors[i] = p.row.key, p.Batch.After+int64(len(p.Rows)), p.Batch.Cursor
		if p.Projection.Touched {
			touched[i] = p.Rows[len(p.Rows)-1].Time.UnixMicro()
		}
	}
	if !slices.ContainsFunc(cursors, func(c []byte) bool { return c != nil }) {
		last.Queue(`UPDATE sessions s SET last_seq = u.last_seq, updated_at = greatest(s.updated_at, u.touched)
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (key, last_seq, touched) WHERE s.key = u.key`, keys, numbers, touched)
		return
	}
	last.Queue(`UPDATE sessions s SET last_seq = u.last_seq, updated_at = greatest(s.updated_at, u.touched), cursor = coalesce(u.cursor, s.cursor)
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS u (key, last_seq, touched, cursor) WHERE s.key = u.key`,
		keys, numbers, touched, cursors)
}

// sqlAppend gives the events their positions, writes them, and tells the others. The
// server has received all of it before it takes the lock that everybody waits for.
const (
	sqlAppend = `WITH next AS (` + sqlNext + `, last_pos = last_pos + $4 RETURNING version, last_pos),
	written AS (INSERT INTO events (pos, session, seq, at, kind, body)
		SELECT next.last_pos - $4 + e.n, e.session, e.seq, e.at, e.kind, e.body
		FROM next, unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bytea[])
			WITH ORDINALITY AS e (session, seq, at, kind, body, n))` + sqlTell
	// sqlAppendLarge is for groups with large events, or with the agents' own messages.
	sqlAppendLarge = `WITH next AS (` + sqlNext + `, last_pos = last_pos + $4 RETURNING version, last_pos),
	written AS (INSERT INTO events (pos, session, seq, at, kind, body, blob, raw, raw_blob)
		SELECT next.last_pos - $4 + e.n, e.session, e.seq, e.at, e.kind, e.body, e.blob, e.raw, e.raw_blob
		FROM next, unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[])
			WITH ORDINALITY AS e (session, seq, at, kind, body, blob, raw, raw_blob, n))` + sqlTell
	sqlTell = `
	SELECT version, last_pos, pg_notify($2, $3 || ' ' || version)::text FROM next`
)

// columns are the events of a group as sqlAppend takes them.
type columns struct {
	session, seq, at         []int64
	kind                     []string
	body, blob, raw, rawBlob [][]byte
	spilled                  map[string][]byte // large bodies by their hashes
	large                    bool              // the last three columns hold something
}

func (c *columns) add(key, seq int64, row store.Row, p placed) {
	c.session, c.seq, c.at, c.kind = append(c.session, key), append(c.seq, seq), append(c.at, row.Time.UnixMicro()), append(c.kind, clean(string(row.Kind)))
	c.body, c.blob, c.raw, c.rawBlob = append(c.body, p.body), append(c.blob, p.blob), append(c.raw, p.raw), append(c.rawBlob, p.rawBlob)
	if p.blob != nil {
		c.spilled[string(p.blob)] = row.Body
	}
	if p.rawBlob != nil {
		c.spilled[string(p.rawBlob)] = row.Raw
	}
	c.large = c.large || p.blob != nil || len(row.Raw) > 0
}

// queue queues the statement that appends the events.
func (c *columns) queue(last *pgx.Batch, s *Store) *pgx.QueuedQuery {
	args := []any{s.known, s.channel(), s.worker.name(), int64(len(c.seq)), c.session, c.seq, c.at, c.kind, c.body}
	if c.large {
		return last.Queue(sqlAppendLarge, append(args, c.blob, c.raw, c.rawBlob)...)
	}
	return last.Queue(sqlAppend, args...)
}

// append queues the events and what ends the transaction, and fills in the results. The
// version is known when the batch has been sent.
func (w *writer) append(last *pgx.Batch, group []prepared, shared *shared) *int64 {
	events := columns{spilled: map[string][]byte{}}
	for _, p := range group {
		r := terret.Result{LastSeq: p.Batch.After, Entries: make([]terret.Entry, 0, len(p.Rows))}
		for i, row := range p.Rows {
			r.LastSeq++
			events.add(p.row.key, r.LastSeq, row, p.placed(i))
			r.Entries = append(r.Entries, terret.Entry{Session: p.Batch.Session, Seq: r.LastSeq, Kind: row.Kind, Body: row.Body, Raw: row.Raw})
		}
		w.results[p.Index] = r
	}
	queueBlobs(last, events.spilled)
	shared.queue(last)
	version := new(int64)
	events.queue(last, w.store).QueryRow(func(row pgx.Row) error {
		var pos int64
		if err := row.Scan(version, &pos, nil); err != nil {
			return err
		}
		pos -= int64(len(events.seq))
		for _, p := range group {
			for i := range w.results[p.Index].Entries {
				pos++
				w.results[p.Index].Entries[i].Pos = pos
			}
		}
		return nil
	})
	return version
}

// spill returns what to put into the two columns of a body: the body itself, or the hash
// of the blob that will hold it.
func spill(body []byte) (inline, hash []byte) {
	switch {
	case len(body) == 0:
		return nil, nil
	case len(body) <= inlineLimit:
		return body, nil
	}
	sum := sha256.Sum256(body)
	return nil, sum[:]
}

// queueBlobs queues the large bodies, sorted. The shared lock keeps sweep from removing
// one that is there already, and to which the events will refer only after the commit.
func queueBlobs(last *pgx.Batch, spilled map[string][]byte) {
	if len(spilled) == 0 {
		return
	}
	last.Queue(`SELECT pg_advisory_xact_lock_shared(` + sqlBlobLock + `)`)
	hashes := make([][]byte, 0, len(spilled))
	for hash := range spilled {
		hashes = append(hashes, []byte(hash))
	}
	slices.SortFunc(hashes, bytes.Compare)
	for _, hash := range hashes {
		last.Queue(`INSERT INTO blobs (hash, body) VALUES ($1, $2) ON CONFLICT DO NOTHING`, hash, spilled[string(hash)])
	}
}

const sqlBlobLock = `hashtextextended('terret blobs ' || current_schema(), 0)`

// settle finds out whether a commit of unknown outcome took place. Any batch will do,
// since the transaction holds all of them or none.
func (s *Store) settle(ctx context.Context, group []prepared, results []terret.Result) (wrote bool, err error) {
	ctx = context.WithoutCancel(ctx)
	p := group[0]
	for _, q := range group {
		if len(q.Rows) > 0 {
			p = q
			break
		}
	}
	err = s.read(ctx, "find out about a commit", func(c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) (err error) {
			wrote, err = trace(ctx, tx, p)
			return err
		})
	})
	if err != nil || !wrote {
		return false, err
	}
	s.news.others() // its version is not known
	return true, s.positions(ctx, group, results)
}

// trace looks for the effect of a batch. It first takes the lock that the transaction has
// held all along, and so waits until that has ended.
func trace(ctx context.Context, tx pgx.Tx, p prepared) (wrote bool, err error) {
	b := p.Batch
	var key, epoch int64
	var cursor []byte
	err = tx.QueryRow(ctx, `SELECT key, epoch, cursor FROM sessions WHERE id = $1 FOR UPDATE`, b.Session).Scan(&key, &epoch, &cursor)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && key != p.row.key {
		return false, nil // it is gone
	}
	if err != nil {
		return false, err
	}
	one := func(query string, args ...any) (bool, error) {
		err := tx.QueryRow(ctx, query, args...).Scan(&wrote)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return wrote, err
	}
	switch {
	case len(p.Rows) > 0: // the next owner's event would differ, at least in its time
		row, at := p.Rows[0], p.placed(0)
		return one(`SELECT at = $3 AND kind = $4 AND body IS NOT DISTINCT FROM $5 AND blob IS NOT DISTINCT FROM $6
			FROM events WHERE session = $1 AND seq = $2`, key, b.After+1, row.Time.UnixMicro(), clean(string(row.Kind)), at.body, at.blob)
	case len(b.Taken) > 0:
		return one(`SELECT state = 'taken' FROM inbox WHERE id = $1`, b.Taken[0])
	case len(b.Delivered) > 0:
		return one(`SELECT delivered FROM requests WHERE id = $1`, b.Delivered[0])
	}
	return epoch == b.Epoch && b.Cursor != nil && bytes.Equal(cursor, b.Cursor), nil
}

// positions fills in the positions of a commit whose answer was lost.
func (s *Store) positions(ctx context.Context, group []prepared, results []terret.Result) error {
	return s.read(ctx, "read what was committed", func(c *pgx.Conn) error {
		for _, p := range group {
			entries := results[p.Index].Entries
			if len(entries) == 0 {
				continue
			}
			var first int64
			if err := c.QueryRow(ctx, `SELECT pos FROM events WHERE session = $1 AND seq = $2`, p.row.key, entries[0].Seq).Scan(&first); err != nil {
				return err
			}
			for i := range entries {
				entries[i].Pos = first + int64(i)
			}
		}
		return nil
	})
}

// clean makes text that PostgreSQL can hold: UTF-8 without zero bytes.
func clean(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
