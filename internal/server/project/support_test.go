package project_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/project"
)

var _ engine.Recorder = (*project.Files)(nil)

func TestMain(m *testing.M) {
	if dir := os.Getenv("PROJECT_TEST_WRITER"); dir != "" {
		writer(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func moment(t testing.TB, s string) terret.Time {
	t.Helper()
	var at terret.Time
	if err := at.UnmarshalJSON([]byte(`"` + s + `"`)); err != nil {
		t.Fatal(err)
	}
	return at
}

// newSession is a session in a new folder.
func newSession(t testing.TB) terret.Session {
	t.Helper()
	return terret.Session{
		ID: terret.NewSessionID(), Agent: "claude", Cwd: t.TempDir(), Mode: terret.ModeWorkbench,
		CreatedAt: moment(t, "2026-02-07T10:00:00.123456Z"), UpdatedAt: moment(t, "2026-02-07T10:00:00.123456Z"),
	}
}

// entries makes events of a session as its log holds them.
func entries(t testing.TB, s terret.Session, data ...terret.Data) []terret.Entry {
	t.Helper()
	out := make([]terret.Entry, len(data))
	for i, d := range data {
		ev := terret.Event{Session: s.ID, Time: moment(t, "2026-02-07T11:22:33.456789Z"), Data: d}
		body, err := ev.Encode()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = terret.Entry{Session: s.ID, Seq: int64(i + 1), Kind: ev.Kind(), Body: body}
	}
	return out
}

func path(s terret.Session, elem ...string) string {
	return filepath.Join(append([]string{s.Cwd, ".terret"}, elem...)...)
}

func logPath(s terret.Session) string { return path(s, "logs", "harness.log") }

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// logLine is a line of the log as other programs read it.
type logLine struct {
	Timestamp, SessionID, Level, Event string
	Data                               map[string]any
}

func logged(t testing.TB, file string) []logLine {
	t.Helper()
	var out []logLine
	for text := range strings.Lines(read(t, file)) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil || !strings.HasSuffix(text, "\n") {
			t.Fatalf("line %q: %v", text, err)
		}
		out = append(out, l)
	}
	return out
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
