//go:build unix

package trust

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in place of a file does not make anybody wait.
func TestPipe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".mcp.json", ".claude/hooks/x", "agents/AGENT_X.md"} {
		dir := t.TempDir()
		write(t, dir, map[string]string{filepath.Dir(name) + "/other": ""})
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := inspect(t, dir); !strings.Contains(s.Problem, name+" is not a regular file") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
