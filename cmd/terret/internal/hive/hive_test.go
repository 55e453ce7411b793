package hive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/cmd/terret/internal/hive"
	"github.com/terret-dev/terret/internal/lite"
)

// database makes a database by the scripts, with the folders of its sessions.
func database(t *testing.T, scripts ...string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"api", "fix"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(dir, "hive.db")
	db, err := lite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		if strings.HasSuffix(script, ".sql") {
			b, err := os.ReadFile(filepath.Join("testdata", script))
			if err != nil {
				t.Fatal(err)
			}
			script = strings.ReplaceAll(string(b), "{{dir}}", dir)
		}
		if err := db.Script(script); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

// TestSessions reads each version of the schema, the later one made out of the older one
// as Hive does.
func TestSessions(t *testing.T) {
	t.Parallel()
	old := []string{"opencode ses_one fix fix the login", "opencode ses_two api read the code"}
	later := append(old, "claude-code 0197a9d0-0000-7000-8000-000000000001 api write tests")
	for name, c := range map[string]struct {
		scripts []string
		want    []string
	}{
		"without the column": {[]string{"1.sql"}, old},
		"upgraded":           {[]string{"1.sql", "2.sql"}, later},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, dir := database(t, c.scripts...)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := hive.Sessions(path)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range found {
				if s.Policy != terret.PolicyAsk || s.State != terret.SessionPending || s.PermissionMode != "" || s.CreatedAt.Year() != 2026 || !terret.ValidID("", s.ID) {
					t.Errorf("%+v", s)
				}
				got = append(got, strings.Join([]string{s.Agent, string(s.NativeID), strings.TrimPrefix(s.Cwd, dir+"/"), s.Title}, " "))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the database was changed, or is gone: %v", err)
			}
		})
	}
}

// TestOddRows leaves out what makes no session, and says why.
func TestOddRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"id":     {`UPDATE sessions SET id = '../x' WHERE name = 'fix the login'`, "not a UUID"},
		"agent":  {`UPDATE sessions SET agent_sdk = 'a' || char(10) WHERE name = 'fix the login'`, "not a name"},
		"native": {`UPDATE sessions SET opencode_session_id = char(27) WHERE name = 'fix the login'`, "not a name"},
		"title":  {`UPDATE sessions SET name = hex(zeroblob(300)) WHERE name = 'fix the login'`, "too long"},
		"folder": {`UPDATE worktrees SET path = '/there/is/none'`, `session "3b241101-e2bb-4255-8caf-4136c566a962": there is no folder "/there/is/none"`},
		"time":   {`UPDATE sessions SET created_at = 'soon' WHERE name = 'fix the login'`, "soon"},
	} {
		path, _ := database(t, "1.sql", "2.sql", c.script)
		if found, err := hive.Sessions(path); len(found) != 2 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d sessions, %v", name, len(found), err)
		}
	}
	path, _ := database(t, "1.sql", `UPDATE sessions SET opencode_session_id = hex(zeroblob(256)) WHERE name = 'fix the login'`) // 512 letters
	if found, err := hive.Sessions(path); err != nil || len(found) != 2 {
		t.Errorf("a long id: %+v, %v", found, err)
	}
	path, _ = database(t, "1.sql", "2.sql", `UPDATE sessions SET agent_sdk = ''`)
	if found, err := hive.Sessions(path); err != nil || len(found) != 3 || found[2].Agent != "opencode" {
		t.Errorf("no agent: %+v, %v", found, err)
	}
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("not a database, but long enough to be looked at"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty, _ := database(t)
	missing := filepath.Join(t.TempDir(), "none")
	for _, path := range []string{missing, t.TempDir(), text, empty} {
		if found, err := hive.Sessions(path); err == nil || found != nil || strings.Contains(err.Error(), "sqlite") {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a missing file was made")
	}
}
