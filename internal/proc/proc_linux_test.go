package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// roleEnv makes the test binary play a harness that is to be killed.
const roleEnv = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "harness" {
		playHarness()
	}
	goleak.VerifyTestMain(m)
}

func playHarness() {
	p, err := Start(context.Background(), Spec{
		Argv: []string{"sh", "-c", guardtest.Tree, "sh", os.Args[1]},
		Env:  FilterEnv(os.Environ()), StopGrace: short,
	})
	if err != nil {
		panic(err)
	}
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		panic(err)
	}
	fmt.Print(line)
	<-p.Done()
	os.Exit(0)
}

// short is a grace that TERM-ignoring processes use up.
const short = 100 * time.Millisecond

// start runs a shell script with args as its $1, $2 ...; the test's end stops it.
func start(t *testing.T, s Spec, script string, args ...string) *Process {
	t.Helper()
	s.Argv = append([]string{"sh", "-c", script, "sh"}, args...)
	if s.Env == nil {
		s.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // at once
		_, _ = p.Stop(ctx)
		_ = p.Stdout().Close()
	})
	return p
}

// startTree starts guardtest.Tree and waits until all of it runs.
func startTree(t *testing.T, s Spec) (p *Process, marker string) {
	t.Helper()
	marker = guardtest.Marker()
	p = start(t, s, guardtest.Tree, marker)
	if line, err := bufio.NewReader(p.Stdout()).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the agent said %q, error %v", line, err)
	}
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	return p, marker
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(guardtest.Patience):
		t.Fatalf("not in %v: %s", guardtest.Patience, what)
	}
}

func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]func(*Process) (Exit, error){
		"stop":            func(p *Process) (Exit, error) { return p.Stop(t.Context()) },
		"stop in no time": func(p *Process) (Exit, error) { return p.Stop(canceled) },
		"kill":            func(p *Process) (Exit, error) { return p.Kill() },
		"agent ends": func(p *Process) (Exit, error) {
			_ = p.Stdin().Close()
			return p.Wait()
		},
		"agent is killed": func(p *Process) (Exit, error) {
			_ = p.signal(syscall.SIGKILL)
			return p.Wait()
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, marker := startTree(t, Spec{StopGrace: short, KillGrace: short})
			if _, err := end(p); err != nil {
				t.Error(err)
			}
			guardtest.NoneAlive(t, marker)
			await(t, "Done", p.Done())
		})
	}
}

func TestHarnessKilled(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	cmd := exec.CommandContext(t.Context(), os.Args[0], marker)
	cmd.Env = append(os.Environ(), roleEnv+"=harness")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the harness said %q, error %v", line, err)
	}
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	guardtest.AwaitNone(t, marker)
}

// TestGuardKilled proves that a Process ends, and its readers with it, when its
// guard is killed and a process that lost its mark still holds the pipes.
func TestGuardKilled(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	p := start(t, Spec{StopGrace: short}, `(env -i setsid sleep $1 &); echo last words; read line`, marker)
	guardtest.AwaitSleeps(t, marker, 1)
	if err := syscall.Kill(p.guard.GuardPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, guard.ErrLost) {
		t.Errorf("error %v, want guard.ErrLost", err)
	}
	out, err := io.ReadAll(p.Stdout())
	if string(out) != "last words\n" || err != nil {
		t.Errorf("output %q, error %v", out, err)
	}
	// The limit that package guard states: no mark, no parent.
	for _, line := range guardtest.Alive(t, marker) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	guardtest.AwaitNone(t, marker)
}

func TestStopIsPolite(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{StopGrace: time.Minute}, `while read line; do :; done; echo bye; exit 3`)
	exit, err := p.Stop(t.Context())
	if err != nil || exit.Code != 3 || exit.Signal != "" || exit.Duration <= 0 {
		t.Errorf("exit %+v, error %v, want code 3", exit, err)
	}
	if out, _ := io.ReadAll(p.Stdout()); string(out) != "bye\n" {
		t.Errorf("output %q", out)
	}
}

func TestStopSendsTERM(t *testing.T) {
	t.Parallel()
	// Long enough for a shell on a busy machine to take notice.
	p := start(t, Spec{StopGrace: time.Second}, `trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done`)
	readLine(t, p)
	if exit, err := p.Stop(t.Context()); err != nil || exit.Code != 4 {
		t.Errorf("exit %+v, error %v, want code 4", exit, err)
	}
}

func TestStopSendsKILL(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{StopGrace: short}, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	readLine(t, p)
	if exit, err := p.Stop(t.Context()); err != nil || exit.Signal != "SIGKILL" || exit.Code != -1 {
		t.Errorf("exit %+v, error %v, want SIGKILL", exit, err)
	}
}

func TestStopTogether(t *testing.T) {
	t.Parallel()
	p, marker := startTree(t, Spec{StopGrace: short, KillGrace: short})
	exits := make([]Exit, 12)
	var wg sync.WaitGroup
	for i := range exits {
		wg.Go(func() {
			var err error
			if i%3 == 0 {
				exits[i], err = p.Kill()
			} else {
				exits[i], err = p.Stop(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	guardtest.NoneAlive(t, marker)
	for _, e := range exits {
		if e != exits[0] {
			t.Errorf("exits differ: %+v and %+v", exits[0], e)
		}
	}
	if again, err := p.Stop(t.Context()); again != exits[0] || err != nil {
		t.Errorf("stop after the end: %+v, %v", again, err)
	}
	if err := p.signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after the end: %v, want os.ErrProcessDone", err)
	}
	if _, err := p.Stdin().Write([]byte("x")); err == nil {
		t.Error("stdin still takes data")
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	// The child would die of an interrupt: it must not get one.
	marker := guardtest.Marker()
	p := start(t, Spec{}, `trap 'echo interrupted' INT; env --default-signal=INT sleep $1 & wait; read line; exit 5`, marker)
	guardtest.AwaitSleeps(t, marker, 1)
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if line := readLine(t, p); line != "interrupted\n" {
		t.Errorf("the agent said %q", line)
	}
	if guardtest.Sleeps(t, marker) != 1 {
		t.Error("the interrupt reached a descendant")
	}
	exit, err := p.Stop(t.Context())
	if err != nil || exit.Code != 5 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
}

// TestManyAtOnce leaks no descriptor and no goroutine (TestMain looks).
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			p, err := Start(t.Context(), Spec{Argv: []string{"sh", "-c", "echo hello; cat >/dev/null"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
			if err != nil {
				t.Error(err)
				return
			}
			if line := readLine(t, p); line != "hello\n" {
				t.Errorf("the agent said %q", line)
			}
			if exit, err := p.Stop(t.Context()); exit.Code != 0 || err != nil {
				t.Errorf("exit %+v, error %v", exit, err)
			}
			_ = p.Stdout().Close()
		})
	}
	wg.Wait()
}

// readLine reads byte by byte, so that the next reader misses nothing.
func readLine(t *testing.T, p *Process) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); !bytes.HasSuffix(line, []byte("\n")); line = append(line, b...) {
		if _, err := io.ReadFull(p.Stdout(), b); err != nil {
			t.Errorf("read from the agent: %v after %q", err, line)
			break
		}
	}
	return string(line)
}

// Wait waits for the end of the agent.
func (p *Process) Wait() (Exit, error) {
	<-p.Done()
	return p.result()
}
