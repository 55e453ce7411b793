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
	version int // of the schema

	reads preparedReads

	// turn holds one token: whose turn it is to use db. Who has it guards what follows.
	turn     chan struct{}
	writes   preparedWrites
	rival    int64 // data_version when last asked; changed by other processes only
	suspect  bool  // others have written, and may have changed the schema
	contests int   // how many more writes to pause after

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
	err = s.begin(ctx, func(tx *txn) error {
		s.version, err = migrate(ctx, tx.Tx, s.path)
		return err
	})
	if err != nil {
		return err
	}
	s.readers = s.db
	if s.path == Memory {
		return nil
	}
	if s.readers, err = sql.Open("sqlite", dsn(s.path, waitBusy+"&"+mapped+"&_pragma=query_only(1)")); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(maxReaders)
	s.readers.SetMaxIdleConns(maxReaders)
	return nil
}

// creating is held while a store of this process makes its file, so that no other
// has it open yet. See prepareFile.
var creating sync.Mutex

// prepareFile makes the folder and the file, private to the user. A file that is
// there already is left to SQLite: its locks belong to the process, and closing
// any other descriptor of the file would give up those of all stores in it.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return terret.Errorf(terret.CodeStartupRefused, "cannot make the data folder: %w", err)
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
	return terret.Errorf(terret.CodeStartupRefused, "cannot write the database: %w; check the folder's permissions or choose another data folder", err)
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
		<-s.turn // somebody may still look for rivals
		err = errors.Join(err, s.writes.close(), s.db.Close())
		s.turn <- struct{}{}
	}
	return err
}
