package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const code = `package p

func Big(n int) bool {
	if n > 9 {
		return true
	}
	count(n)
	return false
}

func count(int) {}
`

const tests = `package p

import "testing"

func TestBig(t *testing.T) {
	if !Big(20) || Big(0) {
		t.Error("wrong")
	}
}
`

// TestRun holds that what no test would miss is listed, and nothing else; that only
// changed lines are tried when asked for; and that no file is touched.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write("go.mod", "module p\n\ngo 1.26\n")
	write("p.go", strings.ReplaceAll(code, "n > 9", "n > 8"))
	write("p_test.go", tests)
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	write("p.go", code)
	try := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if _, err := run(t.Context(), append(args, dir), &out); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(out.String(), dir, "")
	}
	want := "/p.go:4: > becomes >=\n/p.go:4: 9 becomes 10\n/p.go:7: count(n) becomes nothing\n: 3 changes noticed, 3 not, 0 do not build\n"
	if d := cmp.Diff(want, try()); d != "" {
		t.Error(d)
	}
	want = "/p.go:4: > becomes >=\n/p.go:4: 9 becomes 10\n: 1 changes noticed, 2 not, 0 do not build\n"
	if d := cmp.Diff(want, try("-base", "HEAD")); d != "" {
		t.Error(d)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "p.go")); err != nil || string(got) != code {
		t.Errorf("the file was changed: %v\n%s", err, got)
	}
	write("p_test.go", strings.ReplaceAll(tests, "!Big(20)", "Big(20)"))
	if _, err := run(t.Context(), []string{dir}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "without a change") {
		t.Errorf("tests that fail anyway: %v", err)
	}
}
