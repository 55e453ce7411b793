package sqlite

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks the file as ours: "TRRT".
const applicationID = 0x54525254

// migrations are the steps to the newest schema.
func migrations() ([]string, error) { return store.Migrations(migrationFiles) }

// schemaVersion returns the version of the schema and the newest that this program
// knows. It refuses files that are not ours or that a newer version has written.
func schemaVersion(c *lite.Conn, path string) (version, known int, err error) {
	steps, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0, 0, err
	}
	var app, tables int64
	_, err = c.Row(func(r *lite.Rows) { app, version, tables = r.Int(0), int(r.Int(1)), r.Int(2) },
		`SELECT (SELECT application_id FROM pragma_application_id),
			(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	switch {
	case err != nil:
		return 0, 0, err
	case app != applicationID && tables > 0:
		return 0, 0, terret.Errorf(terret.CodeStartupRefused,
			"%s is the SQLite database of another program; choose another data folder", path)
	case version > len(steps):
		return 0, 0, newerSchema(path, version, len(steps))
	}
	return version, len(steps), nil
}

// migrate brings the schema up to date, in one transaction, and returns its version.
func migrate(tx *lite.Conn, path string) (int, error) {
	version, known, err := schemaVersion(tx, path)
	if err != nil || version == known {
		return version, err // another process was faster
	}
	steps, err := migrations()
	if err != nil {
		return 0, err
	}
	for i, step := range steps[version:] {
		if err := tx.Script(step); err != nil {
			return 0, fmt.Errorf("migration %d: %w", version+i+1, err)
		}
	}
	return known, tx.Script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, known))
}

func newerSchema(path string, have, know int) error {
	back := ""
	if found := copiesBefore(path, know); len(found) > 0 {
		back = fmt.Sprintf(". To go back to how it was before that, without what happened since: terret db restore '%s'", found[len(found)-1])
	}
	return terret.Errorf(terret.CodeStartupRefused,
		"%s was written by a newer terret (schema %d, this one supports %d); update terret, or restart it if it was just updated%s", path, have, know, back)
}
