package hub

import (
	"context"
	"slices"
	"sync"

	"github.com/terret-dev/terret"
)

// The most a subscriber keeps. Beyond that it falls back to replay.
const (
	ringEntries = 1024
	ringBytes   = 1 << 20
)

// subscriber is a reader that follows one session live, or several by reading the log
// whenever one of them changes.
type subscriber struct {
	sessions []string
	live     bool          // it takes entries
	wake     chan struct{} // has room for one

	mu    sync.Mutex
	ring  [][]terret.Entry // as published, oldest first
	count int              // entries in the ring
	bytes int
	look  bool  // the log must be read; until then the ring stays empty
	end   error // why nothing more comes
}

// push adds published entries of that total size.
func (s *subscriber) push(entries []terret.Entry, size int) {
	s.mu.Lock()
	switch {
	case s.look:
	case !s.live || s.count+len(entries) > ringEntries || s.bytes+size > ringBytes:
		s.cut()
	default:
		s.ring = append(s.ring, entries)
		s.count += len(entries)
		s.bytes += size
	}
	s.mu.Unlock()
	s.signal()
}

// lookAgain makes the reader look at the log.
func (s *subscriber) lookAgain() {
	s.mu.Lock()
	s.cut()
	s.mu.Unlock()
	s.signal()
}

// cut releases the ring, so that the log is read instead. s.mu must be held.
func (s *subscriber) cut() {
	s.ring, s.count, s.bytes, s.look = nil, 0, 0, true
}

// finish sets the reason why nothing more comes. The first reason counts.
func (s *subscriber) finish(why error) {
	s.mu.Lock()
	if s.end == nil {
		s.end = why
	}
	s.mu.Unlock()
	s.signal()
}

func (s *subscriber) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes from the ring the entries that directly follow a number. If there are
// none, it reports whether the log must be read.
func (s *subscriber) next(after int64) (entries []terret.Entry, read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ring) > 0 {
		first := s.ring[0]
		s.ring = slices.Delete(s.ring, 0, 1) // releases the entries
		s.count -= len(first)
		s.bytes -= sizeOf(first)
		unseen := slices.IndexFunc(first, func(e terret.Entry) bool { return e.Seq > after })
		switch {
		case unseen < 0: // it was in the log already
		case first[unseen].Seq == after+1:
			return first[unseen:], false
		default: // another process wrote in between, or the reader is far behind
			s.cut()
		}
	}
	read, s.look = s.look, false
	return nil, read
}

// ended returns the reason why nothing more comes, or nil.
func (s *subscriber) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// await blocks until there may be something to read.
func (s *subscriber) await(ctx context.Context) error {
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func sizeOf(entries []terret.Entry) (n int) {
	for i := range entries {
		n += len(entries[i].Body) + len(entries[i].Raw)
	}
	return n
}
