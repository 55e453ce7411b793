package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// plan is the way to the newest schema.
type plan struct {
	steps []string
	// oldest is the oldest schema whose programs can still use the newest one. A step
	// that only adds leaves it as it is: while a fleet is updated, old and new nodes run
	// together. After one that does not, older programs refuse to go on.
	oldest int
}

func newPlan() (plan, error) {
	steps, err := store.Migrations(migrationFiles)
	return plan{steps: steps, oldest: 1}, err
}

// migrate brings the schema up to date. Of several processes one does it.
func (s *Store) migrate(ctx context.Context, c *pgx.Conn) error {
	steps := s.plan.steps
	s.known = len(steps)
	if err := s.findSchema(ctx, c); err != nil {
		return err
	}
	version, err := s.schemaVersion(ctx, c)
	if err != nil || version >= s.known {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('terret migrate ' || current_schema(), 0))`); err != nil {
			return err
		}
		version, err := s.schemaVersion(ctx, c)
		if err != nil || version >= s.known {
			return err // another process was faster
		}
		for i, step := range steps[version:] {
			if _, err := tx.Conn().PgConn().Exec(ctx, step).ReadAll(); err != nil {
				return fmt.Errorf("migration %d: %w", version+i+1, err)
			}
		}
		if _, err := tx.Exec(ctx, `UPDATE terret SET schema = $1, oldest = $2`, s.known, s.plan.oldest); err != nil {
			return err
		}
		return addPart(ctx, tx, 0)
	})
}

// findSchema finds the schema to use, or creates the one that the address names.
func (s *Store) findSchema(ctx context.Context, c *pgx.Conn) error {
	var schema *string
	err := c.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema)
	first := s.searchPath()
	if err == nil && s.pooled.Load() && first != "" && (schema == nil || *schema != first) {
		return s.refuseSetting("search_path")
	}
	if err == nil && schema == nil {
		if first == "" {
			return terret.Errorf(terret.CodeStartupRefused, "%s: no schema of the search path exists; create one, or name it with ?search_path=", s.name)
		}
		if _, err = c.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{first}.Sanitize()); err != nil && !isCode(err, "23505") { // another was faster
			return err
		}
		err = c.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema)
	}
	if err != nil {
		return err
	}
	if schema == nil {
		return terret.Errorf(terret.CodeStartupRefused, "%s: the schema of the search path cannot be used; grant usage on it", s.name)
	}
	s.schema = *schema
	return nil
}

// searchPath is the first schema that the address names, or empty.
func (s *Store) searchPath() string {
	first, _, _ := strings.Cut(s.dial.RuntimeParams["search_path"], ",")
	return strings.Trim(first, `" `)
}

// schemaVersion is 0 if there is nothing yet. It refuses what a newer version has
// written, unless that says that this one can use it.
func (s *Store) schemaVersion(ctx context.Context, c *pgx.Conn) (version int, err error) {
	// Not by to_regclass, which remembers within a transaction that there was no table.
	var there bool
	if err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relname = 'terret')`).Scan(&there); err != nil || !there {
		return 0, err
	}
	var oldest int
	err = c.QueryRow(ctx, `SELECT schema, oldest FROM terret`).Scan(&version, &oldest)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, terret.Errorf(terret.CodeStartupRefused, "%s: the table terret in schema %s is empty; it is damaged or another program's", s.name, s.schema)
	case err != nil:
		return 0, err
	case oldest > s.known:
		return 0, s.newerSchema()
	}
	return version, nil
}

func (s *Store) newerSchema() error {
	return terret.Errorf(terret.CodeStartupRefused,
		"%s was written by a newer terret than this one (which supports schema %d); update terret, or restart it if it was just updated", s.name, s.known)
}
