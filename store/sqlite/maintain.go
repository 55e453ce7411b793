package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/terret-dev/terret"
)

// chunk is how many rows one transaction of upkeep handles, so that it never
// holds up those who work.
const chunk = 1000

// Delete implements terret.Sessions.
func (s *Store) Delete(ctx context.Context, id string) error {
	var key int64
	err := s.write(ctx, "delete session", func(ctx context.Context, tx *txn) error {
		owner, err := s.ownerOf(ctx, tx, id)
		if err != nil {
			return err
		}
		if owner != "" && owner != s.worker.id && s.worker.alive(owner) {
			return owned(ctx, tx, id, owner)
		}
		if key, err = s.sessionKey(ctx, tx, id); err != nil {
			return err
		}
		// The epoch goes up, so that nobody can append any more.
		_, err = tx.ExecContext(ctx, `UPDATE sessions SET deleted = 1, owner = '', epoch = epoch + 1 WHERE key = ?`, key)
		return err
	})
	if err != nil {
		return err
	}
	return s.purge(ctx, key, id)
}

// purge removes what belongs to a deleted session, a chunk at a time.
func (s *Store) purge(ctx context.Context, key int64, id string) error {
	for done := false; !done; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.write(ctx, "delete session", func(ctx context.Context, tx *txn) error {
			res, err := tx.ExecContext(ctx, `DELETE FROM events WHERE pos IN (SELECT pos FROM events WHERE session = ? LIMIT ?)`, key, chunk)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil || n > 0 {
				return err
			}
			done = true
			for _, q := range []string{
				`DELETE FROM turns WHERE session = ?1`,
				`DELETE FROM requests WHERE session = ?1`,
				`DELETE FROM inbox WHERE session = ?1`,
				`DELETE FROM rules WHERE session = ?2`,
				`DELETE FROM sessions WHERE key = ?1`,
			} {
				if _, err := tx.ExecContext(ctx, q, key, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Compact implements terret.Maintainer. It goes through the log once: where it
// stopped is kept, so that the next call goes on from there.
func (s *Store) Compact(ctx context.Context, before time.Time) (int64, error) {
	if err := s.sweep(ctx); err != nil {
		return 0, err
	}
	var dropped int64
	for {
		n, more, err := s.compactChunk(ctx, before)
		dropped += n
		if err != nil || !more {
			return dropped, err
		}
	}
}

// sweep finishes interrupted deletions and removes blobs that no event uses, and
// items of the inbox that were dealt with a day ago.
func (s *Store) sweep(ctx context.Context) error {
	rows, err := s.readers.QueryContext(ctx, `SELECT key, id FROM sessions WHERE deleted = 1`)
	if err != nil {
		return describe("sweep", s.path, err)
	}
	gone := map[int64]string{}
	for rows.Next() {
		var key int64
		var id string
		if err := rows.Scan(&key, &id); err != nil {
			return errors.Join(err, rows.Close())
		}
		gone[key] = id
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return describe("sweep", s.path, err)
	}
	for key, id := range gone {
		if err := s.purge(ctx, key, id); err != nil {
			return err
		}
	}
	return s.write(ctx, "sweep", func(ctx context.Context, tx *txn) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM inbox WHERE state <> 'pending' AND at < ?`,
			time.Now().Add(-24*time.Hour).UnixMicro()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM blobs WHERE hash IN (SELECT hash FROM blobs b
			WHERE NOT EXISTS (SELECT 1 FROM events WHERE blob = b.hash) AND NOT EXISTS (SELECT 1 FROM events WHERE raw_blob = b.hash) LIMIT ?)`, chunk)
		return err
	})
}

// piece is a delta that might be dropped.
type piece struct {
	pos, seq int64
	part     part
}

// part is what pieces are pieces of: the text or the thoughts of a message, or the
// input of a tool call.
type part struct {
	session  int64
	turn, id string
	what     terret.BlockType
}

func (s *Store) compactChunk(ctx context.Context, before time.Time) (dropped int64, more bool, err error) {
	var from int64
	err = s.readers.QueryRowContext(ctx, `SELECT value FROM upkeep WHERE name = 'compacted'`).Scan(&from)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, describe("compact", s.path, err)
	}
	pieces, to, err := s.oldPieces(ctx, from, before)
	if err != nil || to == from {
		return 0, false, describe("compact", s.path, err)
	}
	drop, err := s.completed(ctx, pieces)
	if err != nil {
		return 0, false, describe("compact", s.path, err)
	}
	err = s.write(ctx, "compact", func(ctx context.Context, tx *txn) error {
		for _, p := range drop {
			if _, err := tx.ExecContext(ctx, `DELETE FROM events WHERE pos = ?`, p.pos); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO upkeep (name, value) VALUES ('compacted', ?) ON CONFLICT DO UPDATE SET value = excluded.value`, to)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return int64(len(drop)), true, nil
}

// oldPieces reads the next rows of the log and returns the deltas among them, and
// how far it got. It stops at what is too young, and at sessions in which a turn
// runs.
func (s *Store) oldPieces(ctx context.Context, from int64, before time.Time) (pieces []piece, to int64, err error) {
	rows, err := s.readers.QueryContext(ctx, `SELECT e.pos, e.session, e.seq, e.at, e.kind, e.body, coalesce(s.turn, '') <> ''
		FROM events e LEFT JOIN sessions s ON s.key = e.session WHERE e.pos > ? ORDER BY e.pos LIMIT ?`, from, chunk)
	if err != nil {
		return nil, from, err
	}
	defer rows.Close()
	to = from
	for rows.Next() {
		var p piece
		var at int64
		var kind string
		var body sql.RawBytes
		var running bool
		var session int64
		if err := rows.Scan(&p.pos, &session, &p.seq, &at, &kind, &body, &running); err != nil {
			return nil, from, err
		}
		delta := terret.Kind(kind).Delta()
		if at >= before.UnixMicro() || delta && running {
			break
		}
		to = p.pos
		if !delta || len(body) == 0 { // a large one is in a blob: leave it
			continue
		}
		for _, p.part = range partsOf(session, terret.Kind(kind), body) {
			pieces = append(pieces, p)
		}
	}
	return pieces, to, rows.Err()
}

// partsOf lists what an event is a piece of, or holds whole. Events that do not
// say to which message they belong have none.
func partsOf(session int64, kind terret.Kind, body []byte) []part {
	var e struct {
		Turn string
		Data struct {
			MessageID string `json:"message_id"`
			ToolID    string `json:"tool_id"`
			Blocks    []struct{ Type terret.BlockType }
		}
	}
	if json.Unmarshal(body, &e) != nil {
		return nil
	}
	p := part{session: session, turn: e.Turn, id: e.Data.MessageID}
	switch kind {
	case terret.KindMessageDelta:
		p.what = terret.BlockText
	case terret.KindReasoningDelta:
		p.what = terret.BlockThinking
	case terret.KindToolDelta, terret.KindToolPre:
		p.id, p.what = e.Data.ToolID, terret.BlockToolUse
	case terret.KindMessageComplete:
		var parts []part
		for _, b := range e.Data.Blocks {
			p.what = b.Type
			parts = append(parts, p)
		}
		return parts
	}
	if p.id == "" || p.what == "" {
		return nil
	}
	return []part{p}
}

// completed returns the pieces whose whole is in the log after them: nothing else
// may be dropped, since the pieces of an interrupted message are all there is of
// it.
func (s *Store) completed(ctx context.Context, pieces []piece) ([]piece, error) {
	first := map[int64]int64{} // session to its first piece
	for _, p := range pieces {
		if _, ok := first[p.part.session]; !ok {
			first[p.part.session] = p.seq
		}
	}
	whole := map[part]int64{} // to the number of the event that holds it
	for session, seq := range first {
		rows, err := s.readers.QueryContext(ctx, `SELECT seq, kind, coalesce(body, (SELECT body FROM blobs WHERE hash = blob)) FROM events
			WHERE session = ? AND seq > ? AND kind IN ('message.complete', 'tool.pre') ORDER BY seq`, session, seq)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var kind string
			var body sql.RawBytes
			if err := rows.Scan(&seq, &kind, &body); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			for _, p := range partsOf(session, terret.Kind(kind), body) {
				whole[p] = seq
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	drop := pieces[:0]
	for _, p := range pieces {
		if whole[p.part] > p.seq {
			drop = append(drop, p)
		}
	}
	return drop, nil
}

// Backup implements terret.Maintainer.
func (s *Store) Backup(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // as private as what it copies
	if errors.Is(err, os.ErrExist) {
		return terret.Errorf(terret.CodeConflict, "%s exists already; a backup never overwrites a file", path)
	}
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "cannot write the backup: %w", err)
	}
	if err := s.backup(ctx, path); err != nil {
		return errors.Join(describe("back up to "+path, s.path, err), f.Close(), os.Remove(path))
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *Store) backup(ctx context.Context, path string) error {
	from := s.db
	if s.path != Memory { // on a connection of its own, so that nobody waits
		var err error
		if from, err = sql.Open("sqlite", dsn(s.path, waitBusy)); err != nil {
			return err
		}
		defer from.Close()
	}
	_, err := from.ExecContext(ctx, `VACUUM INTO ?`, path)
	return err
}

// Check implements terret.Maintainer.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	found, err := s.strings(ctx, `SELECT integrity_check FROM pragma_integrity_check`)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 && found[0] == "ok" {
		found = nil
	}
	for _, q := range []struct{ finding, query string }{
		{"session %s: it counts %s events, its log ends elsewhere", `SELECT s.id, s.last_seq FROM sessions s
			WHERE deleted = 0 AND last_seq < (SELECT max(seq) FROM events WHERE session = s.key)`},
		{"session %s: event %s is lost, with what it held", `SELECT s.id, e.seq FROM events e JOIN sessions s ON s.key = e.session
			WHERE e.body IS NULL AND NOT EXISTS (SELECT 1 FROM blobs WHERE hash = e.blob)`},
		{"request %s is %s without a decision", `SELECT id, state FROM requests WHERE state <> 'open' AND decision IS NULL`},
	} {
		rows, err := s.readers.QueryContext(ctx, q.query)
		if err != nil {
			return nil, describe("check", s.path, err)
		}
		for rows.Next() {
			var a, b string
			if err := rows.Scan(&a, &b); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			found = append(found, fmt.Sprintf(q.finding, a, b))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, describe("check", s.path, err)
		}
	}
	return found, nil
}
