package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestMayWrite(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"project/data/worktrees/one", "project/src", "project2", "data"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "project"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	b := Box{Write: []string{at("link"), at("project/data/worktrees/one"), at("nowhere")}, Protect: []string{at("project/data")}}
	for path, want := range map[string]bool{
		"project": true, "project/src/new": true, "project2/x": false, "nowhere/x": false, "project/data": false,
		"project/data/terret.db": false, "project/data/worktrees/one/x": true, "project/data/worktrees/other/x": false, "data/x": false,
	} {
		if got := b.MayWrite(at(path)); got != want {
			t.Errorf("may write %s: %v, want %v", path, got, want)
		}
	}
	if got := b.excepted(); got != at("project/data") {
		t.Errorf("excepted is %q", got)
	}
	if got := (Box{Write: []string{at("project/data/worktrees/one")}, Protect: []string{at("project/data")}}).excepted(); got != "" {
		t.Errorf("excepted is %q, but a folder in a protected one may be written to", got)
	}
	if !(Box{Write: []string{"/"}}).MayWrite("/etc/passwd") {
		t.Error("the root folder does not hold everything")
	}
}

// TestKernelFolders cannot be written to, whatever is asked for.
func TestKernelFolders(t *testing.T) {
	t.Parallel()
	table := `22 28 0:20 / /proc rw,relatime - proc proc rw
23 28 0:21 / /sys rw,relatime shared:7 - sysfs sysfs rw
24 23 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
25 28 0:23 / /dev/shm rw - tmpfs tmpfs rw
26 28 0:24 / / rw - ext4 /dev/vda rw
27 28 0:20 /sys /srv/a\040root/proc rw,relatime shared:9 master:1 - proc proc rw
broken
`
	if got, want := kernelFolders(table), []string{"/dev", "/proc", "/sys", "/srv/a root/proc"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	b := Box{Write: []string{"/", "/proc/sys", "/sys", "/dev", "/dev/shm"}}
	for path, want := range map[string]bool{"/proc/sys/kernel/core_pattern": false, "/sys/power/state": false, "/dev/mem": false, "/dev/shm/x": true, "/etc/passwd": true} {
		if got := b.MayWrite(path); got != want {
			t.Errorf("may write %s: %v, want %v", path, got, want)
		}
	}
}
