package journal

import (
	"sync"

	"github.com/terret-dev/terret"
)

// batchEvents bounds a batch, so that a session with a lot to write does not hold up the
// others. A log with more than backlogEvents is full.
const (
	batchEvents   = 512
	backlogEvents = 256
)

// Write is a write that waits to be committed.
type Write struct {
	Events []terret.Event
	Cursor []byte           // the driver's
	Taken  []string         // inbox items that it handles
	Hits   map[string]int64 // of rules

	done chan struct{} // closed when it is committed and published, or never will be
	err  error         // valid after done
}

// Wait blocks until w is committed, so that it is on disk and others can see it. It takes
// no context: a commit cannot be undone.
func (w *Write) Wait() error {
	<-w.done
	return w.err
}

func (w *Write) fail(err error) {
	w.err = err
	close(w.done)
}

// urgent reports whether somebody may wait for w: its text was not seen before, or it
// changes more than the log.
func (w *Write) urgent() bool {
	for _, ev := range w.Events {
		switch ev.Data.(type) {
		case terret.MessageComplete, terret.UsageUpdate:
		default:
			return true
		}
	}
	return len(w.Events) == 0 || w.Cursor != nil || len(w.Taken)+len(w.Hits) > 0
}

// Owner is who writes to a log. The journal calls it without a lock of its own.
type Owner interface {
	// Committed says what was committed, before others can see it.
	Committed(r terret.Result)
	// Failed says that a write failed. It must call Log.End.
	Failed(err error)
}

// Log is the log of one session while this process owns it.
type Log struct {
	j       *Journal
	session string
	epoch   int64
	owner   Owner

	mu        sync.Mutex
	last      int64 // number of the last committed event
	pending   []*Write
	delivered []string // requests whose decision reached the agent; goes with the next batch
	backlog   int      // events in pending
	dirty     bool     // the journal knows of them
	hurry     bool     // somebody may wait for them
	end       error    // why nothing more can be written, if so
}

// Open begins to write to the log of a session that was just claimed.
func (j *Journal) Open(s terret.Session, owner Owner) *Log {
	return &Log{j: j, session: s.ID, epoch: s.Epoch, last: s.LastSeq, owner: owner}
}

// Append passes a write to the journal. Events keep the order of the calls.
func (l *Log) Append(w *Write) *Write {
	w.done = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		w.fail(l.end)
		return w
	}
	if !l.dirty {
		if err := l.j.add(l); err != nil {
			w.fail(err)
			return w
		}
	}
	l.dirty = true
	l.pending = append(l.pending, w)
	if l.backlog += len(w.Events); l.backlog > backlogEvents || w.urgent() {
		l.hurry = true
		signal(l.j.hurry)
	}
	return w
}

func (l *Log) hurries() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hurry
}

// Full reports whether whoever writes should wait for the store.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backlog > backlogEvents
}

// Delivered says that a decision reached the agent. That needs no commit of its own: the
// agent continues now.
func (l *Log) Delivered(request string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delivered = append(l.delivered, request)
}

// End refuses everything that waits and that comes later. The first reason stays for what
// comes later.
func (l *Log) End(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		l.end = why
	}
	for _, w := range l.pending {
		w.fail(why)
	}
	l.pending = nil
}

// batch takes the next batch to commit.
func (l *Log) batch() (terret.Batch, []*Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := terret.Batch{Session: l.session, Epoch: l.epoch, After: l.last}
	n := 0
	for _, w := range l.pending {
		if n > 0 && len(b.Events)+len(w.Events) > batchEvents {
			break
		}
		n++
		b.Events = append(b.Events, w.Events...)
		if w.Cursor != nil {
			b.Cursor = w.Cursor
		}
		b.Taken = append(b.Taken, w.Taken...)
		for id, hits := range w.Hits {
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
	l.dirty = len(l.pending) > 0
	if l.hurry = l.dirty; l.dirty {
		_ = l.j.add(l) // it is open: this is its loop
	} else {
		l.pending = nil // releases the memory
	}
	return b, part
}

// show publishes what was committed, and tells those who wait for it.
func (l *Log) show(r terret.Result, part []*Write) {
	l.mu.Lock()
	l.last = r.LastSeq
	l.mu.Unlock()
	l.owner.Committed(r)
	l.j.readers.Publish(l.session, r.Entries)
	for _, w := range part {
		w.Events = nil // requests live longer than what they wrote
		close(w.done)
	}
}

// putBack has the log's end refuse a batch that could not be committed.
func (l *Log) putBack(part []*Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(part, l.pending...)
}
