package project_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

// What was written is read again, and grants nothing.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.NativeID, s.Persona, s.Title, s.Agent, s.OneShot, s.Policy = "n1", "DECOMP", "Fix the milk", "codex", true, terret.PolicyAutoApprove
	f := project.New(project.Options{})
	f.Record(s, nil)
	got, err := project.Sessions(s.Cwd)
	want := terret.Session{
		ID: s.ID, Agent: "codex", NativeID: "n1", Title: "Fix the milk", Cwd: s.Cwd, Persona: "DECOMP", Mode: s.Mode, OneShot: true,
		Policy: terret.PolicyAsk, State: terret.SessionPending, CreatedAt: moment(t, "2026-02-07T10:00:00.123Z"),
	}
	if diff := cmp.Diff([]terret.Session{want}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := project.Sessions(t.TempDir()); len(got) != 0 || err != nil {
		t.Errorf("of an empty folder: %v, %v", got, err)
	}
	if _, err := project.Sessions(s.Cwd + "/missing"); err == nil {
		t.Error("a folder that does not exist has sessions")
	}
}

// A bad file is named, and the others are read.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Record(s, nil)
	good := read(t, path(s, "sessions", s.ID+".json"))
	id := terret.NewSessionID()
	put := func(name, content string) {
		if err := os.WriteFile(path(s, "sessions", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bad := map[string]string{
		terret.NewSessionID(): "not JSON",
		terret.NewSessionID(): strings.Repeat("{", 70<<10),
		terret.NewSessionID(): good, // the id of another
		id:                    strings.Replace(strings.Replace(good, s.ID, id, 1), `"agent": "claude"`, `"agent": "--dangerously"`, 1),
		"name":                strings.Replace(good, s.ID, "name", 1),
	}
	for name, content := range bad {
		put(name+".json", content)
	}
	put("notes.txt", "no session")
	if err := os.Symlink(path(s, "sessions", s.ID+".json"), path(s, "sessions", "link.json")); err != nil {
		t.Fatal(err)
	}
	got, err := project.Sessions(s.Cwd)
	if len(got) != 1 || got[0].ID != s.ID || err == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	for name := range bad {
		if !strings.Contains(err.Error(), name+".json") {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if n := strings.Count(err.Error(), ".json:"); n != len(bad)+1 {
		t.Errorf("%d files are named: %v", n, err)
	}
}
