package sqlite

import (
	"context"
	"errors"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// maxReaders bounds how many connections read at the same time.
const maxReaders = 8

// readers is a pool of read connections. They are opened on demand; the most recently
// used one is used next, so that few are needed.
type readers struct {
	open  func() (*lite.Conn, error)
	slots chan struct{} // one token for each connection that may be in use

	mu     sync.Mutex
	idle   []*lite.Conn
	closed bool
}

func (p *readers) init(open func() (*lite.Conn, error)) {
	p.open = open
	p.slots = make(chan struct{}, maxReaders)
	for range maxReaders {
		p.slots <- struct{}{}
	}
}

// take returns a connection; the caller must put it back.
func (p *readers) take(ctx context.Context) (*lite.Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case <-p.slots:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c, err := p.pick()
	if err == nil && c == nil {
		c, err = p.open()
	}
	if err != nil {
		p.slots <- struct{}{}
		return nil, err
	}
	return c, nil
}

// pick returns an idle connection, or nil.
func (p *readers) pick() (*lite.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed()
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c, nil
}

func (p *readers) put(c *lite.Conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.slots <- struct{}{}
}

// close waits until no connection is in use.
func (p *readers) close() error {
	if p.slots == nil { // it was never opened
		return nil
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range maxReaders {
		<-p.slots
	}
	var err error
	for _, c := range p.idle {
		err = errors.Join(err, c.Close())
	}
	p.idle = nil
	for range maxReaders {
		p.slots <- struct{}{}
	}
	return err
}

func errClosed() error { return terret.Errorf(terret.CodeInternal, "%w", errStoreClosed) }

// read runs fn on a read connection. If the context ends, so does the query.
func (s *Store) read(ctx context.Context, what string, fn func(c *lite.Conn) error) error {
	if s.path == Memory {
		return describe(what, s.path, s.alone(ctx, fn))
	}
	c, err := s.readers.take(ctx)
	if err != nil {
		return describe(what, s.path, err)
	}
	defer s.readers.put(c)
	err = interruptible(ctx, c, fn)
	if code(err) == sqlite3.SQLITE_ERROR { // the statement does not fit the schema
		if v, vErr := userVersion(c); vErr == nil && v != s.version {
			err = newerSchema(s.path, v, s.version)
		}
	}
	return describe(what, s.path, err)
}

// interruptible runs fn on a connection. If the context ends, so does the query.
func interruptible(ctx context.Context, c *lite.Conn, fn func(c *lite.Conn) error) error {
	if ctx.Done() == nil {
		return fn(c)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		c.Interrupt()
	})
	err := fn(c)
	if !stop() { // before anybody else has the connection
		<-interrupted
	}
	if code(err) == sqlite3.SQLITE_INTERRUPT {
		return context.Cause(ctx)
	}
	return err
}

// alone runs fn on the write connection, outside a transaction.
func (s *Store) alone(ctx context.Context, fn func(c *lite.Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return s.tooLate(ctx)
	}
	defer func() { s.turn <- struct{}{} }()
	if s.db == nil {
		return errClosed()
	}
	return fn(s.db)
}

// changed runs a statement and returns how many rows it changed.
func changed(c *lite.Conn, text string, args ...any) (int64, error) {
	err := c.Exec(text, args...)
	return c.Changes(), err
}
