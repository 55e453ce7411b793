//go:build unix

package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe must not make Terret wait.
func TestPipeAsProjectFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".terret"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, projectFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if broken(Sources{Project: dir}) == nil {
		t.Error("no error")
	}
}
