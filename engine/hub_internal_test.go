package engine

import (
	"testing"

	"github.com/terret-dev/terret"
)

func seqs(from, to int64) []terret.Entry {
	var out []terret.Entry
	for ; from <= to; from++ {
		out = append(out, terret.Entry{Seq: from})
	}
	return out
}

// What a reader finds in its ring is what comes next, or else it reads the store.
func TestRing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pushed [][]terret.Entry
		after  int64
		want   int // entries from the ring
		read   bool
	}{
		"next":              {[][]terret.Entry{seqs(5, 6), seqs(7, 7)}, 4, 3, false},
		"seen in part":      {[][]terret.Entry{seqs(5, 8)}, 6, 2, false},
		"seen":              {[][]terret.Entry{seqs(5, 8)}, 8, 0, true},
		"too late":          {[][]terret.Entry{seqs(5, 8)}, 2, 0, true},
		"woken":             {[][]terret.Entry{nil}, 2, 0, true},
		"overflow":          {[][]terret.Entry{seqs(1, ringEntries), seqs(ringEntries+1, ringEntries+1)}, 0, 0, true},
		"others in between": {[][]terret.Entry{seqs(5, 5), seqs(8, 9)}, 4, 0, true},
	} {
		s := &subscriber{wake: make(chan struct{}, 1)}
		for _, p := range c.pushed {
			s.push(p)
		}
		entries, read := s.take(c.after)
		if len(entries) != c.want || read != c.read {
			t.Errorf("%s: %d entries, read %v; want %d, %v", name, len(entries), read, c.want, c.read)
		}
		s.push(seqs(20, 20))
		if entries, _ := s.take(19); len(entries) != 1 {
			t.Errorf("%s: it did not recover", name)
		}
	}
}
