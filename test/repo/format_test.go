package repo_test

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestFormatted holds that all Go files are formatted.
func TestFormatted(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := format.Source(text)
		if err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s is not formatted: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
