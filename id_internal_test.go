package terret

import (
	"bytes"
	"testing"
	"time"
)

// TestGeneratorNeverGoesBack gives the generator a clock that jumps, stands still
// for longer than the counter lasts, and goes back.
func TestGeneratorNeverGoesBack(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	var clock []time.Time
	for range 3 * 4096 { // stands still
		clock = append(clock, now)
	}
	for i := range 1000 { // goes back
		clock = append(clock, now.Add(-time.Duration(i)*time.Hour))
	}
	for i := range 1000 { // trembles
		clock = append(clock, now.Add(time.Duration(i%7-3)*time.Millisecond))
	}
	clock = append(clock, time.Unix(0, 0), time.Unix(-1e9, 0), time.Time{})
	for i := range 1000 { // goes on
		clock = append(clock, now.Add(time.Duration(i)*time.Second))
	}

	var g generator
	var last [16]byte
	for i, moment := range clock {
		id := g.next(moment)
		if bytes.Compare(id[:], last[:]) <= 0 {
			t.Fatalf("id %d at %s: %s comes not after %s", i, moment, format(id), format(last))
		}
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("id %d: %s is not of version 7", i, format(id))
		}
		last = id
	}
}

// TestGeneratorFollowsTheClock shows that a clock that went back and came again is
// followed again.
func TestGeneratorFollowsTheClock(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	var g generator
	g.next(now)
	if behind := g.next(now.Add(-time.Hour)); milliseconds(behind) != now.UnixMilli() {
		t.Errorf("with a clock gone back the id holds %d, want %d", milliseconds(behind), now.UnixMilli())
	}
	later := now.Add(time.Millisecond)
	if id := g.next(later); milliseconds(id) != later.UnixMilli() {
		t.Errorf("the id holds %d, want %d", milliseconds(id), later.UnixMilli())
	}
}

// TestGeneratorIsRandom shows that two processes at the same moment make different
// ids.
func TestGeneratorIsRandom(t *testing.T) {
	now := time.Now()
	seen := map[[16]byte]bool{}
	for range 1000 {
		var g generator
		id := g.next(now)
		if seen[id] {
			t.Fatalf("%s was made twice", format(id))
		}
		seen[id] = true
	}
}

func milliseconds(id [16]byte) (ms int64) {
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return ms
}
