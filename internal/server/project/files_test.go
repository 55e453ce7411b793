package project_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

func sessionFile(t *testing.T, s terret.Session) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, path(s, "sessions", s.ID+".json"))), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSessionFile(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Record(s, nil)
	want := map[string]any{
		"id": s.ID, "createdAt": "2026-02-07T10:00:00.123Z", "updatedAt": "2026-02-07T10:00:00.123Z",
		"projectRoot": s.Cwd, "persona": nil, "mode": "workbench", "claudeSessionId": nil, "agent": "claude", "title": "",
	}
	if diff := cmp.Diff(want, sessionFile(t, s)); diff != "" {
		t.Error(diff)
	}
	// The agent's id is saved when it is learned, times when a turn ends.
	s.NativeID, s.Persona = "n1", "DECOMP"
	f.Record(s, entries(t, s, terret.TurnStart{Prompt: []terret.Block{terret.Text("remember the milk")}}, terret.SessionStart{NativeID: "n1"}))
	want["claudeSessionId"], want["persona"], want["updatedAt"] = "n1", "DECOMP", "2026-02-07T11:22:33.456Z"
	if diff := cmp.Diff(want, sessionFile(t, s)); diff != "" {
		t.Error(diff)
	}
	if text := read(t, path(s, "sessions", s.ID+".json")); strings.Contains(text, "milk") {
		t.Errorf("it holds what was said: %s", text)
	}
	left, err := os.ReadDir(path(s, "sessions"))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, error %v", left, err)
	}
}

func TestSessionFileIsSavedWhenATurnOrProcessEnds(t *testing.T) {
	t.Parallel()
	for _, end := range []terret.Data{
		terret.TurnComplete{}, terret.TurnError{}, terret.ProcessExit{}, terret.SessionNativeID{New: "n"}, terret.SessionEnd{Reason: "agent_exit"},
	} {
		s := newSession(t)
		f := project.New(project.Options{})
		f.Record(s, entries(t, s, terret.TurnStart{}))
		if !exists(path(s, "sessions", s.ID+".json")) {
			t.Error("not saved at first sight")
		}
		s.NativeID = "new"
		f.Record(s, entries(t, s, terret.ToolPre{Name: "x"}))
		if got := sessionFile(t, s)["claudeSessionId"]; got != nil {
			t.Errorf("saved in mid-turn: %v", got)
		}
		f.Record(s, entries(t, s, end))
		if got := sessionFile(t, s)["claudeSessionId"]; got != "new" {
			t.Errorf("%T: not saved: %v", end, got)
		}
	}
}

