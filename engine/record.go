package engine

import (
	"sync"

	"github.com/terret-dev/terret"
)

// recorder feeds a Recorder from a queue of its own, so that slow files never hold
// up the log.
type recorder struct {
	to Recorder

	mu     sync.Mutex
	queue  []recording
	wake   chan struct{}
	closed bool
}

type recording struct {
	session terret.Session
	entries []terret.Entry
	deleted bool
}

func (r *recorder) init(to Recorder) {
	r.to = to
	r.wake = make(chan struct{}, 1)
}

func (r *recorder) add(s terret.Session, entries []terret.Entry) {
	r.put(recording{session: s, entries: entries})
}

func (r *recorder) put(rec recording) {
	if r.to == nil {
		return
	}
	r.mu.Lock()
	r.queue = append(r.queue, rec)
	r.mu.Unlock()
	r.signal()
}

func (r *recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close lets the loop end once its queue is empty.
func (r *recorder) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.signal()
}

func (r *recorder) loop() {
	for {
		r.mu.Lock()
		queue, closed := r.queue, r.closed
		r.queue = nil
		r.mu.Unlock()
		for _, rec := range queue {
			if rec.deleted {
				r.to.Remove(rec.session)
			} else {
				r.to.Record(rec.session, rec.entries)
			}
		}
		if len(queue) == 0 {
			if closed {
				return
			}
			<-r.wake
		}
	}
}
