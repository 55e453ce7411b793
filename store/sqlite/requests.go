package sqlite

import (
	"context"
	"encoding/json"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// requestQuery reads requests with their data, which is in their events.
const requestQuery = `SELECT r.id, s.id, r.turn, r.seq, r.gate, r.state, r.created_at, r.expires_at, coalesce(r.decision, ''), r.delivered,
		coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob))
	FROM requests r
	JOIN sessions s ON s.key = r.session
	JOIN events e ON e.session = r.session AND e.seq = r.seq
	WHERE s.deleted = 0 AND `

// sqlOpen finds waiting requests through the index requests_waiting, whose condition it
// repeats.
const sqlOpen = `r.state = 'open' AND r.state <> 'decided'`

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
	limit := store.PageSize(f.Limit, 100, 1000)
	w := where{}
	w.add(`r.id > ?`, f.Cursor) // ids are in time order
	w.addIf(f.Session != "", `s.id = ?`, f.Session)
	w.addIf(f.State == terret.RequestOpen, sqlOpen)
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
	return s.requests(ctx, `r.state = 'answered' AND r.state <> 'decided' AND s.owner = ? ORDER BY r.id`, s.worker.id)
}

func (s *Store) requests(ctx context.Context, where string, args ...any) ([]terret.Request, error) {
	out := []terret.Request{}
	err := s.read(ctx, "read requests", func(c *lite.Conn) error {
		rows := c.Query(requestQuery+where, args...)
		defer rows.Close() //nolint:errcheck // again, below
		for rows.Next() {
			r, err := scanRequest(rows)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return rows.Close()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanRequest(rows *lite.Rows) (terret.Request, error) {
	r := terret.Request{
		RequestID: rows.Text(0), Session: rows.Text(1), Turn: rows.Text(2), Seq: rows.Int(3), Gate: terret.Gate(rows.Text(4)),
		State: terret.RequestState(rows.Text(5)), CreatedAt: micros(rows.Int(6)), ExpiresAt: maybeTime(rows, 7), Delivered: rows.Bool(9),
	}
	if r.State != terret.RequestOpen {
		r.State = terret.RequestDecided
		r.Decision = new(terret.Decision)
		if err := json.Unmarshal(rows.Bytes(8), r.Decision); err != nil {
			return r, terret.Errorf(terret.CodeInternal, "request %s: its decision: %w", r.RequestID, err)
		}
	}
	var event struct{ Data terret.JSON }
	if err := json.Unmarshal(rows.Bytes(10), &event); err != nil {
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
	return s.ask(ctx, "answer request", func(tx *lite.Conn) error {
		var state, have string
		var expires *terret.Time
		found, err := tx.Row(func(r *lite.Rows) { state, have, expires = r.Text(0), r.Text(1), maybeTime(r, 2) },
			`SELECT r.state, r.decision, r.expires_at FROM requests r
			JOIN sessions s ON s.key = r.session WHERE r.id = ? AND s.deleted = 0`, d.RequestID)
		switch {
		case err != nil:
			return err
		case !found:
			return terret.Errorf(terret.CodeNotFound, "there is no request %q", d.RequestID)
		case state != "open":
			return store.AlreadyDecided(d.RequestID, have)
		case expires != nil && !expires.After(terret.Now().Time):
			return terret.Errorf(terret.CodeAlreadyDecided, "request %s has expired", d.RequestID)
		}
		return tx.Exec(`UPDATE requests SET state = 'answered', decision = ? WHERE id = ?`, string(text), d.RequestID)
	})
}
