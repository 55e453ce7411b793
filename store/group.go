package store

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// Prepared is a batch as it will be written.
type Prepared struct {
	Index      int // in the batches
	Batch      terret.Batch
	Rows       []Row
	Projection Projection
}

// Group encodes batches before anything is locked, in the order of their session ids. A
// batch that cannot be encoded fails alone: its result says why.
func Group(batches []terret.Batch, results []terret.Result) ([]Prepared, error) {
	group := make([]Prepared, 0, len(batches))
	for i, b := range batches {
		rows, proj, err := Rows(b)
		if err != nil {
			results[i].Err = terret.AsError(err)
			continue
		}
		group = append(group, Prepared{Index: i, Batch: b, Rows: rows, Projection: proj})
	}
	slices.SortFunc(group, func(a, b Prepared) int { return strings.Compare(a.Batch.Session, b.Batch.Session) })
	for i := 1; i < len(group); i++ {
		if group[i].Batch.Session == group[i-1].Batch.Session {
			return nil, terret.Errorf(terret.CodeInternal, "two batches for session %s in one commit", group[i].Batch.Session)
		}
	}
	return group, nil
}

// Migrations are the files migrations/*.sql, in the order of their names; a schema's
// version is how many have been applied. They only go forward, and a released one is
// never changed.
func Migrations(files embed.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := make([]string, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	return out, nil
}
