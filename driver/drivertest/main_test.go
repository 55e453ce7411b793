package drivertest_test

import (
	"fmt"
	"os"
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

// results are those of the tests, each of which sets its own.
var results struct{ native, claude, oneShot *drivertest.Result }

func TestMain(m *testing.M) {
	drivertest.Main(native(), claude(), claudeOneShot())
	code := m.Run()
	// A connection of net/http that was refused stays for half a second, so that the
	// client reads the answer before the reset.
	if err := goleak.Find(goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if path := os.Getenv(matrix); path != "" {
		if err := drivertest.Write(path, results.native, results.claude, results.oneShot); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}
