package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// Limits of one batch, so that a session with a lot to write does not hold up the
// others.
const (
	batchEvents   = 512
	backlogEvents = 256 // beyond this a driver waits for the store
)

// linger is how long an event that nobody waits for may wait for the next one, so that
// the end of a message and the end of its turn cost one commit.
const linger = 5 * time.Millisecond

// unsyncedFor is how long after a sync a commit of nothing but pieces of text goes without
// one. A later event holds their full text.
const unsyncedFor = time.Second

// appending is a write that waits to be committed.
type appending struct {
	events []terret.Event
	cursor []byte
	taken  []string
	hits   map[string]int64
	shown  chan struct{} // closed when the events are published, before they are on disk; nil if nobody waits for that
	done   chan struct{} // closed when it is committed and, if it must be, on disk; or never will be
	err    error         // valid after done
}

// wait blocks until a is done. It takes no context: a commit cannot be undone.
func (a *appending) wait() error {
	<-a.done
	return a.err
}

// waitShown blocks until others can see the events, or a is done if shown is nil.
func (a *appending) waitShown() error {
	select {
	case <-a.shown:
		return nil
	case <-a.done:
		return a.err
	}
}

// urgent reports whether somebody may wait for a: its text was not seen before, or it
// changes more than the log.
func (a *appending) urgent() bool {
	for _, ev := range a.events {
		switch ev.Data.(type) {
		case terret.MessageComplete, terret.UsageUpdate:
		default:
			return true
		}
	}
	return len(a.events) == 0 || a.cursor != nil || len(a.taken)+len(a.hits) > 0
}

// committer collects the sessions that have something to commit.
type committer struct {
	mu     sync.Mutex
	dirty  []*live
	closed bool          // nothing more is committed
	wake   chan struct{} // something is dirty
	hurry  chan struct{} // somebody may wait for it
	synced time.Time     // owned by commitLoop
}

// add reports whether l will be committed.
func (c *committer) add(l *live) bool {
	c.mu.Lock()
	ok := !c.closed
	if ok {
		c.dirty = append(c.dirty, l)
	}
	c.mu.Unlock()
	signal(c.wake)
	return ok
}

// signal wakes whoever receives from ch, now or next. ch must be buffered: a second
// signal before the first was received is dropped, since the receiver has yet to look.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// take returns the waiting sessions. If last is set and nothing waits, nothing can be
// added afterwards.
func (c *committer) take(last bool) []*live {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.dirty
	c.dirty = nil
	c.closed = last && len(out) == 0
	return out
}

// commitLoop commits what waits, one transaction at a time, until the engine's life
// ends and nothing is left.
func (e *Engine) commitLoop() {
	for {
		group := e.commits.take(false)
		if len(group) == 0 {
			select {
			case <-e.commits.wake:
			case <-e.life.Done():
				if group = e.commits.take(true); len(group) == 0 {
					return
				}
			}
		}
		if len(group) > 0 {
			e.awaitHurry()
			e.commitGroup(append(group, e.commits.take(false)...))
		}
	}
}

// awaitHurry waits until somebody may wait for what is dirty, but not for long.
func (e *Engine) awaitHurry() {
	select {
	case <-e.commits.hurry:
		return // the usual case; it saves a timer
	default:
	}
	slack := time.NewTimer(linger)
	defer slack.Stop()
	select {
	case <-e.commits.hurry:
	case <-slack.C:
	case <-e.life.Done():
	}
}

// commitGroup commits the sessions' batches and publishes what was committed, in the
// order of the numbers. Then it has the disk write it, and tells those who wait for that.
func (e *Engine) commitGroup(group []*live) {
	batches := make([]terret.Batch, 0, len(group))
	parts := make([][]*appending, 0, len(group))
	owners := make([]*live, 0, len(group))
	for _, l := range group {
		if b, part := l.batch(); len(part) > 0 {
			batches, parts, owners = append(batches, b), append(parts, part), append(owners, l)
		}
	}
	if len(batches) == 0 {
		return
	}
	ctx := context.WithoutCancel(e.life)
	results, err := e.store.Commit(ctx, batches)
	failed := make([]error, len(owners))
	for i, l := range owners {
		if failed[i] = err; err == nil {
			failed[i] = results[i].Err
		}
		if failed[i] == nil {
			e.show(l, results[i], parts[i])
		}
	}
	if err == nil {
		err = e.sync(ctx, batches)
	}
	for i, l := range owners {
		if err := cmp.Or(failed[i], err); err != nil {
			l.fail(parts[i], err)
			continue
		}
		for _, a := range parts[i] {
			close(a.done)
		}
	}
}

// show publishes what was committed.
func (e *Engine) show(l *live, r terret.Result, part []*appending) {
	s := l.committed(r)
	e.hub.Publish(l.id, r.Entries)
	if len(r.Entries) > 0 && s.Agent != NoAgent {
		e.records.Add(s, r.Entries)
	}
	for _, a := range part {
		if a.shown != nil {
			close(a.shown)
		}
		a.events = nil // requests live longer than what they wrote
	}
}

