package httpapi

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// A job that waits for a person is left after the person has decided and somebody goes on
// with it: the note must stay, or the next server would not continue it.
func TestJobNoteStays(t *testing.T) {
	t.Parallel()
	s := &Server{cfg: Config{Home: t.TempDir()}, log: slog.New(slog.DiscardHandler)}
	noted := func() bool {
		_, err := os.Stat(filepath.Join(s.jobs(), "run_1"+jobSuffix))
		return err == nil
	}
	s.takeJob("run_1", job{Kind: jobWorkflow, By: "one"})
	s.takeJob("run_1", job{Kind: jobWorkflow, By: "two"})
	s.leaveJob("run_1", true)
	if !noted() {
		t.Error("the note of the one who goes on is gone")
	}
	s.leaveJob("run_1", true)
	if noted() {
		t.Error("the note outlives the work")
	}
	s.takeJob("run_1", job{Kind: jobWorkflow})
	s.leaveJob("run_1", false)
	if !noted() {
		t.Error("work that was cut off is forgotten")
	}
}
