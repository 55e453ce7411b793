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
	any      topic
	foreign  topic // see WaitForeign
	closed   bool
	lastPoll time.Time
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

var errStoreClosed = errors.New("the store is closed")

func (n *news) init() {
	n.any.bump()
	n.foreign.bump()
}

func (n *news) publish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.any.bump()
}

// others says that there may be work for the owners of sessions.
func (n *news) others() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.any.bump()
	n.foreign.bump()
}

// looked records that a caller has just looked for commits of other processes.
func (n *news) looked() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lastPoll = time.Now()
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
	return s.wait(ctx, since, func() (int64, <-chan struct{}) { return s.news.any.version, s.news.any.changed })
}

// WaitForeign implements terret.Log.
func (s *Store) WaitForeign(ctx context.Context, since int64) (int64, error) {
	return s.wait(ctx, since, func() (int64, <-chan struct{}) { return s.news.foreign.version, s.news.foreign.changed })
}

// wait waits for the version to change. It calls current with the lock of the news.
func (s *Store) wait(ctx context.Context, since int64, current func() (int64, <-chan struct{})) (int64, error) {
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	for {
		if err := s.poll(); err != nil {
			return 0, describe("wait for news", s.path, err)
		}
		s.news.mu.Lock()
		version, changed := current()
		s.news.mu.Unlock()
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

// poll looks for commits of other processes, unless another caller just did.
func (s *Store) poll() error {
	n := &s.news
	n.mu.Lock()
	closed := n.closed
	look := s.path != Memory && !closed && time.Since(n.lastPoll) >= pollEvery/2
	n.mu.Unlock()
	switch {
	case closed:
		return errClosed()
	case look:
		return s.lookForRivals()
	}
	return nil
}

// lookForRivals checks whether others have written. It does not wait for the turn: a
// transaction that has it checks too, and the next poll is not far.
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
