package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
)

// TestBackup copies a database that is being written to.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	h := newHolder(t, s)
	var acknowledged atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := h.append(t.Context(), strings.Repeat("x", 2000)); err != nil {
				t.Error(err)
				return
			}
			acknowledged.Store(h.seq)
		}
	})
	for range 5 {
		before := acknowledged.Load()
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := s.Backup(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		copied := openFile(t, path)
		wantClean(t, copied)
		n, err := copied.Session(t.Context(), h.id)
		if err != nil || n.LastSeq < before {
			t.Errorf("the copy is at %d, but %d was there when it began: %v", n.LastSeq, before, err)
		}
		wantEvents(t, copied, h.id, n.LastSeq)
	}
	stop()
	wg.Wait()
}

// TestBackupRefuses checks that nothing is overwritten and nothing is left behind.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	newHolder(t, s).must(t, "x")
	taken := filepath.Join(t.TempDir(), "taken")
	for _, content := range []string{"precious", ""} {
		if err := os.WriteFile(taken, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantSays(t, s.Backup(t.Context(), taken), terret.CodeConflict, taken, "never overwrites")
		if got, err := os.ReadFile(taken); err != nil || string(got) != content {
			t.Errorf("the file now holds %q, %v", got, err)
		}
	}
	wantSays(t, s.Backup(t.Context(), filepath.Join(t.TempDir(), "no", "such", "folder")), terret.CodeInvalidRequest, "no such file")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	half := filepath.Join(t.TempDir(), "half")
	if err := s.Backup(ctx, half); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled backup: %v", err)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cancelled backup leaves a file: %v", err)
	}
	memory := openFile(t, Memory)
	h := newHolder(t, memory)
	h.must(t, "x")
	path := filepath.Join(t.TempDir(), "of memory")
	if err := memory.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, openFile(t, path), h.id, 1)
}

// TestLargePages checks that a page of large bodies ends before it fills the
// memory.
func TestLargePages(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	h := newHolder(t, s)
	const size = 3 << 20
	for range 8 {
		h.must(t, strings.Repeat("y", size))
	}
	page, err := s.Read(t.Context(), terret.ReadQuery{Session: h.id})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, e := range page {
		total += len(e.Body)
	}
	if len(page) == 0 || total > pageBytes+size+1000 {
		t.Errorf("a page of %d bytes in %d events", total, len(page))
	}
	wantEvents(t, s, h.id, 8)
}

// TestCancelledInMemory checks that giving up on a call does not lose the store,
// which is only as alive as its connection.
func TestCancelledInMemory(t *testing.T) {
	t.Parallel()
	s := openFile(t, Memory)
	h := newHolder(t, s)
	h.must(t, "x")
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(cancel)
		_, err := s.Read(ctx, terret.ReadQuery{Session: h.id})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
		wg.Wait()
		h.append(ctx, "maybe")
	}
	wantEvents(t, s, h.id, h.seq)
	wantClean(t, s)
}
