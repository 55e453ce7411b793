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

// reading is a queryer whose statements are prepared once.
type reading struct{ s *Store }

// prepared returns a statement of readers that is prepared once.
func (s *Store) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if known, ok := s.reads.byText.Load(text); ok {
		return known.(*sql.Stmt), nil //nolint:forcetypeassert // nothing else is in it
	}
	stmt, err := s.readers.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if other, loaded := s.reads.byText.LoadOrStore(text, stmt); loaded {
		_ = stmt.Close()
		stmt = other.(*sql.Stmt) //nolint:forcetypeassert // nothing else is in it
	}
	return stmt, nil
}

// query reads with a statement that is prepared once.
func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepared(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryContext implements queryer.
func (r reading) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return r.s.query(ctx, text, args...)
}

// QueryRowContext implements queryer.
func (r reading) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	stmt, err := r.s.prepared(ctx, text)
	if err != nil {
		return r.s.readers.QueryRowContext(ctx, text, args...) // says why
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (p *preparedReads) close() error {
	var err error
	p.byText.Range(func(_, stmt any) bool {
		err = errors.Join(err, stmt.(*sql.Stmt).Close()) //nolint:forcetypeassert // nothing else is in it
		return true
	})
	return err
}

// preparedWrites are the statements of writers. There is one connection, which a
// transaction has for itself: those that are used again and again are prepared between
// two transactions.
type preparedWrites struct {
	byText map[string]*sql.Stmt
	used   map[string]bool // by a transaction before
	wanted []string        // again, by the last one
}

// maxWrites bounds how many are kept; there are not that many in this package.
const maxWrites = 128

// prepare returns a statement that is prepared once. No transaction may run.
func (p *preparedWrites) prepare(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	if stmt := p.byText[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if p.byText == nil {
		p.byText = map[string]*sql.Stmt{}
	}
	p.byText[text] = stmt
	return stmt, nil
}

// learn prepares what the last transaction would have liked to find.
func (p *preparedWrites) learn(ctx context.Context, db *sql.DB) {
	for _, text := range p.wanted {
		_, _ = p.prepare(ctx, db, text) // whoever needs it will be told
	}
	p.wanted = p.wanted[:0]
}

// miss notes that a transaction had to prepare a statement for itself.
func (p *preparedWrites) miss(text string) {
	switch {
	case len(p.used) >= maxWrites:
	case p.used[text]:
		p.wanted = append(p.wanted, text)
	default:
		if p.used == nil {
			p.used = map[string]bool{}
		}
		p.used[text] = true
	}
}

func (p *preparedWrites) close() error {
	var err error
	for _, stmt := range p.byText {
		err = errors.Join(err, stmt.Close())
	}
	p.byText = nil
	return err
}

// txn is a transaction that parses no statement twice. Texts must not depend on what
// they are about.
type txn struct {
	*sql.Tx
	known *preparedWrites
	mine  map[string]*sql.Stmt // as they are used in this transaction, which closes them
}

func (t *txn) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt := t.mine[text]; stmt != nil {
		return stmt, nil
	}
	var stmt *sql.Stmt
	if known := t.known.byText[text]; known != nil {
		stmt = t.StmtContext(ctx, known)
	} else {
		var err error
		if stmt, err = t.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		t.known.miss(text)
	}
	if t.mine == nil {
		t.mine = make(map[string]*sql.Stmt, 8)
	}
	t.mine[text] = stmt
	return stmt, nil
}

// ExecContext is that of sql.Tx.
func (t *txn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	stmt, err := t.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryRowContext is that of sql.Tx.
func (t *txn) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	stmt, err := t.stmt(ctx, text)
	if err != nil {
		return t.Tx.QueryRowContext(ctx, text, args...) // says why
	}
	return stmt.QueryRowContext(ctx, args...)
}
