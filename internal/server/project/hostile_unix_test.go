//go:build unix

package project_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

// A pipe in the place of a file must not make Terret wait.
func TestPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"harness.log", "harness.log.lock"} {
		s := newSession(t)
		if err := os.MkdirAll(path(s, "logs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path(s, "logs", name), 0o600); err != nil {
			t.Fatal(err)
		}
		var operator bytes.Buffer
		f := project.New(project.Options{Log: slog.New(slog.NewTextHandler(&operator, nil))})
		f.Record(s, entries(t, s, terret.TurnStart{}))
		if !strings.Contains(operator.String(), name) {
			t.Errorf("%s: operator's log: %s", name, &operator)
		}
		if !exists(path(s, "sessions", s.ID+".json")) {
			t.Error("the session's file is missing")
		}
	}
}

// When the disk is full, the log holds the lines that fit, whole. A process of its own
// has a limit on the size of files instead.
func TestLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("PROJECT_TEST_FULL"); dir != "" {
		fillDisk(t, dir)
		return
	}
	s := newSession(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLogOnAFullDisk$")
	cmd.Env = append(os.Environ(), "PROJECT_TEST_FULL="+s.Cwd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := logged(t, logPath(s))
	if len(got) < 2 || len(got) > 9 {
		t.Errorf("%d lines", len(got))
	}
	for i, l := range got {
		if l.Data["line"] != fmt.Sprint("line ", i) {
			t.Errorf("line %d is %v", i, l.Data)
		}
	}
}

func fillDisk(t *testing.T, dir string) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
		t.Fatal(err)
	}
	var operator bytes.Buffer
	f := project.New(project.Options{Log: slog.New(slog.NewTextHandler(&operator, nil))})
	s := terret.Session{ID: terret.NewSessionID(), Cwd: dir}
	var data []terret.Data
	for i := range 10 {
		data = append(data, terret.DiagStderr{Text: fmt.Sprint("line ", i)})
	}
	f.Record(s, entries(t, s, data...))
	if !strings.Contains(operator.String(), "cannot write project files") {
		t.Errorf("operator's log: %s", &operator)
	}
}
