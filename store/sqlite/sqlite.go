// Package sqlite is the store on one machine: a single SQLite file, inside the
// binary, shared by any number of processes.
//
// # Durability
//
// The file is in WAL mode. What Commit has acknowledged survives kill -9, and power
// cuts too, except for pieces of text that nothing else followed: see sync.go. A
// transaction holds a whole group of batches, so the price is one sync for a group.
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
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// Memory is a path that means a store in memory, gone when it is closed.
const Memory = ":memory:"

const (
	pollEvery = 50 * time.Millisecond // how often Wait looks for what other processes wrote
	yieldFor  = time.Millisecond      // pause between transactions while others write too
)

// What connections are told at first. Those that write find out for themselves how long
// to wait for others. Those that read meet a lock only for the moment in which another
// process opens the file first, after a crash, or closes it last. They map the file,
// which makes a replay half as fast again; it never shrinks while it is open, since
// nothing here vacuums it in place.
const (
	setUp        = "PRAGMA synchronous = FULL; PRAGMA fullfsync = 1; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;"
	setUpWriter  = setUp + "PRAGMA journal_size_limit = 67108864;"
	setUpReader  = "PRAGMA busy_timeout = 5000;" + setUp + "PRAGMA mmap_size = 1073741824; PRAGMA query_only = 1;"
	setUpOneself = "PRAGMA busy_timeout = 5000;" + setUp
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
	version int   // of the schema
	boot    int64 // of the machine

	readers readers

	// turn holds one token: whose turn it is to use db. Who has it guards what follows.
	turn     chan struct{}
	db       *lite.Conn // writes; nil before and after
	sync     syncer
	files    identity
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
	if s.path == Memory {
		return s.openWriter(ctx, ":memory:")
	}
	if err := prepareFile(s.path); err != nil {
		return err
	}
	path, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	s.readers.init(func() (*lite.Conn, error) { return dial(path, setUpReader) })
	lost, err := lostInWAL(path)
	if err != nil {
		return err
	}
	if lost != "" {
		s.log.Error("the database was damaged", "problem", lost)
	}
	if err := s.openWriter(ctx, path); err != nil {
		return err
	}
	s.noteFiles()
	if s.boot = boot(); s.boot == 0 {
		return nil // so everything is synced
	}
	last, err := lastBoot(s.db)
	if err == nil && last != s.boot {
		err = s.begin(ctx, synced, s.jump)
	}
	s.sync.lazy = err == nil
	return err
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

// openWriter opens the connection that writes, and brings the schema up to date.
// Nothing is changed before it is known that the file is ours.
func (s *Store) openWriter(ctx context.Context, path string) error {
	var err error
	if s.db, err = lite.Open(path); err != nil {
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
	return s.begin(ctx, synced, func(tx *lite.Conn) error {
		s.version, err = migrate(tx, s.path)
		return err
	})
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
	<-s.turn // somebody may still look for rivals
	defer func() { s.turn <- struct{}{} }()
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
		s.db = nil
	}
	return err
}
