package project

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Limit makes the log small and its lock impatient.
func (f *Files) Limit(maxLog int64, lockWait time.Duration) {
	f.maxLog, f.lockWait = maxLog, lockWait
}

// HoldLock locks the log of a project until the test ends.
func HoldLock(t *testing.T, project string) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(project, folderName, logsName, lockName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if locked, err := tryLock(file); !locked || err != nil {
		t.Fatalf("locked %v, error %v", locked, err)
	}
}

const MaxLog = maxLog
