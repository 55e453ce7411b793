package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
)

// TestFullDisk fills a small disk, for which one must be root.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk; TestFullDatabase shows the same without")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("this machine does not let root mount a small disk (%v); TestFullDatabase shows the same without", err)
	}
	t.Cleanup(func() {
		wantNothingOpen(t, disk)
		// Detached, since a child that another test has forked holds our files until it
		// runs its own program.
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(disk, "terret.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	wantSays(t, fillUp(t, h), terret.CodeInternal, "full", path, "nothing stored is lost")
	stored := h.seq
	if stored == 0 {
		t.Fatal("full before the first event")
	}
	wantEvents(t, s, h.id, stored)
	for range 3 {
		if err := h.append(t.Context(), "still full"); err != nil { // a small one may fit
			wantSays(t, err, terret.CodeInternal, "full")
		}
	}
	stored = h.seq
	wantEvents(t, s, h.id, stored)

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	h.must(t, "after")
	wantEvents(t, s, h.id, stored+1)
	wantClean(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantEvents(t, again, h.id, stored+1)
	wantClean(t, again)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}

	// A disk that is full from the start.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is larger than it says")
	}
	_, err = Open(t.Context(), path, Options{})
	wantSays(t, err, terret.CodeInternal, path)
}

// wantNothingOpen holds that this process has let go of all files below the folder.
func wantNothingOpen(t *testing.T, dir string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("cannot list open files: %v", err)
	}
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil && strings.HasPrefix(file, dir+"/") {
			t.Errorf("%s is still open", file)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || bytes.Contains(maps, []byte(dir+"/")) {
		t.Errorf("a file is still mapped, or nobody knows: %v", err)
	}
}
