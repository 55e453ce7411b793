package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// ListRules implements terret.Rules.
func (s *Store) ListRules(ctx context.Context, session string) (out []terret.Rule, err error) {
	err = s.read(ctx, "read rules", func(c *pgx.Conn) error {
		out = []terret.Rule{}
		rows, err := c.Query(ctx, `SELECT id, effect, pattern, scope, session, made_by, made_at, hits FROM rules
			WHERE session = '' OR session = $1 ORDER BY made_at, id`, clean(session))
		if err != nil {
			return err
		}
		var r terret.Rule
		var effect, scope string
		var at int64
		_, err = pgx.ForEachRow(rows, []any{&r.ID, &effect, &r.Pattern, &scope, &r.Session, &r.MadeBy, &at, &r.Hits}, func() error {
			r.Effect, r.Scope, r.MadeAt = terret.Effect(effect), terret.Scope(scope), micros(at)
			out = append(out, r)
			return nil
		})
		return err
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
	return s.write(ctx, "store rule", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO rules (id, effect, pattern, scope, session, made_by, made_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO UPDATE SET effect = excluded.effect, pattern = excluded.pattern, scope = excluded.scope,
				session = excluded.session, made_by = excluded.made_by, made_at = excluded.made_at`,
			clean(r.ID), string(r.Effect), clean(r.Pattern), string(r.Scope), clean(r.Session), clean(r.MadeBy), r.MadeAt.UnixMicro())
		return err
	})
}

// DeleteRule implements terret.Rules.
func (s *Store) DeleteRule(ctx context.Context, id string) error {
	return s.write(ctx, "remove rule", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM rules WHERE id = $1`, clean(id))
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		return terret.Errorf(terret.CodeNotFound, "there is no rule %q", id)
	})
}
