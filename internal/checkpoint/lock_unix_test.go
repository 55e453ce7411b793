//go:build unix

package checkpoint

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret/internal/files"
)

// The lock outlives its holder for as long as a git of the holder runs, or the
// two would write to one index.
func TestGitHoldsTheLock(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.snapshot()
	lock, err := f.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := f.git(lock).Command(t.Context(), "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close() // as the kernel does when the holder is killed
	path := f.lockPath()
	if held, err := files.TryOpenLocked(path); held != nil || err != nil {
		t.Errorf("git runs and the lock is free: %v, %v", held, err)
	}
	in.Close()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	free, err := files.TryOpenLocked(path)
	if free == nil || err != nil {
		t.Fatalf("git has ended and the lock is held: %v", err)
	}
	free.Close()
}

// Whoever holds the lock finds no lock file of a dead git.
func TestStaleIndexLock(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.snapshot()
	stale := filepath.Join(f.shadow, "index.lock")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := f.locked(t.Context(), func(git) error {
		if exists(stale) {
			t.Error("the lock file of a dead git is still there")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
