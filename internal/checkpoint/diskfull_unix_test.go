//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// fullRestore undoes a turn while no file may grow over 64 KiB: home, dir, from,
// to.
func fullRestore(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	r, err := Open(context.Background(), args[0], args[1], Limits{})
	if err != nil {
		return err
	}
	lim := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lim); err != nil {
		return err
	}
	res, err := r.Restore(context.Background(), ID(args[2]), ID(args[3]), RestoreOptions{})
	if !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("want EFBIG, got %w", err)
	}
	if len(res.Restored) > 0 || len(res.NotRestored) != 3 {
		return fmt.Errorf("result %+v", res)
	}
	return nil
}

// noisy is content that does not compress.
func noisy(n int) string {
	var b strings.Builder
	x := uint32(1)
	for range n {
		x = x*1664525 + 1013904223
		b.WriteByte(byte(x >> 24))
	}
	return b.String()
}

// A write that the system refuses half way changes nothing. This one needs no
// rights.
func TestRestoreWriteRefused(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	f.write("big", noisy(200<<10))
	before := f.snapshot()
	f.write("a", "2")
	f.remove("big")
	f.write("new", "2")
	after := f.snapshot()
	want := contents(t, f.dir)
	if err := child(t, "fullrestore", f.home, f.dir, string(after.ID), string(before.ID)).Run(); err != nil {
		t.Fatal(err)
	}
	wantState(t, "after the refusal", want, contents(t, f.dir))
	f.restore(after, before)
	if f.read("big") != noisy(200<<10) || f.read("a") != "1" {
		t.Error("the second undo did not restore")
	}
}

// smallDisk mounts a file system of so many KiB where that is allowed (Linux,
// root). Where it is not, TestRestoreWriteRefused stands alone.
func smallDisk(t *testing.T, size int) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return "", false
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dk", size), "none", dir).CombinedOutput(); err != nil {
		t.Logf("no small disk: %v: %s", err, out)
		return "", false
	}
	t.Cleanup(func() {
		// Lazily: a child that another test has forked holds our files until it runs its
		// own program.
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, true
}

func TestDiskFullFolder(t *testing.T) {
	t.Parallel()
	dir, ok := smallDisk(t, 1024)
	if !ok {
		t.Log("covered by TestRestoreWriteRefused alone")
		return
	}
	f := openFolder(t, t.TempDir(), dir, Limits{})
	f.write("a", "1")
	f.write("big", noisy(500<<10))
	f.write("big2", noisy(200<<10))
	before := f.snapshot()
	f.write("a", "2")
	f.remove("big")
	f.remove("big2")
	f.write("new/new", "2")
	after := f.snapshot()
	f.write("person", noisy(600<<10))
	want := contents(t, f.dir)

	res, err := f.Restore(t.Context(), after.ID, before.ID, RestoreOptions{})
	if _, ok := errors.AsType[*RestoreError](err); !ok || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want a RestoreError of ENOSPC", err)
	}
	if len(res.Restored) != 0 || len(res.NotRestored) != 4 {
		t.Errorf("result: %+v", res)
	}
	wantState(t, "on a full disk", want, contents(t, f.dir))
	f.remove("person")
	f.restore(after, before)
	if f.read("big") != noisy(500<<10) || f.read("a") != "1" || exists(f.path("new")) {
		t.Error("undo with room did not restore")
	}
}

func TestDiskFullHome(t *testing.T) {
	t.Parallel()
	home, ok := smallDisk(t, 1024)
	if !ok {
		t.Log("needs a small disk")
		return
	}
	f := openFolder(t, home, t.TempDir(), Limits{})
	f.write("a", "1")
	before := f.snapshot()
	for i := range 300 {
		f.write(fmt.Sprintf("f%d", i), noisy(8<<10)+fmt.Sprint(i))
	}
	f.write("a", "2")
	if s, err := f.Snapshot(t.Context()); err == nil {
		t.Fatalf("a snapshot fits on a full disk: %v", s)
	}
	f.remove("a")
	for i := range 300 {
		f.remove(fmt.Sprintf("f%d", i))
	}
	f.write("a", "3")
	after := f.snapshot()
	f.restore(after, before)
	if f.read("a") != "1" {
		t.Error("undo after a full disk did not restore")
	}
	f.fsck()
	if left, _ := filepath.Glob(filepath.Join(f.shadow, "spool-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
