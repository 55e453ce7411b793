package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOpenAIStories uses /uhp/v1 by OpenAI's own clients, for Node.js and for Go. The one for
// Go is a module of its own, so that nothing of it is a dependency of the product.
func TestOpenAIStories(t *testing.T) {
	doorStories(t, "testdata/openai", func(t *testing.T, modules string) []string {
		t.Helper()
		program := filepath.Join(t.TempDir(), "openaistory")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
		build.Dir = "testdata/openai/go"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{"LIBRARY=" + filepath.Join(modules, "openai/index.mjs"), "GOCLIENT=" + program}
	}, "native")
}
