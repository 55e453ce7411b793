package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/terret-dev/terret"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks the file as ours: "TRRT".
const applicationID = 0x54525254

// migrations are applied in order of their names; the schema's version is how
// many have been. They only go forward, and one that has been released is never
// changed.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := make([]string, len(names))
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	return out, nil
}

// schema returns the version of the schema and all migrations. It refuses files
// that are not ours or that a newer version has written.
func schema(ctx context.Context, q queryer, path string) (version int, steps []string, err error) {
	if steps, err = migrations(); err != nil {
		return 0, nil, err
	}
	var app, tables int
	err = q.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&app, &version, &tables)
	if err != nil {
		return 0, nil, err
	}
	switch {
	case app != applicationID && tables > 0:
		return 0, nil, terret.Errorf(terret.CodeStartupRefused,
			"%s is an SQLite database of another program; choose another data folder", path)
	case version > len(steps):
		return 0, nil, newerSchema(path, version, len(steps))
	}
	return version, steps, nil
}

// migrate brings the schema up to date, in one transaction, and returns its
// version.
func migrate(ctx context.Context, tx *sql.Tx, path string) (int, error) {
	version, steps, err := schema(ctx, tx, path)
	if err != nil || version == len(steps) {
		return version, err
	}
	for i, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return 0, fmt.Errorf("migration %d: %w", version+i+1, err)
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps)))
	return len(steps), err
}

func newerSchema(path string, have, know int) error {
	return terret.Errorf(terret.CodeStartupRefused,
		"%s was written by a newer terret (schema %d, this one knows %d); update terret, or start it again if it was just updated", path, have, know)
}
