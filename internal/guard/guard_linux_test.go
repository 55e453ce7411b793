package guard

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

// roleEnv makes the test binary play another process.
const roleEnv = "GUARD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "harness":
		playHarness()
	case "refused":
		playRefused()
	}
	goleak.VerifyTestMain(m)
}

// playHarness runs the script of its first argument with the second as marker,
// prints the pids of agent and guard once the script is ready, and waits.
func playHarness() {
	stdout, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	stdin, keep, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	g, err := Start(context.Background(), Config{
		Path: "/bin/sh", Argv: []string{"sh", "-c", os.Args[1], "sh", os.Args[2]}, Dir: "/",
		Env: []string{"PATH=" + os.Getenv("PATH")}, Stdin: stdin, Stdout: w, Owner: "played:harness",
	})
	if err != nil {
		panic(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		panic(err)
	}
	fmt.Println(g.PID(), g.GuardPID())
	<-g.Gone()
	_ = keep.Close()
	os.Exit(0)
}

// startHarness starts a test binary that plays a harness.
func startHarness(t *testing.T, script, marker string) (harness *exec.Cmd, agent, guard int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], script, marker)
	cmd.Env = append(os.Environ(), roleEnv+"=harness")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := fmt.Fscan(out, &agent, &guard); err != nil {
		t.Fatalf("the played harness did not start: %v", err)
	}
	return cmd, agent, guard
}

// agentRun is a shell script under a guard of the test's own.
type agentRun struct {
	*Guard
	stdin  *os.File
	stdout *bufio.Reader
}

// run starts script with args as its $1, $2 ...; the test's end closes it.
func run(t *testing.T, c Config, script string, args ...string) *agentRun {
	t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Path, c.Dir, c.Stdin, c.Stdout = "/bin/sh", "/", stdin, stdout
	c.Argv = append([]string{"sh", "-c", script, "sh"}, args...)
	if c.Env == nil {
		c.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	g, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.Close(), stdout.Close()
	t.Cleanup(func() {
		_ = g.Close()
		<-g.Gone()
		_, _ = in.Close(), out.Close()
	})
	return &agentRun{Guard: g, stdin: in, stdout: bufio.NewReader(out)}
}

func (a *agentRun) line(t *testing.T) string {
	t.Helper()
	line, err := a.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("read from the agent: %v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(guardtest.Patience):
		t.Fatalf("not in %v: %s", guardtest.Patience, what)
	}
}

// short is a grace that TERM-ignoring processes use up.
const short = 100 * time.Millisecond

func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*agentRun){
		"close":            func(a *agentRun) { _ = a.Close() },
		"end":              func(a *agentRun) { _ = a.End(short) },
		"end at once":      func(a *agentRun) { _ = a.End(0) },
		"end, then close":  func(a *agentRun) { _, _ = a.End(time.Hour), a.Close() },
		"agent ends":       func(a *agentRun) { _ = a.stdin.Close() },
		"agent is killed":  func(a *agentRun) { _ = a.Signal(unix.SIGKILL) },
		"tree is killed":   func(a *agentRun) { _ = a.SignalTree(unix.SIGKILL) },
		"tree is stopped":  func(a *agentRun) { _, _ = a.SignalTree(unix.SIGSTOP), a.Close() },
		"guard is stopped": func(a *agentRun) { _, _ = unix.Kill(a.GuardPID(), unix.SIGSTOP), a.Close() },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := guardtest.Marker()
			a := run(t, Config{Grace: short}, guardtest.Tree, marker)
			a.line(t)
			guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
			end(a)
			await(t, "the end of the tree", a.Gone())
			guardtest.NoneAlive(t, marker)
			if err := a.Err(); err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestForkingTreesEnd ends processes that fork for as long as they live.
func TestForkingTreesEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"in one group":         `sh "$1" "$1" "$2" &`,
		"each in its session":  `setsid sh "$1" "$1" "$2" &`,
		"ignoring TERM":        `trap "" TERM; sh "$1" "$1" "$2" &`,
		"two, one of them old": `trap "" TERM; setsid sh -c 'exec sleep $0' "$2" & sleep 0.05; setsid sh "$1" "$1" "$2" &`,
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := guardtest.Marker()
			file := filepath.Join(t.TempDir(), "chain")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			a := run(t, Config{Grace: short}, `sh "$1" "$1" "$2" & echo ready; read line`, file, marker)
			a.line(t)
			_ = a.Close()
			await(t, "the end of the chain", a.Gone())
			guardtest.NoneAlive(t, marker)
		})
	}
}

// TestTightForkChainsEnd ends processes of which each forks once and ends at
// once, so that no list of pids is true for longer than a moment.
func TestTightForkChainsEnd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("needs perl, whose fork is not followed by an exec")
	}
	tests := map[string]string{
		"in one group":        `while (1) { exit if fork }`,
		"each in its session": `use POSIX; while (1) { exit if fork; POSIX::setsid() }`,
		"each in its group":   `while (1) { exit if fork; setpgrp }`,
	}
	for name, program := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := guardtest.Marker()
			a := run(t, Config{Grace: short}, `perl -e "\$SIG{TERM} = 'IGNORE'; print qq(ready\n); close STDOUT; $1" $2 & read line`, program, marker)
			a.line(t)
			_ = a.Close()
			await(t, "the end of the chain", a.Gone())
			guardtest.NoneAlive(t, marker)
		})
	}
}

func TestHarnessKilled(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	harness, _, guard := startHarness(t, guardtest.Tree, marker)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	_ = harness.Process.Kill()
	_ = harness.Wait()
	guardtest.AwaitNone(t, marker)
	awaitMissing(t, "the guard", guard)
}

func TestKeepDescendants(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	a := run(t, Config{Grace: short, KeepDescendants: true}, guardtest.Tree, marker)
	a.line(t)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	_ = a.stdin.Close()
	await(t, "the end of the agent", a.Exited())
	if n := guardtest.Sleeps(t, marker); n < guardtest.TreeSize {
		t.Errorf("%d of %d descendants were kept", n, guardtest.TreeSize)
	}
	_ = a.Close()
	await(t, "the end of the tree", a.Gone())
	guardtest.NoneAlive(t, marker)
}

// TestNestedHarness puts a harness with a tree of its own below an agent.
func TestNestedHarness(t *testing.T) {
	t.Parallel()
	marker := guardtest.Marker()
	a := run(t, Config{Grace: short, Env: append(os.Environ(), roleEnv+"=harness")},
		`exec "$1" "$2" "$3"`, os.Args[0], guardtest.Tree, marker)
	a.line(t)
	guardtest.AwaitSleeps(t, marker, guardtest.TreeSize)
	_ = a.Close()
	await(t, "the end of both trees", a.Gone())
	guardtest.NoneAlive(t, marker)
}
