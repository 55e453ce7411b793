package drivertest_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/driver/drivertest"
)

const (
	// conformance is set by `make conformance`. Without it no agent is needed.
	conformance = "TERRET_CONFORMANCE"
	// matrix names the file of the table, which is written if everything ran.
	matrix = "TERRET_CONFORMANCE_TABLE"

	patience = 60 * time.Second
)

// targets are the agents of the table, in its order. Each has a test of its own, which
// calls run.
func targets() []drivertest.Target {
	return []drivertest.Target{
		native(), nativeChat(), nativeResponses(), nativeGemini(), claude(), claudeOneShot(),
		codex(), opencode(), pi(),
		acpGemini(), acpQwen(), acpClaude(), acpCodex(), acpOpenCode(), acpCopilot(), acpGoose(),
	}
}

// results holds a *drivertest.Result for each title.
var results sync.Map

// run runs the suite on the target.
func run(t *testing.T, target drivertest.Target) {
	t.Helper()
	t.Parallel()
	if target.Program != "" {
		target.Version = version(t, target)
	}
	column := slices.IndexFunc(targets(), func(other drivertest.Target) bool { return title(other) == title(target) })
	target.Part = partOf(t, target, column)
	results.Store(title(target), drivertest.Run(t, target))
}

func title(t drivertest.Target) string { return cmp.Or(t.Title, t.Name) }

func TestMain(m *testing.M) {
	drivertest.Main(targets()...)
	code := m.Run()
	// A connection of net/http that was refused stays for half a second, so that the
	// client reads the answer before the reset.
	if err := goleak.Find(goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if path := os.Getenv(matrix); path != "" {
		var all []*drivertest.Result
		for _, target := range targets() {
			r, _ := results.Load(title(target))
			result, _ := r.(*drivertest.Result)
			all = append(all, result)
		}
		if err := drivertest.Write(path, all...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		} else if err := writeSums(path + ".sums"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}
