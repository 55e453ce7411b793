package sqlite

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// ListRules implements terret.Rules.
func (s *Store) ListRules(ctx context.Context, session string) ([]terret.Rule, error) {
	out := []terret.Rule{}
	err := s.read(ctx, "read rules", func(c *lite.Conn) error {
		rows := c.Query(`SELECT id, effect, pattern, scope, session, made_by, made_at, hits FROM rules
			WHERE session = '' OR session = ? ORDER BY made_at, id`, session)
		for rows.Next() {
			out = append(out, terret.Rule{
				ID: rows.Text(0), Effect: terret.Effect(rows.Text(1)), Pattern: rows.Text(2), Scope: terret.Scope(rows.Text(3)),
				Session: rows.Text(4), MadeBy: rows.Text(5), MadeAt: micros(rows.Int(6)), Hits: rows.Int(7),
			})
		}
		return rows.Close()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// PutRule implements terret.Rules.
func (s *Store) PutRule(ctx context.Context, r terret.Rule) error {
	if err := store.CheckRule(&r); err != nil {
		return err
	}
	return s.write(ctx, "store rule", func(tx *lite.Conn) error {
		return tx.Exec(`INSERT INTO rules (id, effect, pattern, scope, session, made_by, made_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET effect = excluded.effect, pattern = excluded.pattern, scope = excluded.scope,
				session = excluded.session, made_by = excluded.made_by, made_at = excluded.made_at`,
			r.ID, string(r.Effect), r.Pattern, string(r.Scope), r.Session, r.MadeBy, r.MadeAt.UnixMicro())
	})
}

// DeleteRule implements terret.Rules.
func (s *Store) DeleteRule(ctx context.Context, id string) error {
	return s.write(ctx, "remove rule", func(tx *lite.Conn) error {
		if n, err := changed(tx, `DELETE FROM rules WHERE id = ?`, id); err != nil || n > 0 {
			return err
		}
		return terret.Errorf(terret.CodeNotFound, "there is no rule %q", id)
	})
}
