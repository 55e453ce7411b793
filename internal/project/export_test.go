package project

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/lockfile"
)

// Limit makes the log small and its lock impatient.
func (f *Files) Limit(maxLog int64, lockWait time.Duration) {
	f.maxLog, f.lockWait = maxLog, lockWait
}

// HoldLock locks the log of a project until the test ends.
func HoldLock(t *testing.T, project string) {
	t.Helper()
	file, err := lockfile.TryOpen(filepath.Join(project, folderName, logsName, lockName))
	if file == nil || err != nil {
		t.Fatalf("locked %v, error %v", file != nil, err)
	}
	t.Cleanup(func() { file.Close() })
}

const MaxLog = maxLog
