package sqlite

import (
	"context"

	"github.com/terret-dev/terret"
)

// ListRules implements terret.Rules.
func (s *Store) ListRules(ctx context.Context, session string) ([]terret.Rule, error) {
	rows, err := s.query(ctx, `SELECT id, effect, pattern, scope, session, made_by, made_at, hits FROM rules
		WHERE session = '' OR session = ? ORDER BY made_at, id`, session)
	if err != nil {
		return nil, describe("read rules", s.path, err)
	}
	defer rows.Close()
	out := []terret.Rule{}
	for rows.Next() {
		var r terret.Rule
		var at int64
		if err := rows.Scan(&r.ID, &r.Effect, &r.Pattern, &r.Scope, &r.Session, &r.MadeBy, &at, &r.Hits); err != nil {
			return nil, err
		}
		r.MadeAt = micros(at)
		out = append(out, r)
	}
	return out, describe("read rules", s.path, rows.Err())
}

// PutRule implements terret.Rules.
func (s *Store) PutRule(ctx context.Context, r terret.Rule) error {
	switch {
	case r.ID == "":
		return terret.Invalid("id", "a rule needs an id")
	case r.Effect != terret.EffectAllow && r.Effect != terret.EffectDeny:
		return terret.Invalid("effect", "%q is not what a rule can do; use allow or deny", r.Effect)
	case r.Pattern == "":
		return terret.Invalid("pattern", "a rule needs a pattern")
	case (r.Scope == terret.ScopeSession) != (r.Session != "") || r.Scope != terret.ScopeSession && r.Scope != terret.ScopeAlways:
		return terret.Invalid("scope", "a rule holds always, or for one session that it names")
	}
	if r.MadeAt.IsZero() {
		r.MadeAt = terret.Now()
	}
	return s.write(ctx, "store rule", func(ctx context.Context, tx *txn) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO rules (id, effect, pattern, scope, session, made_by, made_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET effect = excluded.effect, pattern = excluded.pattern, scope = excluded.scope,
				session = excluded.session, made_by = excluded.made_by, made_at = excluded.made_at`,
			r.ID, string(r.Effect), r.Pattern, string(r.Scope), r.Session, r.MadeBy, r.MadeAt.UnixMicro())
		return err
	})
}

// DeleteRule implements terret.Rules.
func (s *Store) DeleteRule(ctx context.Context, id string) error {
	return s.write(ctx, "remove rule", func(ctx context.Context, tx *txn) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM rules WHERE id = ?`, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return terret.Errorf(terret.CodeNotFound, "there is no rule %q", id)
	})
}
