// Package sqlite is the store on one machine: a single SQLite file, inside the
// binary, shared by any number of processes.
//
// # Durability
//
// The file is in WAL mode with synchronous=FULL: what Commit has acknowledged
// survives kill -9 and power cuts. A transaction holds a whole group of batches,
// so the price is one sync for a group.
//
// # Concurrency
//
// Each process has one connection that writes and a pool that reads. Writers of
// several processes take turns: one that sees others write pauses for a moment
// after each of its transactions, so that none starves. Readers never wait for
// writers, nor writers for readers.
//
// # Ownership
//
// An open store is a worker: from its first claim on it holds a lock on a file of
// its own beside the database. A lock that is free means that the worker is dead,
// whatever became of its process, and that its sessions may be claimed.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"github.com/terret-dev/terret"
)

// Memory is a path that means a store in memory, gone when it is closed.
const Memory = ":memory:"

const (
	pollEvery  = 50 * time.Millisecond // how often Wait looks for what other processes wrote
	yieldFor   = time.Millisecond      // pause between transactions while others write too
	maxReaders = 8
	// Readers map the file, which makes a replay half as fast again. It never
	// shrinks while it is open: nothing here vacuums it in place.
	mapped = "_pragma=mmap_size(1073741824)"
)

// Options tune a store. The zero value is right for almost everybody.
type Options struct {
	// Log is for the operator; nil means nobody.
	Log *slog.Logger
}

// Store is a terret.Store in an SQLite file.
type Store struct {
	path    string
	log     *slog.Logger
	db      *sql.DB // one connection, writes
	readers *sql.DB
	stmts   statements
	version int // of the schema

	reads preparedReads

	turn     chan struct{} // holds one token: whose turn it is to write
	rival    int64         // data_version at the last write; changed by other processes only
	contests int           // how many more writes to pause after

	worker worker
	news   news
	keys   sync.Map // id of a session to its key, an int64

	closing sync.Once
	closed  error

	// fault, if set by a test, is called before and after the commit of a
	// transaction, as if the disk had failed there.
	fault func(phase string) error
}

var (
	_ terret.Store      = (*Store)(nil)
	_ terret.Maintainer = (*Store)(nil)
)

// Open opens the file at path, creating it and its folder if they are not there,
// and brings its schema up to date. The caller must Close the store.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{path: path, log: o.Log, turn: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.turn <- struct{}{}
	s.news.init()
	s.worker.init(path)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(describe("open", path, err), s.closeDatabases())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.path != Memory {
		if err := prepareFile(s.path); err != nil {
			return err
		}
	}
	var err error
	if s.db, err = sql.Open("sqlite", dsn(s.path, "_pragma=busy_timeout(0)&_txlock=immediate")); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	s.db.SetConnMaxIdleTime(0)
	// Nothing is changed before it is known that the file is ours.
	err = s.whileBusy(ctx, func() error {
		if _, _, err := schema(ctx, s.db, s.path); err != nil {
			return err
		}
		_, err := s.db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
	if err != nil {
		return err
	}
	err = s.begin(ctx, func(tx *sql.Tx) error {
		s.version, err = migrate(ctx, tx, s.path)
		return err
	})
	if err != nil {
		return err
	}
	s.readers = s.db
	if s.path != Memory {
		if s.readers, err = sql.Open("sqlite", dsn(s.path, waitBusy+"&"+mapped+"&_pragma=query_only(1)")); err != nil {
			return err
		}
		s.readers.SetMaxOpenConns(maxReaders)
		s.readers.SetMaxIdleConns(maxReaders)
	}
	return s.stmts.prepare(ctx, s.db)
}

// creating is held while a store of this process makes its file, so that no other
// has it open yet. See prepareFile.
var creating sync.Mutex

// prepareFile makes the folder and the file, private to the user. A file that is
// there already is left to SQLite: its locks belong to the process, and closing
// any other descriptor of the file would give up those of all stores in it.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return terret.Errorf(terret.KindStartupRefused, "cannot make the data folder: %w", err)
	}
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, os.ErrExist) {
		err = writable(path)
	}
	if err == nil {
		return nil
	}
	return terret.Errorf(terret.KindStartupRefused, "cannot write the database: %w; check the folder's permissions or choose another data folder", err)
}

