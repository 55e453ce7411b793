package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){"terret": main})
}

// leakless is tests that must leave no goroutine behind.
type leakless struct{ *testing.M }

// Run implements testscript.TestingM.
func (m leakless) Run() int {
	if code := m.M.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// patience bounds every wait in these tests. Nothing measures how long things take.
const patience = time.Minute

// noRaceSleep is for GORACE: a program with the race detector would otherwise sleep
// for a second before it ends.
const noRaceSleep = "atexit_sleep_ms=0"

// TestScripts runs the scripts.
func TestScripts(t *testing.T) { testscript.Run(t, scripts(t, "testdata/script")) }

// scripts are those of a folder. Each has a home and a data folder of its own, and
// sees no key of whoever runs the tests.
func scripts(t *testing.T, dir string) testscript.Params {
	t.Helper()
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := t.TempDir() // not around the folder worked in, where undo would be off
			e.Setenv("HOME", home)
			e.Setenv("TERRET_HOME", filepath.Join(home, "terret"))
			e.Setenv("USER", "ann")
			e.Setenv("TERRET_MODEL", "demo")
			e.Setenv("GORACE", noRaceSleep)
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "bubblewrap" { // works; it may be installed and not
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--bind", "/", "/", "true").Run() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "eventually": scriptEventually, "capture": scriptCapture,
			"events": scriptEvents, "left": scriptLeft, "http": scriptHTTP, "receiver": scriptReceiver, "patch": scriptPatch, "fill": scriptFill,
		},
	}
}

// scriptCode runs a program that must end with that code: code 2 terret run.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg {
		ts.Fatalf("usage: code CODE program [args...]")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// scriptEventually runs a program until its standard output matches:
// eventually 'listening' cat log.
func scriptEventually(ts *testscript.TestScript, _ bool, args []string) {
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); err == nil && re.MatchString(out) {
			return
		} else if time.Now().After(deadline) {
			ts.Fatalf("in vain: %v\n%s", err, out)
		}
	}
}

// scriptCapture keeps what a regexp, or its group, matches in the last standard
// output: capture REQUEST 'req_\S+'.
func scriptCapture(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("standard output does not match %s", args[1])
	}
	ts.Setenv(args[0], m[len(m)-1])
}

// scriptEvents checks that the last standard output is events, one a line and
// nothing else, with numbers that go up, among them those kinds in that order.
func scriptEvents(ts *testscript.TestScript, _ bool, kinds []string) {
	last := int64(0)
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var ev struct {
			Seq           int64
			Session, Kind string
		}
		ts.Check(json.Unmarshal([]byte(line), &ev))
		if ev.Seq <= last || ev.Session == "" {
			ts.Fatalf("event %d of session %q follows event %d", ev.Seq, ev.Session, last)
		}
		last = ev.Seq
		if len(kinds) > 0 && ev.Kind == kinds[0] {
			kinds = kinds[1:]
		}
	}
	if last == 0 || len(kinds) > 0 {
		ts.Fatalf("no %q among the events", kinds)
	}
}

// scriptLeft checks that processes run in the script's folder, or with ! that none
// does any more.
func scriptLeft(ts *testscript.TestScript, neg bool, _ []string) {
	dir := ts.Getenv("WORK")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		found := processesIn(dir)
		if (len(found) == 0) == neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("processes in %s: %q", dir, found)
		}
	}
}

// processesIn lists the processes that work in the folder or below.
func processesIn(dir string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		where, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(where+"/", dir+"/") {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline")); err == nil && len(line) > 0 {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// scriptPatch overwrites bytes of a file: patch FILE OFFSET HEX.
func scriptPatch(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := strconv.Atoi(args[1])
	ts.Check(err)
	with, err := hex.DecodeString(args[2])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	content, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, slices.Replace(content, offset, offset+len(with), with...), 0o600))
}

// scriptFill makes a file of so many bytes: fill FILE COUNT HEX, of the bytes again
// and again.
func scriptFill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	with, err := hex.DecodeString(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat(with, n/len(with)), 0o600))
}
