package files_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret/internal/files"
)

// ways are all ways to write a file.
func ways() map[string]func(path, content string) error {
	return map[string]func(path, content string) error{
		"Write": func(path, content string) error { return files.Write(path, []byte(content)) },
		"Swap":  func(path, content string) error { return files.Swap(path, []byte(content)) },
		"SwapIn": func(path, content string) error {
			dir, err := os.OpenRoot(filepath.Dir(path))
			if err != nil {
				return err
			}
			defer dir.Close()
			return files.SwapIn(dir, filepath.Base(path), []byte(content))
		},
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for name, write := range ways() {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		for _, content := range []string{"one", "", "a longer one"} {
			if err := write(path, content); err != nil {
				t.Fatal(name, err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != content {
				t.Errorf("%s: %q, %v; want %q", name, got, err, content)
			}
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
		left(t, name, dir, "f")
	}
}

// left fails unless these files are all that is in a folder.
func left(t *testing.T, name, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s: files %q, want %q", name, got, want)
	}
}

// TestFails holds that a write that fails leaves nothing behind and the old in place.
func TestFails(t *testing.T) {
	t.Parallel()
	for name, write := range ways() {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := write(path, "x"); err == nil {
			t.Errorf("%s: a folder was replaced", name)
		}
		left(t, name, dir, "f")
		if err := write(filepath.Join(dir, "no", "f"), "x"); err == nil {
			t.Errorf("%s: a file in a folder that is not there", name)
		}
	}
}

// TestReaders holds that whoever reads gets all of one content.
func TestReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	whole := map[string]bool{}
	var contents []string
	for _, c := range "abc" {
		contents = append(contents, strings.Repeat(string(c), 100_000))
		whole[contents[len(contents)-1]] = true
	}
	if err := files.Swap(path, []byte(contents[0])); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(done)
		for i := range 100 {
			if err := files.Swap(path, []byte(contents[i%3])); err != nil {
				t.Error(err)
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if got, err := os.ReadFile(path); err != nil || !whole[string(got)] {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	wait.Wait()
}

// TestLink holds that a symbolic link is replaced, not followed.
func TestLink(t *testing.T) {
	t.Parallel()
	for name, write := range ways() {
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, path); err != nil {
			t.Fatal(err)
		}
		if err := write(path, "new"); err != nil {
			t.Error(name, err)
		}
		if got, err := os.ReadFile(outside); err != nil || string(got) != "mine" {
			t.Errorf("%s wrote through a link: %q, %v", name, got, err)
		}
	}
}
