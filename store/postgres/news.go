package postgres

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// news tells waiters that something was committed. Commits of this store are announced at
// once; those of others come as notifications, and are looked for every second in case
// one was lost.
type news struct {
	mu      sync.Mutex
	any     topic
	foreign topic // see WaitForeign
	seen    int64 // the database's version
	closed  bool
	listens bool // a caller has waited, so there is a listener
}

// topic is something that changes.
type topic struct {
	version int64
	changed chan struct{} // closed at each change
}

func (t *topic) bump() {
	t.version++
	if t.changed != nil {
		close(t.changed)
	}
	t.changed = make(chan struct{})
}

func (n *news) init(version int64) {
	n.seen = version
	n.any.bump()
	n.foreign.bump()
}

// mine says that this store has made a change, which got that version. If versions are
// missing before it, others have made changes too.
func (n *news) mine(version int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if version > n.seen+1 {
		n.foreign.bump()
	}
	n.seen = max(n.seen, version)
	n.any.bump()
}

// theirs says that the database was seen in a version that is not, or not only, of this
// store's making.
func (n *news) theirs(version int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if version <= n.seen {
		return
	}
	n.seen = version
	n.any.bump()
	n.foreign.bump()
}

// others says that there may be work for the owners of sessions.
func (n *news) others() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.any.bump()
	n.foreign.bump()
}

func (n *news) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

func (n *news) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.any.bump()
	n.foreign.bump()
}

// Wait implements terret.Log.
func (s *Store) Wait(ctx context.Context, since int64) (int64, error) {
	return s.wait(ctx, since, &s.news.any)
}

// WaitForeign implements terret.Log.
func (s *Store) WaitForeign(ctx context.Context, since int64) (int64, error) {
	return s.wait(ctx, since, &s.news.foreign)
}

func (s *Store) wait(ctx context.Context, since int64, t *topic) (int64, error) {
	for {
		s.news.mu.Lock()
		version, changed, closed := t.version, t.changed, s.news.closed
		if !closed && !s.news.listens {
			s.news.listens = true
			s.work.Go(s.listen)
		}
		s.news.mu.Unlock()
		switch {
		case closed:
			return 0, errClosed()
		case version != since:
			return version, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// channel is where changes are announced. Channels belong to the whole database, so its
// name holds the schema's.
func (s *Store) channel() string {
	name := "terret_" + s.schema
	return name[:min(len(name), 63)]
}

// listen hears of the changes that others make, until the store is closed. It never gives
// up: callers wait for a database that cannot be reached, too.
func (s *Store) listen() {
	for s.pooled.Load() && pause(s.life, pollPooled) {
		s.look()
	}
	for s.life.Err() == nil {
		if c, err := s.connect(s.life, s.worker.name()); err == nil {
			s.hear(c)
			_ = c.Close(context.WithoutCancel(s.life))
		}
		pause(s.life, 200*time.Millisecond)
		s.look()
	}
}

// hear listens on one connection until it breaks.
func (s *Store) hear(c *pgx.Conn) {
	if _, err := c.Exec(s.life, `LISTEN `+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return
	}
	for s.look(); s.life.Err() == nil; {
		ctx, cancel := context.WithTimeout(s.life, pollEvery)
		n, err := c.WaitForNotification(ctx)
		cancel()
		switch {
		case err == nil:
			who, number, _ := strings.Cut(n.Payload, " ")
			if version, err := strconv.ParseInt(number, 10, 64); err == nil && who != s.worker.name() {
				s.news.theirs(version)
			}
		case ctx.Err() != nil && !c.IsClosed():
			s.look()
		default:
			return
		}
	}
}

// look asks the database for its version. If this store is changing something at the
// moment, it will find out by itself.
func (s *Store) look() {
	select {
	case <-s.turn:
	default:
		return
	}
	defer func() { s.turn <- struct{}{} }()
	ctx, cancel := context.WithTimeout(s.life, 5*time.Second)
	defer cancel()
	var version int64
	if s.pool.QueryRow(ctx, `SELECT version FROM terret`).Scan(&version) == nil {
		s.news.theirs(version)
	}
}
