//go:build unix

package checkpoint

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUnreadable runs its body as a child, because root can read everything and
// has to become someone else first.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, dir := range []string{base, filepath.Dir(base)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := child(t, "unreadable", base)
	cmd.Dir = base
	if os.Geteuid() == 0 {
		cmd.Path = filepath.Join(base, "test")
		// cp, because a program that this process has open for writing, or that
		// a fork of it still has, cannot be run.
		if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], cmd.Path).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}

// unreadable snapshots a folder with a file and a folder that it may not read.
// They are not deleted, not in the way of the others, and not undone.
func unreadable(args []string) error {
	dir, ctx := filepath.Join(args[0], "dir"), context.Background()
	sh := func(script string) error {
		cmd := exec.CommandContext(ctx, "sh", "-ec", "cd "+dir+"; "+script)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", script, err, out)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := sh("echo 1 > a; echo 1 > secret; mkdir closing; echo 1 > closing/x; chmod 000 secret"); err != nil {
		return err
	}
	r, err := Open(ctx, filepath.Join(args[0], "home"), dir, Limits{})
	if err != nil {
		return err
	}
	before, err := r.Snapshot(ctx)
	if err != nil {
		return err
	}
	if len(before.LeftOut) != 1 || before.LeftOut[0].Path != "secret" || !strings.Contains(before.LeftOut[0].Reason, "permission denied") {
		return fmt.Errorf("left out: %v", before.LeftOut)
	}
	if err := sh("echo 2 > a; chmod 644 secret; chmod 000 closing"); err != nil {
		return err
	}
	after, err := r.Snapshot(ctx)
	if err != nil {
		return err
	}
	res, err := r.Restore(ctx, after.ID, before.ID, RestoreOptions{})
	if err != nil {
		return err
	}
	if len(res.Restored) != 1 || len(res.Kept) != 1 || res.Kept[0].Path != "secret" {
		return fmt.Errorf("result: %+v", res)
	}
	return sh(`test "$(cat a secret)" = "1
1"; chmod 755 closing; test "$(cat closing/x)" = 1`)
}
