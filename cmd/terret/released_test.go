package main

import (
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleasedDatabases reads and changes the database of every version that was released.
func TestReleasedDatabases(t *testing.T) {
	t.Parallel()
	released, err := filepath.Glob("testdata/released/*.db.gz")
	if err != nil || len(released) == 0 {
		t.Fatalf("no databases: %v", err)
	}
	for _, file := range released {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".db.gz"), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			unpack(t, file, filepath.Join(home, "terret.db"))
			terret := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "terret", args...)
				cmd.Dir = home
				cmd.Env = []string{"HOME=" + home, "TERRET_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERRET_MODEL=demo", "GORACE=" + noRaceSleep}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("terret %q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			const session = "01a1f16c-8f11" // the first turn of the oldest
			for _, c := range []struct {
				args []string
				want string
			}{
				{[]string{"db", "check"}, "the database is fine"},
				{[]string{"sessions"}, "list files"},
				{[]string{"sessions", "show", session}, "Created a.txt (4 bytes)."},
				{[]string{"events", session}, `"kind":"turn.complete"`},
				{[]string{"rules"}, "Bash(echo *)"},
				{[]string{"search", "created"}, "a.txt"},
				{[]string{"usage"}, "46"},
				{[]string{"sessions", "rename", session, "another name"}, ""},
				{[]string{"sessions"}, "another name"},
				{[]string{"run", "hello"}, "Hello!"},
				{[]string{"db", "check"}, "the database is fine"},
			} {
				if got := terret(c.args...); !strings.Contains(got, c.want) {
					t.Errorf("terret %q does not print %q:\n%s", c.args, c.want, got)
				}
			}
		})
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(to, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