// sync has the disk write what was committed. Pieces of text alone may wait for the rest.
func (e *Engine) sync(ctx context.Context, batches []terret.Batch) error {
	if !slices.ContainsFunc(batches, holdsMore) && time.Since(e.commits.synced) < unsyncedFor {
		return nil
	}
	err := e.store.Sync(ctx)
	e.commits.synced = time.Now()
	return err
}

// holdsMore reports whether a batch holds more than pieces of text.
func holdsMore(b terret.Batch) bool {
	return b.Cursor != nil || len(b.Taken)+len(b.Delivered)+len(b.Hits) > 0 ||
		slices.ContainsFunc(b.Events, func(ev terret.Event) bool { return !ev.Kind().Delta() || ev.Expects != nil })
}

// enqueue passes events to the committer. l.mu must be held; events keep the order of
// the calls.
func (l *live) enqueue(a *appending) *appending {
	a.done = make(chan struct{})
	if err := l.over(); err != nil {
		a.err = err
		close(a.done)
		return a
	}
	if l.backlog += len(a.events); l.backlog > backlogEvents || a.urgent() {
		signal(l.e.commits.hurry) // first, so that the committer need not wait for it
	}
	if !l.dirty && !l.e.commits.add(l) {
		a.err = errClosed
		close(a.done)
		return a
	}
	l.dirty = true
	l.pending = append(l.pending, a)
	return a
}

// over says why nothing more can be written, or nil. A session that was given back may be
// ours again under another live by now, and two batches for one session fail a whole
// commit. l.mu must be held.
func (l *live) over() error {
	if l.why == nil && l.phase == gone {
		return errGone
	}
	return l.why
}

// write passes events and the driver's cursor to the committer, if there are any. l.mu
// must be held.
func (l *live) write(out []terret.Event, cursor []byte) *appending {
	if len(out) == 0 && cursor == nil {
		return nil
	}
	if cursor != nil {
		l.cursor = cursor
	}
	return l.enqueue(&appending{events: out, cursor: cursor})
}

// flush waits until everything written so far is in the log, and on disk if it must be.
func (l *live) flush() error {
	l.mu.Lock()
	if err := l.unusable(); err != nil {
		l.mu.Unlock()
		return err
	}
	a := l.enqueue(&appending{})
	l.mu.Unlock()
	return a.wait()
}

// batch takes the next batch to commit.
func (l *live) batch() (terret.Batch, []*appending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := terret.Batch{Session: l.id, Epoch: l.session.Epoch, After: l.last}
	n := 0
	for _, a := range l.pending {
		if n > 0 && len(b.Events)+len(a.events) > batchEvents {
			break
		}
		n++
		b.Events = append(b.Events, a.events...)
		if a.cursor != nil {
			b.Cursor = a.cursor
		}
		b.Taken = append(b.Taken, a.taken...)
		for id, hits := range a.hits {
			if b.Hits == nil {
				b.Hits = map[string]int64{}
			}
			b.Hits[id] += hits
		}
	}
	b.Delivered, l.delivered = l.delivered, nil
	part := l.pending[:n:n]
	l.pending = l.pending[n:]
	l.backlog -= len(b.Events)
	if l.dirty = len(l.pending) > 0; l.dirty {
		l.e.commits.add(l)
		signal(l.e.commits.hurry)
	} else {
		l.pending = nil // releases the memory
	}
	return b, part
}

// committed records how far the log is, and returns the current session.
func (l *live) committed(r terret.Result) terret.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = r.LastSeq
	l.session.LastSeq = r.LastSeq
	return l.session
}

// fail gives up on the session: it writes nothing more, tells whoever waits, and stops
// the agent. The log stays as it is; the next owner cleans up.
func (l *live) fail(part []*appending, err error) {
	l.mu.Lock()
	first := l.breakOff(part, err)
	l.mu.Unlock()
	if !first {
		return
	}
	if errors.Is(err, terret.ErrFenced) {
		l.log.Warn("another process took over the session")
	} else {
		l.log.Error("session failed", "error", err)
		l.e.hub.Fail(l.id, err)
	}
	if !l.e.goBackground(func() { l.e.abandon(l) }) {
		l.e.abandon(l)
	}
}

// breakOff stops writing to the log, and reports whether it was this call that did.
// l.mu must be held; if it reports true, the caller must abandon the session.
func (l *live) breakOff(part []*appending, err error) bool {
	first := l.why == nil && l.phase != gone
	if first {
		l.why = err
		l.to(broken, nil)
	}
	part = append(part, l.pending...)
	l.pending = nil
	for _, a := range part {
		a.err = err
		close(a.done)
	}
	return first
}
