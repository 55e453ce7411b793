package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// write runs fn in a transaction that is alone in writing, and says so to those
// who Wait. The context bounds the wait for the turn; once begun, the
// transaction runs to its end.
func (s *Store) write(ctx context.Context, what string, fn func(ctx context.Context, tx *txn) error) error {
	ctx, turn := context.WithoutCancel(ctx), ctx
	err := s.begin(turn, func(tx *txn) error {
		if err := s.checkSchema(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err != nil {
		return describe(what, s.path, err)
	}
	s.news.publish()
	return nil
}

// ask is write for what the owner of a session is to notice.
func (s *Store) ask(ctx context.Context, what string, fn func(ctx context.Context, tx *txn) error) error {
	err := s.write(ctx, what, fn)
	if err == nil {
		s.news.others()
	}
	return err
}

// begin waits for this process's turn, then for the file, and runs fn in a
// transaction.
func (s *Store) begin(ctx context.Context, fn func(*txn) error) error {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return s.tooLate(ctx)
	}
	defer func() { s.turn <- struct{}{} }()

	tx, err := s.beginImmediate(ctx)
	if err != nil {
		return err
	}
	defer s.writes.learn(context.WithoutCancel(ctx), s.db) // after the transaction, which has the only connection
	defer tx.Rollback()                                    //nolint:errcheck // after a commit it does nothing
	if err := fn(tx); err != nil {
		return err
	}
	return s.commit(tx.Tx)
}

func (s *Store) commit(tx *sql.Tx) error {
	if s.fault != nil {
		if err := s.fault("before"); err != nil {
			return &commitError{err}
		}
	}
	if err := tx.Commit(); err != nil {
		return &commitError{err}
	}
	if s.fault != nil {
		if err := s.fault("after"); err != nil {
			return &commitError{err}
		}
	}
	return nil
}

// commitError says that the outcome of a transaction is unknown.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// beginImmediate takes the file's write lock, trying again while another process
// has it. SQLite's own waiting sleeps for up to 100 ms at a time, which starves
// whoever comes late; trying often, and pausing after each transaction while
// there are rivals, does not.
func (s *Store) beginImmediate(ctx context.Context) (*txn, error) {
	if s.contests > 0 {
		s.contests--
		pause(ctx, yieldFor)
	}
	tx := &txn{known: &s.writes}
	begin := context.WithoutCancel(ctx)
	err := s.whileBusy(ctx, func() (err error) {
		tx.Tx, err = s.db.BeginTx(begin, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	_ = s.noteRivals(tx.QueryRowContext(begin, sqlDataVersion)) // if that failed, it is suspicious
	return tx, nil
}

// whileBusy tries until another process gives the file free.
func (s *Store) whileBusy(ctx context.Context, try func() error) error {
	wait := 200 * time.Microsecond
	for deadline := time.Now().Add(busyLimit); ; {
		err := try()
		if err == nil || !isBusy(err) {
			return err
		}
		s.contests = contestedFor
		if time.Now().After(deadline) {
			return err
		}
		if !pause(ctx, wait) {
			return s.tooLate(ctx)
		}
		wait = min(wait*2, 2*time.Millisecond)
	}
}

func (s *Store) tooLate(ctx context.Context) error {
	return fmt.Errorf("wait for others to be done with %s: %w", s.path, context.Cause(ctx))
}

const (
	busyLimit    = 30 * time.Second
	contestedFor = 100 // writes
)

// sqlDataVersion asks for a number that changes when another connection than the one
// that is asked has committed something.
const sqlDataVersion = "PRAGMA data_version"

// noteRivals notes whether others have written since the last time. The answer to
// sqlDataVersion must come from db; the turn must be held.
func (s *Store) noteRivals(answer *sql.Row) error {
	var v int64
	if err := answer.Scan(&v); err != nil {
		s.suspect = true
		return err
	}
	if v == s.rival {
		return nil
	}
	if s.rival != 0 {
		s.contests, s.suspect = contestedFor, true
		s.news.others()
	}
	s.rival = v
	return nil
}

// checkSchema stops an old process when a newer one has migrated the file.
func (s *Store) checkSchema(ctx context.Context, tx *txn) error {
	if !s.suspect {
		return nil
	}
	var v int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return err
	}
	if v != s.version {
		return newerSchema(s.path, v, s.version)
	}
	s.suspect = false
	return nil
}

// pause sleeps and reports whether the context is still good.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
