package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/terret-dev/terret"
)

// Turns implements terret.Sessions. Prompts and errors are read from the events
// that hold them.
func (s *Store) Turns(ctx context.Context, session string) ([]terret.Turn, error) {
	key, err := s.sessionKey(ctx, reading{s}, session)
	if err != nil {
		return nil, err
	}
	rows, err := s.query(ctx, `SELECT t.id, t.state, t.origin, t.started_at, t.ended_at,
			t.input, t.output, t.cache_read, t.cache_write, t.reasoning, t.cost, t.before, t.after, t.changed AND t.undone <> 2, t.undone <> 0,
			coalesce(b.body, (SELECT body FROM blobs WHERE hash = b.blob)),
			CASE WHEN t.state = 'completed' THEN NULL ELSE coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob)) END
		FROM turns t
		JOIN events b ON b.session = t.session AND b.seq = t.start_seq
		LEFT JOIN events e ON e.session = t.session AND e.seq = t.end_seq
		WHERE t.session = ? ORDER BY t.start_seq`, key)
	if err != nil {
		return nil, describe("read turns", s.path, err)
	}
	defer rows.Close()
	out := []terret.Turn{}
	for rows.Next() {
		t, err := scanTurn(rows)
		if err != nil {
			return nil, err
		}
		t.Session = session
		out = append(out, t)
	}
	return out, describe("read turns", s.path, rows.Err())
}

func scanTurn(rows *sql.Rows) (terret.Turn, error) {
	var t terret.Turn
	var started, cost int64
	var ended sql.NullInt64
	var start, end sql.RawBytes
	err := rows.Scan(&t.ID, &t.State, &t.Origin, &started, &ended,
		&t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Usage.Reasoning, &cost,
		&t.Before, &t.After, &t.Changed, &t.Undone, &start, &end)
	if err != nil {
		return t, err
	}
	t.StartedAt, t.CostUSD = micros(started), terret.Cost(cost)
	if ended.Valid {
		at := micros(ended.Int64)
		t.EndedAt = &at
	}
	var first struct{ Data terret.TurnStart }
	if err := json.Unmarshal(start, &first); err != nil {
		return t, terret.Errorf(terret.CodeInternal, "turn %s: its first event: %w", t.ID, err)
	}
	t.Prompt, t.MessageID = first.Data.Prompt, first.Data.MessageID
	if len(end) > 0 {
		var last struct{ Data terret.TurnError }
		if err := json.Unmarshal(end, &last); err != nil {
			return t, terret.Errorf(terret.CodeInternal, "turn %s: its last event: %w", t.ID, err)
		}
		t.Error = &last.Data.Error
	}
	return t, nil
}
