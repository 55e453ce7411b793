package guard

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

// TestGuardKilled kills the guard only: the harness ends the tree by its mark.
func TestGuardKilled(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	a := run(t, Config{Grace: short}, guardtest.MarkedTree, marker)
	a.line(t)
	guardtest.AwaitSleeps(t, marker, guardtest.MarkedTreeSize)
	_ = unix.Kill(a.GuardPID(), unix.SIGKILL)
	await(t, "the end of the tree", a.Gone())
	guardtest.NoneAlive(t, marker)
	if !errors.Is(a.Err(), ErrLost) || a.Status().Code != -1 {
		t.Errorf("error %v, exit %+v, want ErrLost and -1", a.Err(), a.Status())
	}
	if err := a.Signal(unix.SIGINT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal afterwards: %v, want os.ErrProcessDone", err)
	}
}

// TestSweep kills harness and guard, and checks that Sweep ends their tree and
// leaves alone the tree of this process, which is a live owner.
func TestSweep(t *testing.T) {
	t.Parallel()
	mine := guardtest.Marker()
	run(t, Config{Grace: short}, guardtest.Tree, mine).line(t)
	guardtest.AwaitSleeps(t, mine, guardtest.TreeSize)

	orphaned := guardtest.Marker()
	harness, agent, guard := startHarness(t, guardtest.MarkedTree, orphaned)
	guardtest.AwaitSleeps(t, orphaned, guardtest.MarkedTreeSize)
	// Stopped first, so that it cannot see the end of the harness.
	_ = unix.Kill(guard, unix.SIGSTOP)
	_ = harness.Process.Kill()
	_ = harness.Wait()
	_ = unix.Kill(guard, unix.SIGKILL)

	// How many is not checked: another Sweep may run on this machine.
	if _, err := Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	guardtest.NoneAlive(t, orphaned)
	awaitMissing(t, "the agent", agent)
	if n := guardtest.Sleeps(t, mine); n < guardtest.TreeSize {
		t.Errorf("%d of %d processes of a live owner are left", n, guardtest.TreeSize)
	}
}

// TestSweepWithStoppedGuard leaves the guard alive but unable to act.
func TestSweepWithStoppedGuard(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	harness, _, guard := startHarness(t, guardtest.Tree, marker)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	_ = unix.Kill(guard, unix.SIGSTOP)
	_ = harness.Process.Kill()
	_ = harness.Wait()
	if _, err := Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	guardtest.NoneAlive(t, marker)
	awaitMissing(t, "the guard", guard)
}

// awaitMissing waits for a process that has let go of its memory, and so of its
// mark, but may not have become a zombie yet.
func awaitMissing(t *testing.T, who string, pid int) {
	t.Helper()
	guardtest.Eventually(t, "end of "+who, func() bool {
		_, err := inspect(pid)
		return missing(err)
	})
}

// TestEndAllCounts ends a tree from outside whose owner lives, so that no Sweep
// takes part. Its guard is not counted, and is not killed but ends by itself.
func TestEndAllCounts(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	a := run(t, Config{Grace: short}, guardtest.Tree, marker)
	a.line(t)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	ours := func(m marks, _ int) bool { return m.tree == a.tree }
	none := func(marks, int) bool { return false }
	ended, err := endAll(t.Context(), time.Minute, func() ([]target, error) {
		targets, err := marked(ours, none)
		for _, tg := range targets {
			if !tg.guard {
				_ = tg.signal(unix.SIGKILL) // so as not to wait for the grace
			}
		}
		return targets, err
	})
	if err != nil || ended < guardtest.TreeSize {
		t.Errorf("ended %d, error %v, want at least %d", ended, err, guardtest.TreeSize)
	}
	await(t, "the end of the tree", a.Gone())
	guardtest.NoneAlive(t, marker)
	if err := a.Err(); err != nil {
		t.Errorf("the guard did not end by itself: %v", err)
	}
}

func TestSweepStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func() ([]target, error) { return []target{{pid: os.Getpid(), handle: -1, guard: true}}, nil }
	if _, err := endAll(ctx, time.Hour, never); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// BenchmarkSweepNothing is what every start of a harness pays.
func BenchmarkSweepNothing(b *testing.B) {
	tb, err := loadTable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := orphans(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(tb.pids)), "processes")
}
