package guard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

// needGroups skips where no control group can be made, and says why.
func needGroups(t *testing.T) {
	t.Helper()
	if err := Contained(); err != nil {
		t.Skipf("no control groups here: %v", err)
	}
}

// groupsOf lists the control groups of this process's guards, or of another owner's.
func groupsOf(t *testing.T, pid int) (list []string) {
	t.Helper()
	own, err := ownCgroup()
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(own.dir, cgroupPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if o, _, ok := cgroup(g).ownerOf(); ok && o.pid == pid {
			list = append(list, g)
		}
	}
	return list
}

// TestSweepWithoutMarks kills harness and guard, of a tree some of whose processes have
// dropped their environment and lost their parents: only the kernel knows them.
func TestSweepWithoutMarks(t *testing.T) {
	t.Parallel()
	needGroups(t)
	marker := guardtest.Marker()
	harness, _, guard := startHarness(t, guardtest.Tree, marker)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	if n := len(groupsOf(t, harness.Process.Pid)); n != 1 {
		t.Errorf("%d groups, want 1", n)
	}
	_ = unix.Kill(guard, unix.SIGSTOP)
	_ = harness.Process.Kill()
	_ = harness.Wait()
	_ = unix.Kill(guard, unix.SIGKILL)
	if _, err := Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	guardtest.AwaitNone(t, marker) // another Sweep may have been faster, and not be done
	guardtest.Eventually(t, "end of the group", func() bool { return len(groupsOf(t, harness.Process.Pid)) == 0 })
}

// TestGuardKilledWithoutMarks is the same while the harness lives.
func TestGuardKilledWithoutMarks(t *testing.T) {
	t.Parallel()
	needGroups(t)
	marker := guardtest.Marker()
	a := run(t, Config{Grace: short}, guardtest.Tree, marker)
	a.line(t)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	_ = unix.Kill(a.GuardPID(), unix.SIGKILL)
	await(t, "the end of the tree", a.Gone())
	guardtest.NoneAlive(t, marker)
	if _, err := os.Stat(string(a.cgroup)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
}

// TestGroupIsRemoved holds that an agent that ends leaves no group behind, nor does one
// that cannot be started.
func TestGroupIsRemoved(t *testing.T) {
	t.Parallel()
	needGroups(t)
	marker := guardtest.Marker()
	a := run(t, Config{Grace: short}, guardtest.Tree, marker)
	a.line(t)
	in, err := os.ReadFile(a.cgroup.file("cgroup.procs"))
	if err != nil || len(strings.Fields(string(in))) < guardtest.TreeSize {
		t.Errorf("in the group: %q, %v", in, err)
	}
	_ = a.Close()
	await(t, "the end of the tree", a.Gone())
	if _, err := os.Stat(string(a.cgroup)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
	_, err = Start(t.Context(), Config{Path: "/no/such/program", Argv: []string{"x"}, Dir: "/"})
	if !errors.Is(err, unix.ENOENT) {
		t.Errorf("start of nothing: %v", err)
	}
}

func TestCgroupPlace(t *testing.T) {
	t.Parallel()
	unified := "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
	hybrid := "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	tests := []struct{ name, groups, mounts, mount, dir string }{
		{"unified", "0::/user.slice/app.scope\n", unified, "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/app.scope"},
		{"hybrid", "9:name=systemd:/x\n0::/\n", hybrid, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified"},
		{"container", "0::/docker/abc/in\n", "1 1 0:1 /docker/abc /a\\040b rw - cgroup2 c rw\n", "/a b", "/a b/in"},
		{"elsewhere", "0::/other\n", "1 1 0:1 /docker/abc /sys/fs/cgroup rw - cgroup2 c rw\n", "", ""},
		{"out of sight", "0::/../x\n", unified, "", ""},
		{"version 1", "1:cpu:/\n", hybrid, "", ""},
		{"not mounted", "0::/\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "", ""},
	}
	for _, tt := range tests {
		got, err := placeOf([]byte(tt.groups), []byte(tt.mounts))
		if got != (cgroupPlace{tt.mount, tt.dir}) || (err != nil) != (tt.dir == "") {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	o := owner{pid: 12, start: 345}
	name := cgroup("/x/" + cgroupPrefix + "12-345-4026-TREE")
	if got, space, ok := name.ownerOf(); !ok || got != o || space != "4026" {
		t.Errorf("%+v %q %v", got, space, ok)
	}
	for _, bad := range []cgroup{"/x/terret-", "/x/terret-a-b-c-d", "/x/app.scope", "/x/terret-1-2-3"} {
		if _, _, ok := bad.ownerOf(); ok {
			t.Errorf("%s has an owner", bad)
		}
	}
}
