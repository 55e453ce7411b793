// Package journal writes the logs of sessions. Everything that waits, of all sessions,
// goes into one transaction. What was committed is on disk; it is published, and those who
// wait for it are told.
//
// One goroutine does it, in [Journal.Run]. A session's [Log] keeps the order of its
// writes. If one cannot be committed, the log's owner is told: nothing may be skipped.
package journal

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// linger is how long an event that nobody waits for may wait for the next one, so that
// the end of a message and the end of its turn cost one commit.
const linger = 5 * time.Millisecond

// Store is what a journal needs of a store.
type Store interface {
	Commit(ctx context.Context, batches []terret.Batch) ([]terret.Result, error)
}

// Readers are told what was committed.
type Readers interface {
	Publish(session string, entries []terret.Entry)
}

// Journal collects the logs that have something to commit.
type Journal struct {
	store   Store
	readers Readers
	wake    chan struct{} // something is dirty
	hurry   chan struct{} // somebody may wait for it, as its log says

	mu     sync.Mutex
	dirty  []*Log
	closed error // why nothing more is committed, if so
}

// New makes a journal. Somebody must run it.
func New(store Store, readers Readers) *Journal {
	return &Journal{store: store, readers: readers, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

// Run commits what waits, one transaction at a time, until life ends and nothing is left.
func (j *Journal) Run(life context.Context) {
	for {
		group := j.waiting(nil)
		if len(group) == 0 {
			select {
			case <-j.wake:
			case <-life.Done():
				if group = j.waiting(context.Cause(life)); len(group) == 0 {
					return
				}
			}
		}
		if len(group) > 0 {
			j.commit(context.WithoutCancel(life), append(j.awaitHurry(life, group), j.waiting(nil)...))
		}
	}
}

// waiting returns the logs that wait. If end is set and nothing waits, nothing can be
// added afterwards, for that reason.
func (j *Journal) waiting(end error) []*Log {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.dirty
	j.dirty = nil
	if len(out) == 0 {
		j.closed = end
	}
	return out
}

// add has l committed, or says why not.
func (j *Journal) add(l *Log) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed != nil {
		return j.closed
	}
	j.dirty = append(j.dirty, l)
	signal(j.wake)
	return nil
}

// awaitHurry waits until somebody may wait for what is dirty, but not for long. It returns
// the group and what came meanwhile.
func (j *Journal) awaitHurry(life context.Context, group []*Log) []*Log {
	if slices.ContainsFunc(group, (*Log).hurries) {
		return group // the usual case; it saves a timer
	}
	slack := time.NewTimer(linger)
	defer slack.Stop()
	for !slices.ContainsFunc(group, (*Log).hurries) {
		select {
		case <-j.hurry: // or it was for what is committed by now
			group = append(group, j.waiting(nil)...)
		case <-slack.C:
			return group
		case <-life.Done():
			return group
		}
	}
	return group
}

// commit commits the logs' batches, publishes what was committed, in the order of the
// numbers, and tells those who wait for it.
func (j *Journal) commit(ctx context.Context, group []*Log) {
	batches := make([]terret.Batch, 0, len(group))
	parts := make([][]*Write, 0, len(group))
	logs := make([]*Log, 0, len(group))
	for _, l := range group {
		if b, part := l.batch(); len(part) > 0 {
			batches, parts, logs = append(batches, b), append(parts, part), append(logs, l)
		}
	}
	if len(batches) == 0 {
		return
	}
	results, err := j.store.Commit(ctx, batches)
	for i, l := range logs {
		failed := err
		if err == nil {
			failed = results[i].Err
		}
		if failed != nil {
			l.putBack(parts[i])
			l.owner.Failed(failed)
			continue
		}
		l.show(results[i], parts[i])
	}
}

// signal wakes whoever receives from ch, now or next. ch must be buffered: a second
// signal before the first was received is dropped, since the receiver has yet to look.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
