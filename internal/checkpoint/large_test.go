package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fillFolder makes a tree of 100 files in each of so many folders.
func fillFolder(tb testing.TB, dir string, folders int) {
	tb.Helper()
	for d := range folders {
		sub := filepath.Join(dir, fmt.Sprintf("d%d", d%20), fmt.Sprintf("e%d", d))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			tb.Fatal(err)
		}
		for i := range 100 {
			content := fmt.Appendf(nil, "package e%d\n\nconst File%d = %d\n", d, i, d*i)
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), content, 0o644); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// TestLargeFolder has 50,000 files, and a tenth under the race detector, which
// makes compression ten times as slow. Not parallel, for the sake of the times.
func TestLargeFolder(t *testing.T) {
	folders := 500
	if raceEnabled {
		folders = 50
	}
	f := newFolder(t)
	timed := func(what string, do func()) {
		start := time.Now()
		do()
		t.Logf("%d files, %s: %v", folders*100, what, time.Since(start).Round(time.Millisecond))
	}
	timed("making them", func() { fillFolder(t, f.dir, folders) })
	var first, before, after Snapshot
	timed("first snapshot", func() { first = f.snapshot() })
	timed("second snapshot, unchanged", func() { before = f.snapshot() })
	timed("third snapshot, unchanged", func() { f.snapshot() })
	if first.ID != before.ID {
		t.Errorf("unchanged, but %s became %s", first.ID, before.ID)
	}
	f.write("d0/e0/f0.go", "changed")
	f.write("d1/new", "new")
	f.remove("d2/e2/f3.go")
	timed("snapshot, three changes", func() { after = f.snapshot() })
	timed("list of changes", func() {
		if c := f.changes(before, after); len(c) != 3 {
			t.Errorf("changes: %v", c)
		}
	})
	timed("undo, three changes", func() { f.restore(after, before) })
	f.remove("d3")
	gone := f.snapshot()
	timed("undo of one folder in twenty", func() { f.restore(gone, before) })
	if s := f.snapshot(); f.changes(before, s) != nil {
		t.Errorf("after undo: %v", f.changes(before, s))
	}
}

// BenchmarkSnapshot50k measures the snapshot of an unchanged large folder.
func BenchmarkSnapshot50k(b *testing.B) {
	dir := b.TempDir()
	fillFolder(b, dir, 500)
	r, err := Open(b.Context(), b.TempDir(), dir, Limits{Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.Snapshot(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
