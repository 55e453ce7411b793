//go:build linux

// Package guardtest finds processes for the tests of packages guard and proc:
// it makes trees that try to escape, and proves from /proc that none did. Its
// processes are sleeps of a duration that no one else uses, the marker, so that
// one is found by its arguments even when it has dropped its environment.
package guardtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait; no test is meant to come near it.
const Patience = 60 * time.Second

// Tree is a shell script that starts sleeps in every way that has been seen to
// escape from a process group or from a mark, prints "ready", and then lives
// until its stdin ends. Its first argument is the marker.
const Tree = `
sleep $1 &
setsid sleep $1 &
(sleep $1 &)
(setsid sleep $1 &)
env -i sleep $1 &
(env -i setsid sleep $1 &)
(setsid env -i sh -c 'trap "" TERM INT HUP; exec sleep $0' $1 &)
sh -c 'trap "" TERM INT HUP; exec sleep $0' $1 &
(setsid setsid nohup sleep $1 >/dev/null 2>&1 &)
setsid sh -c 'trap "setsid sleep $0 & setsid sleep $0 &" TERM; sleep $0; sleep $0' $1 &
` + ready

// TreeSize is the number of sleeps that Tree starts, before any ends.
const TreeSize = 10

// MarkedTree is Tree without the processes that drop their environment.
const MarkedTree = `
sleep $1 &
setsid sleep $1 &
(sleep $1 &)
(setsid sleep $1 &)
sh -c 'trap "" TERM INT HUP; exec sleep $0' $1 &
(setsid sh -c 'trap "" TERM INT HUP; exec sleep $0' $1 &)
sh -c 'env -i sleep $0; sleep $0' $1 &
` + ready

// MarkedTreeSize is the number of sleeps that MarkedTree starts.
const MarkedTreeSize = 7

// ready reads with a builtin, so that the shell itself is what waits.
const ready = "echo ready\nwhile read line; do :; done\n"

// Marker returns a duration for sleep that is unique to its caller.
func Marker() string {
	return fmt.Sprintf("%d.%09d", 100_000+rand.IntN(900_000), rand.IntN(1_000_000_000)) // a name
}

// Alive returns a line for each process that has the marker in its arguments or
// its environment, zombies and the caller excepted.
func Alive(tb testing.TB, marker string) []string {
	tb.Helper()
	dir, err := os.ReadDir("/proc")
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	for _, entry := range dir {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		base := "/proc/" + entry.Name()
		args, _ := os.ReadFile(base + "/cmdline")
		env, _ := os.ReadFile(base + "/environ")
		if !bytes.Contains(args, []byte(marker)) && !bytes.Contains(env, []byte(marker)) {
			continue
		}
		stat, err := os.ReadFile(base + "/stat")
		if i := bytes.LastIndexByte(stat, ')'); err != nil || i < 0 || bytes.HasPrefix(stat[i:], []byte(") Z")) {
			continue
		}
		found = append(found, entry.Name()+" "+strings.ReplaceAll(strings.TrimRight(string(args), "\x00"), "\x00", " "))
	}
	return found
}

// Sleeps counts the processes that are a sleep of the marker.
func Sleeps(tb testing.TB, marker string) (n int) {
	tb.Helper()
	for _, line := range Alive(tb, marker) {
		if strings.HasSuffix(line, " sleep "+marker) {
			n++
		}
	}
	return n
}

// Eventually waits until ok is true.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not in %v: %s", Patience, what)
		}
	}
}

// AwaitSleeps waits until at least n sleeps of the marker run.
func AwaitSleeps(tb testing.TB, marker string, n int) {
	tb.Helper()
	Eventually(tb, fmt.Sprintf("%d sleeps", n), func() bool { return Sleeps(tb, marker) >= n })
}

// NoneAlive fails the test when a process with the marker is alive now.
func NoneAlive(tb testing.TB, marker string) {
	tb.Helper()
	if left := Alive(tb, marker); len(left) > 0 {
		tb.Errorf("%d processes survived:\n%s", len(left), strings.Join(left, "\n"))
	}
}

// AwaitNone waits until no process with the marker is alive.
func AwaitNone(tb testing.TB, marker string) {
	tb.Helper()
	Eventually(tb, "end of all processes", func() bool { return len(Alive(tb, marker)) == 0 })
}
