package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// news tells waiters that something was committed. Commits of this process are
// told at once; those of others are seen by asking SQLite for its data version,
// which costs microseconds. There is no goroutine: whoever waits, asks.
type news struct {
	mu      sync.Mutex
	version int64
	changed chan struct{} // closed at each change
	closed  bool

	conn     *sql.Conn // data versions can be compared on one connection only
	ask      *sql.Stmt // for the data version
	seen     int64
	lastPoll time.Time
}

var errStoreClosed = errors.New("the store is closed")

func (n *news) init() {
	n.version = 1
	n.changed = make(chan struct{})
}

func (n *news) publish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bump()
}

func (n *news) bump() {
	n.version++
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *news) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.bump()
	if n.ask != nil {
		_ = n.ask.Close()
		n.ask = nil
	}
	if n.conn != nil {
		n.conn.Close()
		n.conn = nil
	}
}

// Wait implements terret.Log.
func (s *Store) Wait(ctx context.Context, since int64) (int64, error) {
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	for {
		version, changed, err := s.poll(ctx)
		if err != nil {
			return 0, describe("wait for news", s.path, err)
		}
		if version != since {
			return version, nil
		}
		t.Reset(pollEvery)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// poll looks for commits of other processes, unless somebody just did.
func (s *Store) poll(ctx context.Context) (version int64, changed <-chan struct{}, err error) {
	n := &s.news
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return 0, nil, terret.Errorf(terret.KindInternal, "%w", errStoreClosed)
	}
	if s.path == Memory || time.Since(n.lastPoll) < pollEvery/2 {
		return n.version, n.changed, nil
	}
	if n.conn == nil {
		if n.conn, err = s.readers.Conn(ctx); err != nil {
			return 0, nil, err
		}
	}
	if n.ask == nil {
		if n.ask, err = n.conn.PrepareContext(ctx, "PRAGMA data_version"); err != nil {
			return 0, nil, err
		}
	}
	var v int64
	if err := n.ask.QueryRowContext(context.WithoutCancel(ctx)).Scan(&v); err != nil {
		return 0, nil, err
	}
	n.lastPoll = time.Now()
	if v != n.seen {
		n.seen = v
		n.bump()
	}
	return n.version, n.changed, nil
}
