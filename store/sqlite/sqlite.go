// Package sqlite is the store on one machine: a single SQLite file, with SQLite built
// into the binary, shared by any number of processes.
//
// # Durability
//
// The file is in WAL mode, and SQLite syncs each transaction before anybody sees it. A
// transaction holds a whole group of batches, so the price is one sync per group.
//
// # Concurrency
//
// Each process has one connection that writes and a pool that reads. Writers of several
// processes take turns: one that sees others write pauses for a moment after each of
// its transactions, so that none starves. Readers never wait for writers, nor writers
// for readers.
//
// # Ownership
//
// An open store is a worker: from its first claim on it holds a lock on its own file
// beside the database. If the lock is free, the worker is dead, whatever happened to
// its process, and its sessions may be claimed.
package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// Memory is the path of a store in memory, which is gone when it is closed.
const Memory = ":memory:"

const (
	pollEvery = 50 * time.Millisecond // how often Wait looks for what other processes wrote
	yieldFor  = time.Millisecond      // pause between transactions while others write too
)

// Initial settings of connections. The writer has its own way of waiting for others.
// Readers meet a lock only for the moment when another process opens the file first,
// after a crash, or closes it last. Readers map the file, which speeds up a replay by
// half; the file never shrinks while it is open, since nothing vacuums it in place.
const (
	setUp        = "PRAGMA synchronous = FULL; PRAGMA fullfsync = 1; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;"
	setUpWriter  = setUp + "PRAGMA journal_size_limit = 67108864;"
	setUpReader  = "PRAGMA busy_timeout = 5000;" + setUp + "PRAGMA mmap_size = 1073741824; PRAGMA query_only = 1;"
	setUpOneself = "PRAGMA busy_timeout = 5000;" + setUp
)

// Options tunes a store. The zero value is right for almost everybody.
type Options struct {
	// Log is for the operator; nil discards it.
	Log *slog.Logger
}

// Store is a terret.Store in an SQLite file.
type Store struct {
	path    string // absolute, and without links once it is open: the other files are beside what they lead to
	log     *slog.Logger
	version int // of the schema

	readers readers

	// turn holds one token for the use of db. Its holder guards what follows.
	turn     chan struct{}
	db       *lite.Conn // the writer; nil before Open and after Close
	files    identity
	rival    int64 // data_version when last asked; changed by other processes only
	suspect  bool  // others have written, and may have changed the schema
	contests int   // how many more writes to pause after

	worker worker
	news   news
	keys   sync.Map // session id to key, an int64

	closing sync.Once
	closed  error

	// fault, if set by a test, is called before and after the commit of a transaction, as
	// if the disk had failed there.
	fault func(phase string) error
}

var (
	_ terret.Store      = (*Store)(nil)
	_ terret.Maintainer = (*Store)(nil)
)

// Open opens the file at path, creating it and its folder if need be, and brings its
// schema up to date. The caller must Close the store.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{path: path, log: o.Log, turn: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.turn <- struct{}{}
	s.news.init()
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(describe("open", path, err), s.closeDatabases())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.path == Memory {
		s.worker.init(Memory)
		return s.openWriter(ctx)
	}
	if err := prepareFile(s.path); err != nil {
		return err
	}
	var err error
	if s.path, err = realPath(s.path); err != nil {
		return err
	}
	s.worker.init(s.path)
	s.readers.init(func() (*lite.Conn, error) { return dial(s.path, setUpReader) })
	lost, err := lostInWAL(s.path)
	if err != nil {
		return err
	}
	if lost != "" {
		s.log.Error("the database was damaged", "problem", lost)
	}
	if err := s.openWriter(ctx); err != nil {
		return err
	}
	s.noteFiles()
	return nil
}

func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// dial opens a connection and sets it up.
func dial(path, pragmas string) (*lite.Conn, error) {
	c, err := lite.Open(path)
	if err != nil {
		return nil, err
	}
	if err := c.Script(pragmas); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openWriter opens the write connection and brings the schema up to date. It changes
// nothing before it knows that the file is ours.
func (s *Store) openWriter(ctx context.Context) error {
	var err error
	if s.db, err = lite.Open(s.path); err != nil {
		return err
	}
	var known int
	err = s.whileBusy(ctx, func() error {
		if s.version, known, err = schemaVersion(s.db, s.path); err != nil {
			return err
		}
		return s.db.Script("PRAGMA journal_mode = WAL;" + setUpWriter)
	})
	if err != nil || s.version == known {
		return err
	}
	return s.begin(ctx, func(tx *lite.Conn) error {
		if err := s.copyBefore(ctx, tx); err != nil {
			return err
		}
		s.version, err = migrate(tx, s.path)
		return err
	})
}

// creating is held while a store of this process creates its file, so that no other
// store has it open yet. See prepareFile.
var creating sync.Mutex

// prepareFile creates the folder and the file, private to the user. It leaves an
// existing file to SQLite: its locks belong to the process, and closing any other
// descriptor of the file would release those of all stores in it.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return terret.Errorf(terret.CodeStartupRefused, "cannot create the data folder: %w", err)
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

// Close gives back the sessions that this worker owns and closes the file.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.news.close()
		s.closed = errors.Join(s.retire(), s.closeDatabases())
	})
	return s.closed
}

func (s *Store) closeDatabases() error {
	err := s.readers.close()
	<-s.turn // a goroutine may still be looking for rivals
	defer func() { s.turn <- struct{}{} }()
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
		s.db = nil
	}
	return err
}
