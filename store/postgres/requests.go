package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// requestQuery reads requests with their data, which is in their events.
const requestQuery = `SELECT r.id, s.id, r.turn, r.seq, r.gate, r.state, r.created_at, r.expires_at, coalesce(r.decision, ''), r.delivered,
		coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob))
	FROM requests r
	JOIN sessions s ON s.key = r.session
	JOIN events e ON e.session = r.session AND e.seq = r.seq
	WHERE NOT s.deleted AND `

// sqlOpen finds waiting requests through the index requests_waiting, whose condition it
// repeats.
const sqlOpen = `r.state = 'open' AND r.state <> 'decided'`

// Request implements terret.Requests.
func (s *Store) Request(ctx context.Context, id string) (terret.Request, error) {
	found, err := s.requests(ctx, `r.id = $1`, clean(id))
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
	w.add(`r.id > ?`, clean(f.Cursor)) // ids are in time order
	w.addIf(f.Session != "", `s.id = ?`, clean(f.Session))
	w.addIf(f.State == terret.RequestOpen, sqlOpen)
	w.addIf(f.State == terret.RequestDecided, `r.state <> 'open'`)
	items, err := s.requests(ctx, w.String()+` ORDER BY r.id LIMIT `+strconv.Itoa(limit+1), w.args...)
	page := terret.Page[terret.Request]{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = items[limit-1].RequestID
	}
	return page, err
}

// Answered implements terret.Requests.
func (s *Store) Answered(ctx context.Context) ([]terret.Request, error) {
	return s.requests(ctx, `r.state = 'answered' AND r.state <> 'decided' AND s.owner = $1 ORDER BY r.id`, s.worker.name())
}

func (s *Store) requests(ctx context.Context, where string, args ...any) (out []terret.Request, err error) {
	err = s.read(ctx, "read requests", func(c *pgx.Conn) error {
		out = []terret.Request{}
		rows, err := c.Query(ctx, requestQuery+where, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanRequest(rows)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanRequest(rows pgx.Rows) (terret.Request, error) {
	var r terret.Request
	var gate, state, decision string
	var created int64
	var expires *int64
	var body []byte
	err := rows.Scan(&r.RequestID, &r.Session, &r.Turn, &r.Seq, &gate, &state, &created, &expires, &decision, &r.Delivered, &body)
	if err != nil {
		return r, err
	}
	r.Gate, r.State, r.CreatedAt, r.ExpiresAt = terret.Gate(gate), terret.RequestState(state), micros(created), maybeMicros(expires)
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
	return s.ask(ctx, "answer request", func(ctx context.Context, tx pgx.Tx) error {
		var state, have string
		var expired bool
		err := tx.QueryRow(ctx, `SELECT r.state, coalesce(r.decision, ''), coalesce(r.expires <= clock_timestamp(), false) FROM requests r
			JOIN sessions s ON s.key = r.session WHERE r.id = $1 AND NOT s.deleted FOR NO KEY UPDATE OF r`, clean(d.RequestID)).Scan(&state, &have, &expired)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return terret.Errorf(terret.CodeNotFound, "there is no request %q", d.RequestID)
		case err != nil:
			return err
		case state != "open":
			return store.AlreadyDecided(d.RequestID, have)
		case expired:
			return terret.Errorf(terret.CodeAlreadyDecided, "request %s has expired", d.RequestID)
		}
		_, err = tx.Exec(ctx, `UPDATE requests SET state = 'answered', decision = $2 WHERE id = $1`, d.RequestID, string(text))
		return err
	})
}
