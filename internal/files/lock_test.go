package files_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/files"
)

// TestMain makes this program one that holds a lock until its input ends.
func TestMain(m *testing.M) {
	if path := os.Getenv("FILES_HOLD"); path != "" {
		hold(path)
		return
	}
	goleak.VerifyTestMain(m)
}

func hold(path string) {
	f, err := files.OpenLocked(context.Background(), path)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("held\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(f)
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, most atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			f, err := files.OpenLocked(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n > most.Load() {
				most.Store(n)
			}
			runtime.Gosched()
			holders.Add(-1)
			f.Close()
		})
	}
	wait.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held it at once", most.Load())
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := files.TryOpenLocked(path)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if second, err := files.TryOpenLocked(path); err != nil || second != nil {
		t.Errorf("held: %v, %v", second, err)
	}
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, late)
		defer cancel()
		if f, err := files.OpenLocked(ctx, path); f != nil || !errors.Is(err, late) {
			t.Errorf("held: %v, %v", f, err)
		}
	})
	for range 2 {
		if held, err := files.Locked(path); !held || err != nil {
			t.Errorf("held: %v, %v", held, err)
		}
	}
	first.Close()
	if held, err := files.Locked(path); held || err != nil {
		t.Errorf("free: %v, %v", held, err)
	}
	if held, err := files.Locked(path + ".none"); held || err != nil {
		t.Errorf("not there: %v, %v", held, err)
	}
	again, err := files.TryOpenLocked(path)
	if err != nil || again == nil {
		t.Fatalf("free: %v, %v", again, err)
	}
	if err := files.Lock(t.Context(), again); err != nil {
		t.Errorf("held by ourselves: %v", err)
	}
	again.Close()
	if err := files.Lock(t.Context(), again); err == nil {
		t.Error("a closed file was locked")
	}
	if _, err := files.TryOpenLocked(filepath.Join(t.TempDir(), "no", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestDeadHolder holds that a lock goes with the process that has it.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "FILES_HOLD="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if f, err := files.TryOpenLocked(path); f != nil || err != nil {
		t.Errorf("another process holds it: %v, %v", f, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	f, err := files.TryOpenLocked(path)
	if f == nil || err != nil {
		t.Fatalf("its holder is dead: %v, %v", f, err)
	}
	f.Close()
}

// TestRemoved holds that a lock on a file that was removed is worth nothing: whoever waited
// for it gets the lock of the file that others will open.
func TestRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := files.OpenLocked(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *os.File, 1)
	go func() {
		f, err := files.OpenLocked(t.Context(), path)
		if err != nil {
			t.Error(err)
		}
		got <- f
	}()
	for range 10_000 { // let it wait
		runtime.Gosched()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	first.Close()
	second := <-got
	defer second.Close()
	if third, err := files.TryOpenLocked(path); err != nil || third != nil {
		t.Errorf("two have the lock: %v", err)
		third.Close()
	}
}
