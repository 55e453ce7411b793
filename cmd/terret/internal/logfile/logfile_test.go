package logfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, f *File, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%d bytes, %v", n, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f := New(path, nil)
	f.max = 100
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "terret.log")
	f := New(path, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("secret"), []byte("***")) })
	if _, err := os.Stat(path); err == nil {
		t.Error("it is there before anything was logged")
	}
	write(t, f, "a secret\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, f, "again\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "a ***\nagain\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// The log stays bounded, and its newest lines are there.
func TestBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terret.log")
	f := open(t, path)
	for i := range 100 {
		write(t, f, fmt.Sprintf("line %d\n", i))
	}
	now, before := read(t, path), read(t, path+".1")
	if len(now) > 100 || len(before) > 100 || len(before) < 90 {
		t.Errorf("%d and %d bytes", len(now), len(before))
	}
	if !strings.HasSuffix(now, "line 99\n") || !strings.HasSuffix(before, fmt.Sprintf("line %d\n", 99-strings.Count(now, "\n"))) {
		t.Errorf("%q after %q", now, before)
	}
}

// Several processes may log to one file: whoever holds an old one notices.
func TestSeveral(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terret.log")
	files := []*File{open(t, path), open(t, path), open(t, path)}
	var group sync.WaitGroup
	for _, f := range files {
		group.Go(func() {
			for range 200 {
				if _, err := f.Write([]byte("one line\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	write(t, files[1], "from 1\n")
	write(t, files[2], "from 2\n")
	both := read(t, path+".1") + read(t, path)
	if !strings.HasSuffix(both, "from 1\nfrom 2\n") {
		t.Errorf("%q", both)
	}
	for line := range strings.Lines(both) {
		if line != "one line\n" && !strings.HasPrefix(line, "from ") {
			t.Errorf("a torn line: %q", line)
		}
	}
}
