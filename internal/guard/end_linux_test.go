package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

// TestGivesUpOnForeignProcesses tries, as another user, to end a process of
// this one: the guard must not wait for ever for what it may not signal.
func TestGivesUpOnForeignProcesses(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	marker := guardtest.Marker()
	foreign := exec.CommandContext(t.Context(), "sleep", marker)
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = foreign.Process.Kill()
		_ = foreign.Wait()
	}()
	cmd := exec.CommandContext(t.Context(), publicCopy(t), strconv.Itoa(foreign.Process.Pid))
	cmd.Dir = "/"
	cmd.Env = []string{roleEnv + "=refused"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "gave up 1" {
		t.Errorf("error %v, output %q", err, out)
	}
	if guardtest.Sleeps(t, marker) != 1 {
		t.Error("the foreign process is gone")
	}
}

// playRefused ends the process of its first argument, in vain.
func playRefused() {
	pid, err := strconv.Atoi(os.Args[1])
	if err != nil || os.Geteuid() == 0 {
		panic("must run as another user")
	}
	e := newEnding(time.Now())
	for {
		t, ok := open(pid)
		if !ok {
			panic("the process is gone")
		}
		left := e.round(time.Now(), []target{t})
		t.close()
		if left > 0 {
			fmt.Println("gave up", left)
			os.Exit(0)
		}
		time.Sleep(e.pause(time.Now()))
	}
}

// publicCopy copies the test binary to where every user can run it.
func publicCopy(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard-test-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "copy")
	// By another process: a descriptor of ours that is open for writing could
	// be in a child that another test forks, and then path could not be run.
	if out, err := exec.CommandContext(t.Context(), "cp", "/proc/"+strconv.Itoa(os.Getpid())+"/exe", path).CombinedOutput(); err != nil {
		t.Fatalf("copy the test binary: %v: %s", err, out)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
