package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// children are what the test binary can run as, see childEnv.
var children = map[string]func(args []string) error{
	// snapshots takes snapshots of a folder: home, dir, count.
	"snapshots": func(args []string) error {
		count, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		r, err := Open(context.Background(), args[0], args[1], Limits{Timeout: 5 * time.Minute})
		if err != nil {
			return err
		}
		for i := range count {
			if err := os.WriteFile(filepath.Join(args[1], fmt.Sprintf("child-%d", os.Getpid())), []byte(strconv.Itoa(i)), 0o644); err != nil {
				return err
			}
			if _, err := r.Snapshot(context.Background()); err != nil {
				return err
			}
		}
		return nil
	},
	"fullrestore": fullRestore,
	"unreadable":  unreadable,
	// lock holds the lock of a folder until it is killed: home, dir.
	"lock": func(args []string) error {
		r, err := Open(context.Background(), args[0], args[1], Limits{})
		if err != nil {
			return err
		}
		f, err := r.lock(context.Background())
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Println("locked")
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	},
}

func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = t.Output()
	return cmd
}

// fsck checks every object of the shadow repository.
func (f *folder) fsck() {
	f.t.Helper()
	if out, err := f.git(nil).Output(f.t.Context(), nil, "fsck", "--full", "--strict"); err != nil {
		f.t.Errorf("fsck: %v\n%s", err, out)
	}
}

func TestTwoSessionsInOneFolder(t *testing.T) {
	t.Parallel()
	a := newFolder(t)
	b := openFolder(t, a.home, a.dir, Limits{})
	a.write("a", "1")
	a.write("b", "1")
	a.write("both", "1")
	beforeA := a.snapshot()
	if before := b.snapshot(); before.ID != beforeA.ID {
		t.Errorf("two sessions see %s and %s", beforeA.ID, before.ID)
	}
	a.write("a", "2")
	a.write("both", "2")
	afterA := a.snapshot()
	beforeB := b.snapshot()
	b.write("b", "2")
	b.write("b2", "2")
	afterB := b.snapshot()

	a.restore(afterA, beforeA)
	if a.read("a") != "1" || a.read("both") != "1" || a.read("b") != "2" || a.read("b2") != "2" {
		t.Errorf("undo of one session touched the other: %v", contents(t, a.dir))
	}
	b.restore(afterB, beforeB)
	if a.read("b") != "1" || exists(a.path("b2")) || a.read("a") != "1" {
		t.Errorf("undo of the other session: %v", contents(t, a.dir))
	}
	a.restore(beforeA, afterA)
	b.write("both", "3")
	if _, err := a.Restore(t.Context(), afterA.ID, beforeA.ID, RestoreOptions{}); err == nil || a.read("both") != "3" {
		t.Errorf("undo over the other session's edit: %v", err)
	}
}

func TestConcurrentSnapshots(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.sh(`for i in $(seq 300); do echo $i > f$i; done`)
	other := openFolder(t, f.home, f.dir, Limits{})
	procs := []*exec.Cmd{child(t, "snapshots", f.home, f.dir, "5"), child(t, "snapshots", f.home, f.dir, "5")}
	for _, p := range procs {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for _, r := range []*Repo{f.Repo, f.Repo, other.Repo} {
		wg.Go(func() {
			for range 5 {
				if _, err := r.Snapshot(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, p := range procs {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	before := f.snapshot()
	if s := other.snapshot(); s.ID != before.ID {
		t.Errorf("two sessions see %s and %s", before.ID, s.ID)
	}
	f.fsck()
}

// A process that is killed at any moment of a snapshot leaves nothing that
// harms or blocks the next one.
func TestKilledSnapshot(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for i := range 12 {
		f.sh(fmt.Sprintf(`mkdir d%d; for i in $(seq 300); do echo %d $i > d%d/f$i; done`, i, i, i))
		cmd := child(t, "snapshots", f.home, f.dir, "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.NewTimer(time.Duration(10+13*i) * time.Millisecond)
		<-timer.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // it was killed
		before := f.snapshot()
		f.write("after the kill", strconv.Itoa(i))
		f.remove(fmt.Sprintf("d%d/f1", i))
		after := f.snapshot()
		f.restore(after, before)
		if f.read(fmt.Sprintf("d%d/f1", i)) != fmt.Sprintf("%d 1\n", i) {
			t.Errorf("kill %d: undo did not bring the file back", i)
		}
	}
	f.fsck()
	for _, pattern := range []string{"spool-*", "index.lock", "unfinished", "objects/pack/tmp_*", "objects/??/tmp_obj_*"} {
		if left, err := filepath.Glob(filepath.Join(f.shadow, pattern)); err != nil || left != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestKilledLockHolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	f.snapshot()
	holder := child(t, "lock", f.home, f.dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	impatient := openFolder(t, f.home, f.dir, Limits{Timeout: 50 * time.Millisecond})
	if _, err := impatient.Snapshot(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	if impatient.disabled() != nil {
		t.Error("waiting for another session turned undo off")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := f.Snapshot(ctx); !errors.Is(err, gone) {
		t.Errorf("got %v, want the cause of the context", err)
	}
	// The dead cannot clean up: a lock file of git, half a pack, a staged file.
	for _, name := range []string{"index.lock", "objects/pack/tmp_pack_x", "spool-1"} {
		if err := os.WriteFile(filepath.Join(f.shadow, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.write(stagePrefix+"x", "half")
	if err := os.WriteFile(f.journal(), gitcmd.JoinNUL([]string{stagePrefix + "x", "a", "../x"}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait() // it was killed
	f.write("a", "2")
	f.snapshot()
	if exists(f.path(stagePrefix+"x")) || f.read("a") != "2" {
		t.Error("the staged file of a killed restore is still there, or more is gone")
	}
	if exists(filepath.Join(f.shadow, "objects/pack/tmp_pack_x")) || exists(filepath.Join(f.shadow, "spool-1")) {
		t.Error("temporary files of a killed snapshot are still there")
	}
}

// TestKilledInit is that a repository whose making was cut off is made whole.
func TestKilledInit(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/none\n", "HEAD.lock": "", "config.lock": ""} {
		if err := os.WriteFile(filepath.Join(f.shadow, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := f.snapshot()
	f.write("a", "2")
	if f.changes(before, f.snapshot()) == nil {
		t.Error("nothing was kept")
	}
}

func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	before := f.snapshot()
	for name, content := range map[string]string{"index": "DIRC garbage", "state.json": "{"} {
		if err := os.WriteFile(filepath.Join(f.shadow, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := f.snapshot(); s.ID != before.ID {
			t.Errorf("damaged %s: got %s, want %s", name, s.ID, before.ID)
		}
	}
	if err := os.RemoveAll(f.shadow); err != nil {
		t.Fatal(err)
	}
	if s := f.snapshot(); s.ID != before.ID {
		t.Errorf("removed shadow repository: got %s, want %s", s.ID, before.ID)
	}
}
