//go:build unix

package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestDenied runs its body as a child, because root may do everything and has to
// become someone else first. Where the tests run as someone else already, the
// file of another user is one of this user without write permission for it.
func TestDenied(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("foreign", "word\n")
	for _, dir := range []string{b.Dir, filepath.Dir(b.Dir)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	if os.Geteuid() == 0 {
		cmd.Path = filepath.Join(t.TempDir(), "test")
		for _, dir := range []string{filepath.Dir(cmd.Path), filepath.Dir(filepath.Dir(cmd.Path))} {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		// cp, because a program that this process has open for writing, or that
		// a fork of it still has, cannot be run.
		if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], cmd.Path).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else if err := os.Chmod(b.path("foreign"), 0o464); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = b.Dir
	cmd.Env = append(os.Environ(), childEnv+"="+b.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestOwnerIsKept edits a file of another user, which only root may.
func TestOwnerIsKept(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	b := newBench(t)
	b.write("f", "x")
	if err := os.Chown(b.path("f"), 12345, 23456); err != nil {
		t.Fatal(err)
	}
	b.works("Edit", input{"file_path": "f", "old_string": "x", "new_string": "y"})
	info, err := os.Stat(b.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 12345 || s.Gid != 23456 || b.read("f") != "y" {
		t.Errorf("owner %d:%d", s.Uid, s.Gid)
	}
}
