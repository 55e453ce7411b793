package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

// turnQuery reads turns. Prompts and errors are in the events that begin and end them.
const turnQuery = `SELECT t.id, t.state, t.origin, t.started_at, t.ended_at,
		t.input, t.output, t.cache_read, t.cache_write, t.reasoning, t.cost, t.before, t.after, t.changed AND t.undone <> 2, t.undone <> 0,
		coalesce(b.body, (SELECT body FROM blobs WHERE hash = b.blob)),
		CASE WHEN t.state = 'completed' THEN NULL ELSE coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob)) END
	FROM turns t
	JOIN events b ON b.session = t.session AND b.seq = t.start_seq
	LEFT JOIN events e ON e.session = t.session AND e.seq = t.end_seq
	WHERE t.session = $1 `

// Turns implements terret.Sessions.
func (s *Store) Turns(ctx context.Context, session string) ([]terret.Turn, error) {
	return s.turns(ctx, session, `ORDER BY t.start_seq`)
}

// Turn implements terret.Sessions.
func (s *Store) Turn(ctx context.Context, session, id string) (terret.Turn, error) {
	found, err := s.turns(ctx, session, `AND t.id = $2`, clean(id))
	if err != nil {
		return terret.Turn{}, err
	}
	if len(found) == 0 {
		return terret.Turn{}, terret.Errorf(terret.CodeNotFound, "session %s has no turn %q", session, id)
	}
	return found[0], nil
}

func (s *Store) turns(ctx context.Context, session, which string, args ...any) (out []terret.Turn, err error) {
	err = s.read(ctx, "read turns", func(c *pgx.Conn) error {
		out = []terret.Turn{}
		key, err := sessionKey(ctx, c, session)
		if err != nil {
			return err
		}
		rows, err := c.Query(ctx, turnQuery+which, append([]any{key}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t, err := scanTurn(rows)
			if err != nil {
				return err
			}
			t.Session = session
			out = append(out, t)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanTurn(r pgx.Rows) (terret.Turn, error) {
	var t terret.Turn
	var state, origin string
	var started, cost int64
	var ended *int64
	var first, last []byte
	err := r.Scan(&t.ID, &state, &origin, &started, &ended, &t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Usage.Reasoning, &cost,
		&t.Before, &t.After, &t.Changed, &t.Undone, &first, &last)
	if err != nil {
		return t, err
	}
	t.State, t.Origin, t.StartedAt, t.EndedAt, t.CostUSD = terret.TurnState(state), terret.Origin(origin), micros(started), maybeMicros(ended), terret.Cost(cost)
	var start struct{ Data terret.TurnStart }
	if err := json.Unmarshal(first, &start); err != nil {
		return t, terret.Errorf(terret.CodeInternal, "turn %s: its first event: %w", t.ID, err)
	}
	t.Prompt, t.MessageID = start.Data.Prompt, start.Data.MessageID
	if len(last) > 0 {
		var end struct{ Data terret.TurnError }
		if err := json.Unmarshal(last, &end); err != nil {
			return t, terret.Errorf(terret.CodeInternal, "turn %s: its last event: %w", t.ID, err)
		}
		t.Error = &end.Data.Error
	}
	return t, nil
}
