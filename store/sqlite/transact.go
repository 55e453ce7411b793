package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/terret-dev/terret/internal/lite"
)

// write runs fn in an exclusive write transaction, and wakes those who Wait. The
// context bounds the wait for the turn; once begun, the transaction runs to its end.
func (s *Store) write(ctx context.Context, what string, fn func(tx *lite.Conn) error) error {
	err := s.begin(ctx, func(tx *lite.Conn) error {
		if err := s.checkSchema(tx); err != nil {
			return err
		}
		return fn(tx)
	})
	if err != nil {
		return describe(what, s.path, err)
	}
	s.news.publish()
	return nil
}

// ask is write for what the owner of a session should notice.
func (s *Store) ask(ctx context.Context, what string, fn func(tx *lite.Conn) error) error {
	err := s.write(ctx, what, fn)
	if err == nil {
		s.news.others()
	}
	return err
}

// begin waits for this process's turn, then for the file, and runs fn in a transaction.
func (s *Store) begin(ctx context.Context, fn func(*lite.Conn) error) error {
	return s.alone(ctx, func(c *lite.Conn) error {
		if err := s.checkGone(); err != nil {
			return err
		}
		if err := s.beginImmediate(ctx); err != nil {
			return err
		}
		defer func() {
			if c.InTransaction() {
				_ = c.Exec("ROLLBACK") // the caller gets the earlier error
			}
		}()
		if err := fn(c); err != nil {
			return err
		}
		err := s.commit(c)
		if err == nil {
			s.noteFiles()
		}
		return err
	})
}

func (s *Store) commit(c *lite.Conn) error {
	if s.fault != nil {
		if err := s.fault("before"); err != nil {
			return &commitError{err}
		}
	}
	if err := c.Exec("COMMIT"); err != nil {
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

// beginImmediate takes the file's write lock, retrying while another process has it.
// SQLite's own waiting sleeps for up to 100 ms at a time, which starves latecomers;
// retrying often, and pausing after each transaction while there are rivals, does not.
func (s *Store) beginImmediate(ctx context.Context) error {
	if s.contests > 0 {
		s.contests--
		pause(ctx, yieldFor)
	}
	if err := s.whileBusy(ctx, func() error { return s.db.Exec("BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	_ = s.noteRivals() // if that failed, suspect is set
	return nil
}

// whileBusy retries until other processes release the file.
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
	return fmt.Errorf("wait for other users of %s: %w", s.path, context.Cause(ctx))
}

const (
	busyLimit    = 30 * time.Second
	contestedFor = 100 // writes
)

// noteRivals records whether others have written since the last call. The turn must be
// held.
func (s *Store) noteRivals() error {
	s.news.looked()
	var v int64
	// This number changes when another connection has committed something.
	if _, err := s.db.Row(func(r *lite.Rows) { v = r.Int(0) }, "PRAGMA data_version"); err != nil {
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
func (s *Store) checkSchema(tx *lite.Conn) error {
	if !s.suspect {
		return nil
	}
	v, err := userVersion(tx)
	if err != nil {
		return err
	}
	if v != s.version {
		return newerSchema(s.path, v, s.version)
	}
	s.suspect = false
	return nil
}

func userVersion(c *lite.Conn) (v int, err error) {
	_, err = c.Row(func(r *lite.Rows) { v = int(r.Int(0)) }, "PRAGMA user_version")
	return v, err
}

// pause sleeps and reports whether the context is still alive.
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