// Whoever reads the file while it is written sees a whole one.
func TestSessionFileIsAlwaysWhole(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Record(s, nil)
	ended := entries(t, s, terret.ProcessExit{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			s := s
			s.Persona = terret.NullString(strings.Repeat("P", i+1))
			f.Record(s, ended)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got := sessionFile(t, s); len(got) != 9 {
			t.Fatalf("read %v", got)
		}
	}
	if got := sessionFile(t, s)["persona"]; got != strings.Repeat("P", 200) {
		t.Errorf("the last of 200 writes is not there: %v", got)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s, other := newSession(t), newSession(t)
	other.Cwd = s.Cwd
	f := project.New(project.Options{})
	f.Remove(s) // nothing there yet
	if exists(path(s)) {
		t.Error("removing made a folder")
	}
	f = project.New(project.Options{})
	f.Record(s, nil)
	f.Record(other, nil)
	for _, x := range []terret.Session{s, other} {
		if _, err := f.SavePrompt(x, "p"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path(s, "sessions", s.ID+".json.abc.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Remove(s)
	// What the engine still had in its queue does not bring it back.
	f.Record(s, entries(t, s, terret.TurnError{}, terret.ProcessExit{}))
	f.Record(s, nil)
	left, err := filepath.Glob(path(s, "*", "*"+s.ID+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %q, error %v", left, err)
	}
	left, err = filepath.Glob(path(s, "*", "*"+other.ID+"*"))
	if err != nil || len(left) != 2 {
		t.Errorf("the other session has %q, error %v", left, err)
	}
	f.Record(other, entries(t, other, terret.SessionEnd{Reason: "deleted"}))
	left, err = filepath.Glob(path(s, "*", "*"+other.ID+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("deleted by event: left %q, error %v", left, err)
	}
}

func TestSavePrompt(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	for _, prompt := range []string{"a long first prompt", "second"} {
		got, err := f.SavePrompt(s, prompt)
		if want := path(s, "prompts", s.ID+"-system.txt"); err != nil || got != want {
			t.Fatalf("path %q, error %v, want %q", got, err, want)
		}
		if text := read(t, got); text != prompt {
			t.Errorf("prompt %q", text)
		}
	}
	if got, want := project.SavedPrompt(s), ".terret/prompts/"+s.ID+"-system.txt"; got != want {
		t.Errorf("saved at %s, want %s", got, want)
	}
	if got := project.SavedPrompt(newSession(t)); got != "" {
		t.Errorf("nothing was saved, but %s is there", got)
	}
}

func TestShellCommand(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{"what's up?": `'what'\''s up?'`, "=ls": "'=ls'", "[x]": "'[x]'", "a=b": "a=b", "": "''"} {
		if got := project.ShellCommand([]string{"say", arg}); got != "say "+want {
			t.Errorf("%q: %s", arg, got)
		}
	}
}

func TestGitignore(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	project.New(project.Options{}).Record(s, nil)
	got := read(t, path(s, ".gitignore"))
	for _, folder := range []string{"/logs/\n", "/prompts/\n", "/sessions/\n"} {
		if !strings.Contains(got, folder) {
			t.Errorf("%q is missing in %q", folder, got)
		}
	}
	if err := os.WriteFile(path(s, ".gitignore"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	project.New(project.Options{}).Record(s, nil)
	if got := read(t, path(s, ".gitignore")); got != "mine\n" {
		t.Errorf("overwritten: %q", got)
	}
}

func TestFilesAreForTheirOwner(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	s := newSession(t)
	f := project.New(project.Options{})
	if err := os.MkdirAll(path(s, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logPath(s), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.Record(s, entries(t, s, terret.TurnStart{}))
	if _, err := f.SavePrompt(s, "p"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{
		logPath(s): 0o600, path(s, "sessions", s.ID+".json"): 0o600, path(s, "prompts", s.ID+"-system.txt"): 0o600,
		path(s, "logs"): 0o700, path(s, "sessions"): 0o700, path(s, "prompts"): 0o700,
	} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, error %v, want %v", file, info.Mode(), err, want)
		}
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{Off: true})
	f.Record(s, nil)
	f.Record(s, entries(t, s, terret.TurnStart{}))
	f.Remove(s)
	if got, err := f.SavePrompt(s, "p"); got != "" || err != nil {
		t.Errorf("path %q, error %v", got, err)
	}
	if exists(path(s)) {
		t.Error("something was written")
	}
}

// A session goes on without its folder, and the operator is told once.
func TestUnusableFolders(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *terret.Session) error{
		"gone":              func(s *terret.Session) error { return os.Remove(s.Cwd) },
		".terret is a file": func(s *terret.Session) error { return os.WriteFile(path(*s), nil, 0o600) },
		"sessions is a file": func(s *terret.Session) error {
			return errFirst(os.Mkdir(path(*s), 0o700), os.WriteFile(path(*s, "sessions"), nil, 0o600))
		},
		"log is a folder": func(s *terret.Session) error { return os.MkdirAll(logPath(*s), 0o700) },
		"bad id":          func(s *terret.Session) error { s.ID = "../../x"; return nil },
		"read-only": func(s *terret.Session) error {
			if os.Getuid() <= 0 {
				s.Cwd = "/proc" // nobody may write there, not even root
				return nil
			}
			return os.Chmod(s.Cwd, 0o500)
		},
	} {
		if name == "read-only" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			if err := spoil(&s); err != nil {
				t.Fatal(err)
			}
			var operator bytes.Buffer
			f := project.New(project.Options{Log: slog.New(slog.NewTextHandler(&operator, nil))})
			for range 3 {
				f.Record(s, entries(t, s, terret.TurnStart{}, terret.TurnComplete{}))
				f.Record(s, nil)
			}
			if n := strings.Count(operator.String(), "level="); n != 1 && name != "log is a folder" {
				t.Errorf("the operator was told %d times:\n%s", n, &operator)
			}
			if !strings.Contains(operator.String(), "the session continues without them") {
				t.Errorf("operator's log: %s", &operator)
			}
		})
	}
}

func errFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSavePromptReturnsItsError(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	if err := os.Remove(s.Cwd); err != nil {
		t.Fatal(err)
	}
	if _, err := f.SavePrompt(s, "p"); err == nil {
		t.Error("no error")
	}
	s.ID = "../x"
	if _, err := f.SavePrompt(s, "p"); err == nil {
		t.Error("bad id: no error")
	}
}
