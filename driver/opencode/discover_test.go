package opencode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// recordedHome makes a home in which the real OpenCode has recorded a session
// (testdata/record.sql), with more statements after it. It returns the agent's database,
// which stays open and has a write-ahead log, as while the agent runs.
func recordedHome(t *testing.T, more string) (d *Driver, db string) {
	t.Helper()
	script, err := os.ReadFile("testdata/record.sql")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	db = filepath.Join(home, ".local", "share", "opencode", "opencode.db")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := lite.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Script("PRAGMA journal_mode = WAL;" + string(script) + more); err != nil {
		t.Fatal(err)
	}
	return New(Config{Environ: []string{"HOME=" + home}}), db
}

const recordedSession = "ses_e0e675108ffejQFyG9xMY0nHbA"

func told(t *testing.T, d *Driver, id string) string {
	t.Helper()
	var out strings.Builder
	for ev, err := range d.Recall(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		switch e := ev.Data.(type) {
		case terret.TurnStart:
			text = terret.TextOf(e.Prompt)
		case terret.TurnComplete:
			text = fmt.Sprintf("%s %d+%d", e.Text, e.Usage.Input, e.Usage.Output)
		case terret.MessageComplete:
			text = terret.TextOf(e.Blocks)
		case terret.ToolPre:
			text = fmt.Sprintf("%s %s", e.Class, e.Title)
		case terret.ToolPost:
			text = strings.TrimSpace(terret.TextOf(e.Content))
		case terret.ToolFailure:
			text = e.Error
		}
		if ev.Turn == "" || ev.Time.IsZero() {
			t.Errorf("%s has no turn or no time", ev.Kind())
		}
		fmt.Fprintf(&out, "%s: %s\n", ev.Kind(), text)
	}
	return out.String()
}

// TestRecall reads a session that the real agent has recorded, while the agent still has
// its database open, and leaves that as it is.
func TestRecall(t *testing.T) {
	t.Parallel()
	d, db := recordedHome(t, "")
	before := content(t, db) + content(t, db+"-wal")
	found, err := d.Discover(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if f := found[0]; f.Agent != "opencode" || f.NativeID != recordedSession || f.Cwd != "/home/dev/project" || f.Title != "Scripted." || f.Size == 0 || f.UpdatedAt.UnixMilli() != 1795054680020 {
		t.Errorf("%+v", f)
	}
	want := `turn.start: "make it"
message.complete: I will make it.
tool.pre: execute echo hi > made.txt; echo done
tool.post: done
message.complete: It is made.
turn.complete: It is made. 15405+21
`
	if got := told(t, d, recordedSession); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if content(t, db)+content(t, db+"-wal") != before {
		t.Error("the agent's files have changed")
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDiscoverHostile holds that odd rows are left out, and that a file that is no such
// database is an error that names nothing of it.
func TestDiscoverHostile(t *testing.T) {
	t.Parallel()
	d, _ := recordedHome(t, `
		INSERT INTO session(id, project_id, slug, directory, title, version, time_created, time_updated, parent_id) VALUES('ses_child', 'p', 's', '/p', 'of a subagent', '1', 1, 1, 'ses_x');
		INSERT INTO session(id, project_id, slug, directory, title, version, time_created, time_updated) VALUES('ses_empty', 'p', 's', '/p', 'nothing said', '1', 1, 1), ('ses_odd', 'p', 's', '/p', 'odd'||char(10)||'rows', '1', 1, 1),
			('ses_'||char(27)||']0;x'||char(7), 'p', 's', '/p', 'no id of it', '1', 1, 1);
		INSERT INTO message VALUES('m9', 'ses_'||char(27)||']0;x'||char(7), 1, 1, '{"role":"user"}'), ('m0', 'ses_odd', 1, 1, 'no json'), ('m1', 'ses_odd', 2, 2, '{"role":"user"}'), ('m2', 'ses_odd', 3, 3, '{"role":"assistant","tokens":{"input":3,"output":1}}');
		INSERT INTO part VALUES('p0', 'm0', 'ses_odd', 1, 1, '{"type":"text","text":"x"}'), ('p1', 'm1', 'ses_odd', 2, 2, '{"type":"text","text":"go"}'), ('p2', 'm1', 'ses_odd', 2, 2, '{"type":"text","text":"hidden","synthetic":true}'),
			('p3', 'm2', 'ses_odd', 3, 3, '{"type":7'), ('p4', 'm2', 'ses_odd', 3, 3, '{"type":"tool","tool":"bash","callID":"c","state":{"status":"running"}}');`)
	found, err := d.Discover(t.Context())
	if err != nil || len(found) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	want := "turn.start: go\ntool.pre: execute \ntool.failure: the record has no result\nturn.complete:  3+1\n"
	if got := told(t, d, "ses_odd"); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	for _, err := range d.Recall(t.Context(), "ses_none") {
		if !errors.Is(err, terret.ErrNotFound) {
			t.Error(err)
		}
	}
	other, db := recordedHome(t, "")
	for _, text := range []string{"", "no database", "SQLite format 3\x00" + strings.Repeat("x", 5000)} {
		_ = os.Remove(db + "-wal")
		_ = os.Remove(db + "-shm")
		if err := os.Remove(db); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(db, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := other.Discover(t.Context()); err == nil || len(found) != 0 {
			t.Errorf("%.20q: %v, %v", text, found, err)
		}
	}
	if found, err := New(Config{Environ: []string{"HOME=/nowhere"}}).Discover(t.Context()); found != nil || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}
