package check_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(os.Environ(), "MY_API_KEY=canary")
	for _, c := range []struct {
		command string
		ok      bool
		output  string
	}{
		{"echo out; echo err >&2", true, "out\nerr"},
		{"echo no; exit 3", false, "no"},
		{"pwd", true, dir},
		{"kill -9 $$", false, ""},
		{"echo [$MY_API_KEY]", true, "[]"},
		{"cat", true, ""}, // its input is empty
	} {
		got, err := check.Run(t.Context(), dir, env, c.command)
		if err != nil || got.OK != c.ok || got.Output != c.output || got.Exit == "" {
			t.Errorf("%s: %+v: %v", c.command, got, err)
		}
	}
	got, err := check.Run(t.Context(), dir, env, "yes | head -n 100000; echo end")
	if err != nil || !strings.HasPrefix(got.Output, "[earlier output is left out]\n") || !strings.HasSuffix(got.Output, "\nend") || len(got.Output) > 20<<10 {
		t.Errorf("%d bytes: %v", len(got.Output), err)
	}
}

// TestStopped holds that a command ends with its context, and what it started with it.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := check.Run(ctx, t.TempDir(), os.Environ(), "sleep 1000 & sleep 1000"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
