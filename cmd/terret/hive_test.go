package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// TestImportHive imports the sessions of a database of Hive that was upgraded from the
// schema without the agent's column: old rows are of OpenCode, as that is its default.
func TestImportHive(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"api", "fix"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "hive.db")
	db, err := lite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1.sql", "2.sql"} {
		b, err := os.ReadFile(filepath.Join("internal/hive/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Script(strings.ReplaceAll(string(b), "{{dir}}", dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, string) {
		code, out, stderr := inProcess(t, "", nil, append(args, "--data", home)...)
		if code != 0 {
			t.Fatal(code, stderr)
		}
		return out, stderr
	}
	if out, stderr := run("sessions", "import", "--hive", path); strings.Count(out, "\n") != 3 || stderr != "" {
		t.Errorf("%s\n%s", out, stderr)
	}
	out, _ := run("sessions", "ls", "--json")
	var listed terret.Page[terret.Session]
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		t.Fatal(err, out)
	}
	got := map[string]string{}
	for _, s := range listed.Items {
		got[s.Title] = s.Agent + " " + string(s.NativeID) + " " + string(s.Policy)
	}
	want := map[string]string{
		"fix the login": "opencode ses_one ask", "read the code": "opencode ses_two ask",
		"write tests": "claude 0197a9d0-0000-7000-8000-000000000001 ask",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if out, stderr := run("sessions", "import", "--hive", path); out != "" || strings.Count(stderr, "exists already") != 3 {
		t.Errorf("a second time: %s\n%s", out, stderr)
	}
	help, _ := run("sessions", "import", "--help")
	if !strings.Contains(help, "opencode_session_id holds the agent's own session id, whichever agent\nit is") {
		t.Errorf("the name of the column is not explained:\n%s", help)
	}
	if code, _, stderr := inProcess(t, "", nil, "sessions", "import", "--hive", filepath.Join(dir, "none.db"), "--data", home); code != 2 || !strings.Contains(stderr, "none.db") {
		t.Errorf("a missing database: %d %s", code, stderr)
	}
}
