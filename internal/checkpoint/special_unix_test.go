//go:build unix

package checkpoint

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe where git reads its rules does not hold a snapshot up until the time limit.
func TestPipeAsRules(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".gitignore", "sub/.gitignore", "sub/.gitattributes"} {
		f := openFolder(t, t.TempDir(), t.TempDir(), Limits{Timeout: time.Hour})
		f.write("a.txt", "a")
		f.write("sub/b.txt", "b")
		if err := syscall.Mkfifo(filepath.Join(f.dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := f.Snapshot(t.Context())
		if off, ok := errors.AsType[*DisabledError](err); err != nil && (!ok || !strings.Contains(off.Reason, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
