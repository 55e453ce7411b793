package hub

import (
	"errors"
	"io"
	"testing"

	"github.com/terret-dev/terret"
)

func seqs(from, to int64) []terret.Entry {
	var out []terret.Entry
	for ; from <= to; from++ {
		out = append(out, terret.Entry{Seq: from, Body: []byte("{}")})
	}
	return out
}

func large(seq int64, size int) []terret.Entry {
	return []terret.Entry{{Seq: seq, Body: make([]byte, size/2), Raw: make([]byte, size-size/2)}}
}

func newSubscriber() *subscriber {
	return &subscriber{live: true, wake: make(chan struct{}, 1)}
}

func (s *subscriber) publish(entries []terret.Entry) { s.push(entries, sizeOf(entries)) }

// takeAll takes what is in the ring after a number.
func (s *subscriber) takeAll(after int64) (n int, read bool) {
	for {
		entries, read := s.next(after)
		if len(entries) == 0 {
			return n, read
		}
		n += len(entries)
		after = entries[len(entries)-1].Seq
	}
}

// What a reader finds in its ring is what comes next, or else it reads the log.
func TestRing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pushed [][]terret.Entry
		after  int64
		want   int // entries from the ring
		read   bool
	}{
		"nothing":           {nil, 4, 0, false},
		"next":              {[][]terret.Entry{seqs(5, 6), seqs(7, 7)}, 4, 3, false},
		"seen in part":      {[][]terret.Entry{seqs(5, 8)}, 6, 2, false},
		"seen":              {[][]terret.Entry{seqs(5, 6), seqs(7, 8)}, 8, 0, false},
		"too late":          {[][]terret.Entry{seqs(5, 8)}, 2, 0, true},
		"others in between": {[][]terret.Entry{seqs(5, 5), seqs(8, 9)}, 4, 1, true},
		"as many as fit":    {[][]terret.Entry{seqs(1, ringEntries-1), seqs(ringEntries, ringEntries)}, 0, ringEntries, false},
		"too many":          {[][]terret.Entry{seqs(1, ringEntries), seqs(ringEntries+1, ringEntries+1)}, 0, 0, true},
		"too many at once":  {[][]terret.Entry{seqs(1, ringEntries+1)}, 0, 0, true},
		"as large as fit":   {[][]terret.Entry{large(1, ringBytes-10), large(2, 10)}, 0, 2, false},
		"too large":         {[][]terret.Entry{large(1, ringBytes-10), large(2, 11)}, 0, 0, true},
		"more after a cut":  {[][]terret.Entry{large(1, ringBytes+1), seqs(2, 3)}, 0, 0, true},
	} {
		s := newSubscriber()
		for _, p := range c.pushed {
			s.publish(p)
		}
		if n, read := s.takeAll(c.after); n != c.want || read != c.read {
			t.Errorf("%s: %d entries, read %v; want %d, %v", name, n, read, c.want, c.read)
		}
		if s.count != 0 || s.bytes != 0 {
			t.Errorf("%s: an empty ring counts %d entries and %d bytes", name, s.count, s.bytes)
		}
		s.publish(seqs(20, 20))
		if n, read := s.takeAll(19); n != 1 || read {
			t.Errorf("%s: it did not recover", name)
		}
	}
}

func TestFirstReasonCounts(t *testing.T) {
	t.Parallel()
	s := newSubscriber()
	s.finish(io.ErrUnexpectedEOF)
	s.finish(ErrClosed)
	if err := s.ended(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// The log is read once after each reason to.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	s := newSubscriber()
	s.publish(seqs(1, 2))
	s.lookAgain()
	s.publish(seqs(3, 3)) // is in the log as well
	if s.count > 0 {
		t.Errorf("%d entries are kept for a reader that reads the log", s.count)
	}
	if n, read := s.takeAll(0); n != 0 || !read {
		t.Errorf("%d entries, read %v", n, read)
	}
	if n, read := s.takeAll(3); n != 0 || read {
		t.Errorf("again: %d entries, read %v", n, read)
	}
	all := &subscriber{wake: make(chan struct{}, 1)} // it takes no entries
	all.publish(seqs(1, 2))
	if n, read := all.takeAll(0); n != 0 || !read {
		t.Errorf("reader of several: %d entries, read %v", n, read)
	}
}

// Readers share what was published, and let go of what they took.
func TestRingSharesAndReleases(t *testing.T) {
	t.Parallel()
	first, second := seqs(1, 2), seqs(3, 4)
	a, b := newSubscriber(), newSubscriber()
	for _, s := range []*subscriber{a, b} {
		s.publish(first)
		s.publish(second)
		ring := s.ring
		if entries, _ := s.next(0); &entries[0] != &first[0] {
			t.Error("the entries were copied")
		}
		for _, kept := range ring[:cap(ring)] {
			if len(kept) > 0 && &kept[0] == &first[0] {
				t.Error("what was taken is still held")
			}
		}
		if s.count != 2 || s.bytes != sizeOf(second) {
			t.Errorf("%d entries, %d bytes", s.count, s.bytes)
		}
	}
}
