package terminal

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestRing compares a ring with all that was written.
func TestRing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	r, all := ring{max: 1000}, []byte{}
	for range 500 {
		p := make([]byte, random.IntN(300))
		if random.IntN(20) == 0 {
			p = make([]byte, 900+random.IntN(500))
		}
		for i := range p {
			p[i] = byte('a' + random.IntN(26))
		}
		r.write(p)
		all = append(all, p...)
		if cap(r.buf) > 2000 || r.end != int64(len(all)) {
			t.Fatalf("it holds %d bytes, of %d", cap(r.buf), r.end)
		}
		after := max(0, int64(len(all))-random.Int64N(1500))
		got, next, missed := r.read(after, 400)
		if want := max(after, int64(len(all)-1000)); missed != (want != after) || !bytes.Equal(got, all[want:min(want+400, int64(len(all)))]) || next != want+int64(len(got)) {
			t.Fatalf("after %d of %d: %d bytes, next %d, missed %v", after, len(all), len(got), next, missed)
		}
	}
}

// TestRingBeginsWithALine shows that who has missed something does not begin in the middle
// of a sequence of control characters, if lines are short.
func TestRingBeginsWithALine(t *testing.T) {
	t.Parallel()
	r := ring{max: 10}
	r.write([]byte("\x1b[31mred\nplain\n"))
	got, next, missed := r.read(0, 100)
	if string(got) != "plain\n" || !missed || next != r.end {
		t.Errorf("%q, next %d, missed %v", got, next, missed)
	}
	if got, _, missed := r.read(r.end+5, 100); len(got) > 0 || missed {
		t.Errorf("after the end: %q", got)
	}
}
