// Package postgres is the store of a fleet: a PostgreSQL database that the processes of
// any number of machines share.
//
// # Durability
//
// What Commit has acknowledged is on the server's disk, and on its synchronous standby
// if it has one. Open refuses a server that acknowledges without that. A server that
// restarts is waited for; a commit whose answer was lost is looked for afterwards.
//
// # Order
//
// Every transaction that changes something ends by changing one row, together with its
// COMMIT. The lock of that row puts the changes of all processes into one order, so
// positions become visible in their order and nobody who reads after a position misses
// anything. A process does one such transaction at a time; those that append hold the
// batches of many sessions.
//
// # Ownership
//
// An open store is a worker: from its first claim on it has a lease, by the clock of the
// database, which it renews. A worker whose lease has run out is dead for good, as is one
// whose connection to a running server is gone: its sessions may be claimed, and their
// new epoch fences it.
package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/terret-dev/terret"
)

const (
	maxConnections = 10 // of the pool, unless the URL says pool_max_conns
	defaultLease   = 15 * time.Second
	defaultWait    = 30 * time.Second
	pollEvery      = time.Second            // how often changes are looked for, in case a notification is lost
	pollPooled     = 100 * time.Millisecond // the same where no notification gets through
)

// Options tunes a store. The zero value is right for almost everybody.
type Options struct {
	// Log is for the operator; nil discards it.
	Log *slog.Logger
	// Lease is how long a worker that cannot be reached keeps its sessions; 0 means 15
	// seconds.
	Lease time.Duration
	// Wait is how long calls wait for a database that cannot be reached; 0 means 30
	// seconds.
	Wait time.Duration
}

// Store is a terret.Store in a PostgreSQL database.
type Store struct {
	name    string // of the database, for people; without a password
	log     *slog.Logger
	options Options
	plan    plan
	known   int // version of the schema

	pool   *pgxpool.Pool
	dial   *pgx.ConnConfig // for connections outside the pool
	schema string
	pooled atomic.Bool // a pooler is between; see pooler.go

	turn   chan struct{} // one token, for the transactions that change something
	worker worker
	news   news

	life context.Context // of the goroutines
	stop context.CancelFunc
	work sync.WaitGroup

	closing sync.Once
	closed  error

	now func() time.Time // the clock of this machine

	// fault, if set by a test, is called before and after the commit of a transaction,
	// as if the connection had broken there.
	fault func(phase string) error
}

var (
	_ terret.Store      = (*Store)(nil)
	_ terret.Maintainer = (*Store)(nil)
)

// Open connects to the database at url (postgres://user:password@host/database) and
// brings its schema up to date. The caller must Close the store.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	p, err := newPlan()
	if err != nil {
		return nil, err
	}
	return open(ctx, url, o, p)
}

func open(ctx context.Context, url string, o Options, p plan) (*Store, error) {
	s := &Store{log: o.Log, options: o, plan: p, now: time.Now, turn: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.options.Lease <= 0 {
		s.options.Lease = defaultLease
	}
	if s.options.Wait <= 0 {
		s.options.Wait = defaultWait
	}
	s.turn <- struct{}{}
	s.worker.id, s.worker.losses, s.worker.doubt = terret.NewID(terret.PrefixWorker), make(chan struct{}), make(chan struct{}, 1)
	s.worker.taking = make(chan struct{}, 1)
	config, err := s.configure(url)
	if err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, describe("connect", s.name, err)
	}
	s.life, s.stop = context.WithCancel(context.Background())
	if err := s.open(ctx); err != nil {
		s.stop()
		s.pool.Close()
		if name := unsupported(err); name != "" {
			err = s.refuseSetting(name)
		}
		return nil, describe("open", s.name, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	conn, err := s.first(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := s.checkServer(ctx, conn.Conn()); err != nil {
		return err
	}
	if err := s.migrate(ctx, conn.Conn()); err != nil {
		return err
	}
	var version int64
	err = conn.QueryRow(ctx, `SELECT version FROM terret`).Scan(&version)
	s.news.init(version)
	return err
}

// Close gives back the sessions that this worker owns and closes all connections.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.news.close()
		s.closed = s.retire()
		s.stop()
		s.work.Wait()
		s.pool.Close()
	})
	return s.closed
}

var errStoreClosed = errors.New("the store is closed")

func errClosed() error { return terret.Errorf(terret.CodeInternal, "%w", errStoreClosed) }