// waitBusy is for connections that read: they meet a lock only for the moment in
// which another process opens the file first, after a crash, or closes it last.
const waitBusy = "_pragma=busy_timeout(5000)"

func dsn(path, extra string) string {
	const pragmas = "_pragma=synchronous(FULL)&_pragma=fullfsync(1)" +
		"&_pragma=journal_size_limit(67108864)&_pragma=cache_size(-8000)&_pragma=temp_store(MEMORY)&"
	if path == Memory {
		return path + "?" + extra
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: pragmas + extra}
	return u.String()
}

// Close gives back the sessions that this worker owns and closes the file.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.news.close()
		s.closed = errors.Join(s.retire(), s.closeDatabases())
	})
	return s.closed
}

func (s *Store) closeDatabases() error {
	err := s.reads.close()
	if s.readers != nil && s.readers != s.db {
		err = errors.Join(err, s.readers.Close())
	}
	if s.db != nil {
		err = errors.Join(err, s.stmts.close(), s.db.Close())
	}
	return err
}

// write runs fn in a transaction that is alone in writing, and says so to those
// who Wait. The context bounds the wait for the turn; once begun, the
// transaction runs to its end.
func (s *Store) write(ctx context.Context, what string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	err := s.begin(ctx, func(tx *sql.Tx) error {
		if err := s.checkSchema(tx); err != nil {
			return err
		}
		return fn(context.WithoutCancel(ctx), tx)
	})
	if err != nil {
		return describe(what, s.path, err)
	}
	s.news.publish()
	return nil
}

// begin waits for this process's turn, then for the file, and runs fn in a
// transaction.
func (s *Store) begin(ctx context.Context, fn func(*sql.Tx) error) error {
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
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	if err := fn(tx); err != nil {
		return err
	}
	return s.commit(tx)
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
func (s *Store) beginImmediate(ctx context.Context) (*sql.Tx, error) {
	if s.contests > 0 {
		s.contests--
		pause(ctx, yieldFor)
	}
	var tx *sql.Tx
	err := s.whileBusy(ctx, func() (err error) {
		tx, err = s.db.BeginTx(context.WithoutCancel(ctx), nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.noteRivals(tx)
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

// noteRivals finds out whether other processes have written since the last time.
func (s *Store) noteRivals(tx *sql.Tx) {
	var v int64
	if tx.QueryRow("PRAGMA data_version").Scan(&v) == nil && v != s.rival { //nolint:noctx // local and instant
		if s.rival != 0 {
			s.contests = contestedFor
		}
		s.rival = v
	}
}

// checkSchema stops an old process when a newer one has migrated the file.
func (s *Store) checkSchema(tx *sql.Tx) error {
	var v int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&v); err != nil { //nolint:noctx // local and instant
		return err
	}
	if v != s.version {
		return newerSchema(s.path, v, s.version)
	}
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

// statements are those of every commit, prepared once on the write connection.
type statements struct {
	fence, insert, insertAll, insertBlob *sql.Stmt
}

// writer writes batches in a transaction.
type writer struct {
	store         *Store
	tx            *sql.Tx
	fence, insert *sql.Stmt
}

func (s *Store) writer(ctx context.Context, tx *sql.Tx) *writer {
	return &writer{store: s, tx: tx, fence: tx.StmtContext(ctx, s.stmts.fence), insert: tx.StmtContext(ctx, s.stmts.insert)}
}

func (st *statements) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range []struct {
		into **sql.Stmt
		sql  string
	}{
		{&st.fence, sqlFence},
		{&st.insert, sqlInsertEvent},
		{&st.insertAll, sqlInsertWholeEvent},
		{&st.insertBlob, sqlInsertBlob},
	} {
		var err error
		if *p.into, err = db.PrepareContext(ctx, p.sql); err != nil {
			return fmt.Errorf("prepare %q: %w", p.sql, err)
		}
	}
	return nil
}

func (st *statements) close() error {
	var err error
	for _, s := range []*sql.Stmt{st.fence, st.insert, st.insertAll, st.insertBlob} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}
