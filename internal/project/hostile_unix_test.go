//go:build unix

package project_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/project"
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
