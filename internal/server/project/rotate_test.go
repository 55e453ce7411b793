package project_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

func TestRotation(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Record(s, entries(t, s, terret.DiagStderr{Text: "first"}))
	if err := os.WriteFile(logPath(s)+".1", []byte("older\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const limit = 10 << 20
	if err := os.Truncate(logPath(s), limit-1000); err != nil {
		t.Fatal(err)
	}
	f.Record(s, entries(t, s, terret.DiagStderr{Text: "it fits"}))
	if got := read(t, logPath(s)+".1"); got != "older\n" {
		t.Errorf("the log was rotated too early: the old one has %d bytes", len(got))
	}
	old := []byte(strings.Repeat("x", limit-100) + "\n")
	if err := os.WriteFile(logPath(s), old, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Record(s, entries(t, s, terret.DiagStderr{Text: "second"}, terret.DiagStderr{Text: "third"}))
	if got := logged(t, logPath(s)); len(got) != 2 || got[0].Data["line"] != "second" || got[1].Data["line"] != "third" {
		t.Errorf("log: %v", got)
	}
	if got := read(t, logPath(s)+".1"); got != string(old) {
		t.Errorf("the old log has %d bytes, want %d", len(got), len(old))
	}
	left, err := filepath.Glob(path(s, "logs", "*"))
	if err != nil || len(left) != 3 { // with the lock
		t.Errorf("files %q, error %v", left, err)
	}
}

func TestOneOldLogIsKept(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Limit(1000, time.Second)
	for i := range 50 {
		f.Record(s, entries(t, s, terret.DiagStderr{Text: strconv.Itoa(i)}))
		if info, err := os.Stat(logPath(s)); err != nil || info.Size() > 1000 {
			t.Fatalf("size %d, error %v", info.Size(), err)
		}
	}
	all := append(logged(t, logPath(s)+".1"), logged(t, logPath(s))...)
	for i, l := range all { // the last ones, in order
		if want := strconv.Itoa(50 - len(all) + i); l.Data["line"] != want {
			t.Errorf("line %d is %v, want %s", i, l.Data["line"], want)
		}
	}
}

// A batch of lines is cut where the log is full, and a line that is too large alone has
// a log of its own.
func TestRotationInABatch(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Limit(1000, time.Second)
	var data []terret.Data
	for i := range 10 { // of 140 bytes or so each
		data = append(data, terret.DiagStderr{Text: strconv.Itoa(i)})
	}
	f.Record(s, entries(t, s, data...))
	old, now := logged(t, logPath(s)+".1"), logged(t, logPath(s))
	if len(old) < 5 || len(now) < 2 {
		t.Errorf("%d lines, then %d", len(old), len(now))
	}
	for i, l := range append(old, now...) {
		if l.Data["line"] != strconv.Itoa(i) {
			t.Errorf("line %d is %v", i, l.Data["line"])
		}
	}
	f.Limit(100, time.Second)
	f.Record(s, entries(t, s, terret.DiagStderr{Text: "large"}, terret.DiagStderr{Text: "larger"}))
	old, now = logged(t, logPath(s)+".1"), logged(t, logPath(s))
	if len(old) != 1 || len(now) != 1 || old[0].Data["line"] != "large" || now[0].Data["line"] != "larger" {
		t.Errorf("%v, then %v", old, now)
	}
	s = newSession(t)
	if f.Record(s, entries(t, s, terret.DiagStderr{Text: "large"})); exists(logPath(s) + ".1") {
		t.Error("an empty log was rotated")
	}
}

// A process that holds the lock and is stuck stops nobody else.
func TestStuckLock(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Record(s, entries(t, s, terret.DiagStderr{Text: "one"}))
	project.HoldLock(t, s.Cwd)
	f.Limit(10, time.Millisecond)
	f.Record(s, entries(t, s, terret.DiagStderr{Text: "two"}))
	if got := logged(t, logPath(s)); len(got) != 2 || exists(logPath(s)+".1") {
		t.Errorf("log: %v", got)
	}
}

const (
	writers     = 4
	linesOfEach = 300
	sharedLimit = 150 << 10 // one rotation, so that no line is lost
)

// writer is what each process of TestSeveralProcesses does.
func writer(dir string) {
	t := &testing.T{}
	s := terret.Session{ID: terret.NewSessionID(), Cwd: dir, Mode: terret.ModeDirect}
	f := project.New(project.Options{})
	f.Limit(sharedLimit, time.Minute)
	for i := range linesOfEach / 3 {
		var data []terret.Data
		for j := range 3 {
			data = append(data, terret.DiagStderr{Text: fmt.Sprintf("%s %d", os.Getenv("PROJECT_TEST_NAME"), 3*i+j)})
		}
		f.Record(s, entries(t, s, data...))
	}
}

func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	var cmds []*exec.Cmd
	for i := range writers {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "PROJECT_TEST_WRITER="+s.Cwd, "PROJECT_TEST_NAME="+strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(logPath(s)); err != nil || info.Size() > sharedLimit {
		t.Errorf("size %v, error %v", info.Size(), err)
	}
	// Every line is there once and whole, and those of each process are in order.
	next := map[string]int{}
	all := append(logged(t, logPath(s)+".1"), logged(t, logPath(s))...)
	for _, l := range all {
		name, number, _ := strings.Cut(l.Data["line"].(string), " ")
		if number != strconv.Itoa(next[name]) {
			t.Fatalf("process %s: line %s, want %d", name, number, next[name])
		}
		next[name]++
	}
	if len(all) != writers*linesOfEach {
		t.Errorf("%d lines, want %d", len(all), writers*linesOfEach)
	}
	sessions, err := filepath.Glob(path(s, "sessions", "*"))
	if err != nil || len(sessions) != writers {
		t.Errorf("sessions %q, error %v", sessions, err)
	}
}
