package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/terret-dev/terret"
)

// requestQuery reads requests with their data, which is in the event that made
// them.
const requestQuery = `SELECT r.id, s.id, r.turn, r.seq, r.gate, r.state, r.created_at, r.expires_at, coalesce(r.decision, ''), r.delivered,
		coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob))
	FROM requests r
	JOIN sessions s ON s.key = r.session
	JOIN events e ON e.session = r.session AND e.seq = r.seq
	WHERE s.deleted = 0 AND `

// Request implements terret.Requests.
func (s *Store) Request(ctx context.Context, id string) (terret.Request, error) {
	found, err := s.requests(ctx, `r.id = ?`, id)
	if err != nil {
		return terret.Request{}, err
	}
	if len(found) == 0 {
		return terret.Request{}, terret.Errorf(terret.CodeNotFound, "there is no request %q", id)
	}
	return found[0], nil
}

// ListRequests implements terret.Requests.
func (s *Store) ListRequests(ctx context.Context, f terret.RequestFilter) (terret.Page[terret.Request], error) {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	w := where{}
	w.add(`r.id > ?`, f.Cursor) // ids are in the order of time
	w.addIf(f.Session != "", `s.id = ?`, f.Session)
	w.addIf(f.State == terret.RequestOpen, `r.state = 'open'`)
	w.addIf(f.State == terret.RequestDecided, `r.state <> 'open'`)
	items, err := s.requests(ctx, w.String()+` ORDER BY r.id LIMIT ?`, append(w.args, limit+1)...)
	page := terret.Page[terret.Request]{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = items[limit-1].RequestID
	}
	return page, err
}

// Answered implements terret.Requests.
func (s *Store) Answered(ctx context.Context) ([]terret.Request, error) {
	return s.requests(ctx, `r.state = 'answered' AND s.owner = ? ORDER BY r.id`, s.worker.id)
}

func (s *Store) requests(ctx context.Context, where string, args ...any) ([]terret.Request, error) {
	rows, err := s.query(ctx, requestQuery+where, args...)
	if err != nil {
		return nil, describe("read requests", s.path, err)
	}
	defer rows.Close()
	out := []terret.Request{}
	for rows.Next() {
		r, err := scanRequest(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, describe("read requests", s.path, rows.Err())
}

func scanRequest(rows *sql.Rows) (terret.Request, error) {
	var r terret.Request
	var created int64
	var expires sql.NullInt64
	var decision string
	var body sql.RawBytes
	if err := rows.Scan(&r.RequestID, &r.Session, &r.Turn, &r.Seq, &r.Gate, &r.State, &created, &expires, &decision, &r.Delivered, &body); err != nil {
		return r, err
	}
	r.CreatedAt = micros(created)
	if expires.Valid {
		at := micros(expires.Int64)
		r.ExpiresAt = &at
	}
	if r.State != terret.RequestOpen {
		r.State = terret.RequestDecided
		r.Decision = new(terret.Decision)
		if err := json.Unmarshal([]byte(decision), r.Decision); err != nil {
			return r, terret.Errorf(terret.CodeInternal, "request %s: its decision: %w", r.RequestID, err)
		}
	}
	var event struct{ Data terret.JSON }
	if err := json.Unmarshal(body, &event); err != nil {
		return r, terret.Errorf(terret.CodeInternal, "request %s: its event: %w", r.RequestID, err)
	}
	r.Data = event.Data
	return r, nil
}

// Answer implements terret.Requests.
func (s *Store) Answer(ctx context.Context, d terret.Decision) error {
	text, err := json.Marshal(d)
	if err != nil {
		return terret.Invalid("decision", "%w", err)
	}
	return s.ask(ctx, "answer request", func(ctx context.Context, tx *txn) error {
		var state, have string
		var expires sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT r.state, coalesce(r.decision, ''), r.expires_at FROM requests r
			JOIN sessions s ON s.key = r.session WHERE r.id = ? AND s.deleted = 0`, d.RequestID).Scan(&state, &have, &expires)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return terret.Errorf(terret.CodeNotFound, "there is no request %q", d.RequestID)
		case err != nil:
			return err
		case state != "open":
			return alreadyDecided(d.RequestID, have)
		case expires.Valid && expires.Int64 <= terret.Now().UnixMicro():
			return terret.Errorf(terret.CodeAlreadyDecided, "the time to answer request %s is over", d.RequestID)
		}
		_, err = tx.ExecContext(ctx, `UPDATE requests SET state = 'answered', decision = ? WHERE id = ?`, string(text), d.RequestID)
		return err
	})
}
