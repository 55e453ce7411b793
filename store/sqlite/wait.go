package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"
)

// news tells waiters that something was committed. Commits of this process are
// announced at once; those of others are found by asking SQLite for its data version,
// which costs microseconds. There is no goroutine: the waiters themselves ask.
type news struct {
	mu       sync.Mutex
	version  int64
	foreign  int64         // see ForeignVersion
	changed  chan struct{} // closed at each change
	closed   bool
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

// others says that there may be work for the owners of sessions.
func (n *news) others() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.foreign++
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
}

// ForeignVersion implements terret.Log.
func (s *Store) ForeignVersion() int64 {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	return s.news.foreign
}

// Wait implements terret.Log.
func (s *Store) Wait(ctx context.Context, since int64) (int64, error) {
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	for {
		version, changed, err := s.poll()
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
func (s *Store) poll() (version int64, changed <-chan struct{}, err error) {
	n := &s.news
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.path != Memory && !n.closed && time.Since(n.lastPoll) >= pollEvery/2 {
		n.lastPoll = time.Now()
		n.mu.Unlock()
		err = s.lookForRivals()
		n.mu.Lock()
	}
	if n.closed {
		return 0, nil, errClosed()
	}
	return n.version, n.changed, err
}

// lookForRivals checks whether others have written. It does not wait for the turn: the
// transaction that has it checks too.
func (s *Store) lookForRivals() error {
	select {
	case <-s.turn:
	default:
		return nil
	}
	defer func() { s.turn <- struct{}{} }()
	if s.db == nil {
		return nil // the waiters will be told
	}
	err := s.noteRivals()
	if isBusy(err) { // another process opens the file first, or closes it last: the next check will tell
		return nil
	}
	return err
}
