package project

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/files"
)

// Limit makes the log small and its lock impatient.
func (f *Files) Limit(maxLog int64, lockWait time.Duration) {
	f.maxLog, f.lockWait = maxLog, lockWait
}

// HoldLock locks the log of a project until the test ends.
func HoldLock(t *testing.T, project string) {
	t.Helper()
	// A program that another test starts holds it too, for a moment.
	file, err := files.OpenLocked(t.Context(), filepath.Join(project, folderName, logsName, lockName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
}
