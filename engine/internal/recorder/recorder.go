// Package recorder tells a [Sink], such as the files in a project's folder, what was
// committed, without ever holding up the committer.
//
// What turns bring waits in a queue for up to a second, so that the sink gets it in one
// call: it opens files once per turn instead of once per line, and not while the turn
// needs the processor. What happens rarely, such as the start of an agent, is told at
// once, with all that waits. The queue is unbounded: a sink that hangs costs memory,
// never an event.
//
// [New] starts one goroutine; only that goroutine calls the sink. [Recorder.Close] ends
// it and waits for it.
package recorder

import (
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// The first record waits this long for others, or until there are enough entries, since
// they take memory.
const (
	gather = time.Second
	enough = 1000
)

// Sink keeps records besides the log. One goroutine calls it, for each session in the
// order of its commits. It may take its time.
type Sink interface {
	// Record gets entries and the session as it was after the last of them. It is also
	// called without entries, when a session is created.
	Record(s terret.Session, entries []terret.Entry)
	// Remove is called when a session is deleted.
	Remove(s terret.Session)
}

// Recorder feeds a sink. It is safe for concurrent use.
type Recorder struct {
	to      Sink
	wake    chan struct{} // has room for one
	now     chan struct{} // the same; what waits is to be told without waiting for more
	closing chan struct{}
	done    chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   []record
	waiting int // entries in the queue
	closed  bool
}

// record is something to tell the sink.
type record struct {
	session terret.Session
	entries []terret.Entry
	removed bool
}

// New makes a recorder and starts it. Without a sink it does nothing. The caller must
// Close it.
func New(to Sink) *Recorder {
	r := &Recorder{to: to, wake: make(chan struct{}, 1), now: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	if to == nil {
		close(r.done)
		return r
	}
	go r.loop()
	return r
}

// Add records committed entries, which nobody may change any more, and the current
// session; without entries, a new session. Entries of one session must be added in
// order. It never blocks on the sink, and does nothing after Close.
func (r *Recorder) Add(s terret.Session, entries []terret.Entry) {
	r.put(record{session: s, entries: entries})
}

// Remove records that the session was deleted. Otherwise it works like Add.
func (r *Recorder) Remove(s terret.Session) { r.put(record{session: s, removed: true}) }

func (r *Recorder) put(rec record) {
	if r.to == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.queue = append(r.queue, rec)
	signal(r.wake)
	if r.waiting += len(rec.entries); r.waiting >= enough || rec.rare() {
		signal(r.now)
	}
}

// rare reports whether the record is of something that happens once in the life of a
// session or of an agent's process.
func (rec record) rare() bool {
	return len(rec.entries) == 0 || slices.ContainsFunc(rec.entries, func(e terret.Entry) bool {
		return e.Kind == terret.KindProcessSpawn || e.Kind == terret.KindProcessExit || e.Kind == terret.KindSessionEnd
	})
}

func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Close waits until the sink has been told everything. It is idempotent.
func (r *Recorder) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	r.mu.Unlock()
	<-r.done
}

func (r *Recorder) loop() {
	defer close(r.done)
	for open := true; open; {
		open = r.wait()
		for _, rec := range r.take() {
			if rec.removed {
				r.to.Remove(rec.session)
			} else {
				r.to.Record(rec.session, rec.entries)
			}
		}
	}
}

// wait blocks until there is something to do, and reports whether the recorder is still
// open.
func (r *Recorder) wait() bool {
	select {
	case <-r.wake:
	case <-r.closing:
		return false
	}
	more := time.NewTimer(gather)
	defer more.Stop()
	select {
	case <-more.C:
		return true
	case <-r.now:
		return true
	case <-r.closing:
		return false
	}
}

// take empties the queue and merges the records of each session.
func (r *Recorder) take() []record {
	r.mu.Lock()
	queue := r.queue
	r.queue, r.waiting = nil, 0
	r.mu.Unlock()
	var out []record
	last := map[string]int{} // the index of each session's last record
	for _, rec := range queue {
		i, ok := last[rec.session.ID]
		if ok && !rec.removed && !out[i].removed {
			out[i].session = rec.session
			out[i].entries = append(out[i].entries, rec.entries...)
			continue
		}
		rec.entries = slices.Clip(rec.entries) // others share them, so the first append copies
		last[rec.session.ID] = len(out)
		out = append(out, rec)
	}
	return out
}
