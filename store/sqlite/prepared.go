package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// preparedReads are statements of readers that are used again and again: parsing one takes
// longer than most of them run. Only texts that do not depend on what is asked for
// belong here.
type preparedReads struct{ byText sync.Map }

// query reads with a statement that is prepared once.
func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if known, ok := s.reads.byText.Load(text); ok {
		return known.(*sql.Stmt).QueryContext(ctx, args...) //nolint:forcetypeassert // nothing else is in it
	}
	stmt, err := s.readers.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if other, loaded := s.reads.byText.LoadOrStore(text, stmt); loaded {
		_ = stmt.Close()
		stmt = other.(*sql.Stmt) //nolint:forcetypeassert // nothing else is in it
	}
	return stmt.QueryContext(ctx, args...)
}

func (p *preparedReads) close() error {
	var err error
	p.byText.Range(func(_, stmt any) bool {
		err = errors.Join(err, stmt.(*sql.Stmt).Close()) //nolint:forcetypeassert // nothing else is in it
		return true
	})
	return err
}
