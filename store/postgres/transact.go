package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/terret-dev/terret"
)

// read runs fn on a connection. While the database cannot be reached it waits and tries
// again, so fn may run several times and must start over each time.
func (s *Store) read(ctx context.Context, what string, fn func(c *pgx.Conn) error) error {
	return describe(what, s.name, s.retry(ctx, func() error {
		return s.connected(ctx, func(c *pgxpool.Conn) error { return fn(c.Conn()) })
	}))
}

func (s *Store) connected(ctx context.Context, fn func(c *pgxpool.Conn) error) error {
	if s.news.isClosed() {
		return errClosed()
	}
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	defer c.Release()
	err = fn(c)
	if err != nil && ctx.Err() != nil && !isOurs(err) {
		return context.Cause(ctx)
	}
	if isCode(err, "25006") { // this server has become a standby
		_ = c.Conn().Close(context.WithoutCancel(ctx))
	}
	return err
}

func isOurs(err error) bool {
	_, is := asType[*terret.Error](err)
	_, unknown := asType[*commitError](err)
	return is || unknown || errors.Is(err, terret.ErrFenced)
}

// retry repeats what fails because the database cannot be reached, for a while, or
// because two transactions were in each other's way. It never repeats a transaction that
// may have taken place.
func (s *Store) retry(ctx context.Context, try func() error) error {
	wait := 20 * time.Millisecond
	var deadline time.Time
	for collisions := 0; ; {
		err := try()
		if err == nil || isOurs(err) {
			return err
		}
		switch {
		case collided(err):
			if collisions++; collisions > 5 {
				return err
			}
		case !unreachable(err):
			return err
		case deadline.IsZero():
			deadline = time.Now().Add(s.options.Wait)
			if standby(err) {
				s.log.WarnContext(ctx, "the database is read-only now; waiting until it can be written to", "database", s.name, "error", err)
			} else {
				s.log.WarnContext(ctx, "the database cannot be reached; waiting for it", "database", s.name, "error", err)
			}
		case time.Now().After(deadline):
			return err
		}
		if !pause(ctx, wait) {
			return fmt.Errorf("wait for the database: %w", context.Cause(ctx))
		}
		wait = min(wait*2, time.Second)
	}
}

// write runs fn in a transaction that changes something, and wakes those who Wait. The
// context bounds the wait for the turn and for the database; once begun, the transaction
// runs to its end. It may run several times, see read.
func (s *Store) write(ctx context.Context, what string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return s.writing(ctx, what, func(ctx context.Context, c *pgxpool.Conn) error {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{BeginQuery: strings.Join(s.begin(), "; ")})
		if err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			_ = tx.Rollback(ctx) // the caller gets the earlier error
			return err
		}
		last := &pgx.Batch{}
		var version int64
		last.Queue(sqlFinish, s.known, s.channel(), s.worker.name()).QueryRow(func(row pgx.Row) error { return row.Scan(&version, nil) })
		if err := s.finish(ctx, c.Conn(), last); err != nil {
			return err
		}
		s.news.mine(version)
		return nil
	})
}

// ask is write for what the owner of a session should notice.
func (s *Store) ask(ctx context.Context, what string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := s.write(ctx, what, fn)
	if err == nil {
		s.news.others()
	}
	return err
}

// writing runs fn when it is this store's turn to change something.
func (s *Store) writing(ctx context.Context, what string, fn func(ctx context.Context, c *pgxpool.Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.turn <- struct{}{} }()
	return describe(what, s.name, s.retry(ctx, func() error {
		if s.news.isClosed() && !s.worker.leaving() {
			return errClosed()
		}
		c, err := s.pool.Acquire(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		defer c.Release()
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), transactionLimit)
		defer cancel()
		err = fn(bounded, c)
		if isCode(err, "25006") { // this server has become a standby
			_ = c.Conn().Close(bounded)
		}
		return err
	}))
}

// transactionLimit is after how long a transaction counts as lost with its connection.
const transactionLimit = 2 * time.Minute

// finish sends the last statements of a transaction together with its COMMIT, and frees
// the connection of what is left if they fail.
func (s *Store) finish(ctx context.Context, c *pgx.Conn, last *pgx.Batch) error {
	if s.fault != nil {
		if err := s.fault("before"); err != nil {
			_ = abandon(ctx, c)
			return &commitError{err}
		}
	}
	committed := false
	last.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	err := c.SendBatch(ctx, last).Close()
	switch {
	case err == nil && !committed:
		return errors.New("the transaction was rolled back")
	case err == nil && s.fault != nil:
		if err := s.fault("after"); err != nil {
			return &commitError{err}
		}
		return nil
	case err == nil:
		return nil
	}
	if isCode(err, "25P03") {
		return err // the server had ended the transaction before
	}
	if code(err) == "" || unreachable(err) {
		return &commitError{err}
	}
	_ = abandon(ctx, c) // the server refused a statement before the COMMIT
	if isCode(err, "22012") {
		return s.newerSchema()
	}
	return err
}

// sqlNext counts a change. It divides by zero, and so refuses the transaction, if a
// newer program has changed the schema so that this one cannot use it any more.
const sqlNext = `UPDATE terret SET version = version + 1 / (oldest <= $1)::int`

// sqlFinish ends a transaction and tells the others.
const sqlFinish = sqlNext + ` RETURNING version, pg_notify($2, $3 || ' ' || version)::text`

// abandon ends a transaction without changing anything.
func abandon(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "ROLLBACK")
	return err
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
