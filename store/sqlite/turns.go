package sqlite

import (
	"context"
	"encoding/json"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// turnQuery reads turns. Prompts and errors are in the events that begin and end them.
const turnQuery = `SELECT t.id, t.state, t.origin, t.started_at, t.ended_at,
		t.input, t.output, t.cache_read, t.cache_write, t.reasoning, t.cost, t.before, t.after, t.changed AND t.undone <> 2, t.undone <> 0,
		coalesce(b.body, (SELECT body FROM blobs WHERE hash = b.blob)),
		CASE WHEN t.state = 'completed' THEN NULL ELSE coalesce(e.body, (SELECT body FROM blobs WHERE hash = e.blob)) END
	FROM turns t
	JOIN events b ON b.session = t.session AND b.seq = t.start_seq
	LEFT JOIN events e ON e.session = t.session AND e.seq = t.end_seq
	WHERE t.session = ? `

// Turns implements terret.Sessions.
func (s *Store) Turns(ctx context.Context, session string) ([]terret.Turn, error) {
	return s.turns(ctx, session, `ORDER BY t.start_seq`)
}

// Turn implements terret.Sessions.
func (s *Store) Turn(ctx context.Context, session, id string) (terret.Turn, error) {
	found, err := s.turns(ctx, session, `AND t.id = ?`, id)
	if err != nil {
		return terret.Turn{}, err
	}
	if len(found) == 0 {
		return terret.Turn{}, terret.Errorf(terret.CodeNotFound, "session %s has no turn %q", session, id)
	}
	return found[0], nil
}

func (s *Store) turns(ctx context.Context, session, which string, args ...any) ([]terret.Turn, error) {
	out := []terret.Turn{}
	err := s.read(ctx, "read turns", func(c *lite.Conn) error {
		key, err := sessionKey(c, session)
		if err != nil {
			return err
		}
		rows := c.Query(turnQuery+which, append([]any{key}, args...)...)
		defer rows.Close() //nolint:errcheck // again, below
		for rows.Next() {
			t, err := scanTurn(rows)
			if err != nil {
				return err
			}
			t.Session = session
			out = append(out, t)
		}
		return rows.Close()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanTurn(r *lite.Rows) (terret.Turn, error) {
	t := terret.Turn{
		ID: r.Text(0), State: terret.TurnState(r.Text(1)), Origin: terret.Origin(r.Text(2)), StartedAt: micros(r.Int(3)), EndedAt: maybeTime(r, 4),
		Usage: usageAt(r, 5), CostUSD: terret.Cost(r.Int(10)),
		Before: r.Text(11), After: r.Text(12), Changed: r.Bool(13), Undone: r.Bool(14),
	}
	var first struct{ Data terret.TurnStart }
	if err := json.Unmarshal(r.Bytes(15), &first); err != nil {
		return t, terret.Errorf(terret.CodeInternal, "turn %s: its first event: %w", t.ID, err)
	}
	t.Prompt, t.MessageID = first.Data.Prompt, first.Data.MessageID
	if end := r.Bytes(16); len(end) > 0 {
		var last struct{ Data terret.TurnError }
		if err := json.Unmarshal(end, &last); err != nil {
			return t, terret.Errorf(terret.CodeInternal, "turn %s: its last event: %w", t.ID, err)
		}
		t.Error = &last.Data.Error
	}
	return t, nil
}

// usageAt reads the five usage columns, starting with that one.
func usageAt(r *lite.Rows, column int) terret.Usage {
	return terret.Usage{
		Input: r.Int(column), Output: r.Int(column + 1), CacheRead: r.Int(column + 2), CacheWrite: r.Int(column + 3), Reasoning: r.Int(column + 4),
	}
}

func maybeTime(r *lite.Rows, column int) *terret.Time {
	if r.Null(column) {
		return nil
	}
	at := micros(r.Int(column))
	return &at
}
