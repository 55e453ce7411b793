package acp

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// warm starts an agent beforehand, and returns its process and session.
func (s *setup) warm() (w terret.Warm, pid int, native string) {
	s.t.Helper()
	r := s.req
	r.Host, r.Session.ID = nil, ""
	w, err := s.d.Prewarm(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	a := w.(*seat.Warm[*waiting]).Prepared.a
	return w, a.Current().PID(), a.native
}

// TestWarmIsTakenOver has a session go on with the process and the session that waited.
func TestWarmIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	w, pid, native := s.warm()
	if !w.Alive() || w.Memory() <= 0 || len(s.host.said()) > 0 {
		t.Errorf("alive %t, %d bytes, said %s", w.Alive(), w.Memory(), dump(s.host.said()))
	}
	s.req.Warm = w
	a := s.open()
	events := s.host.said()
	starts := all[terret.SessionStart](events)
	if got := a.Current().PID(); got != pid || len(starts) != 1 || starts[0].NativeID != native || len(all[terret.ProcessSpawn](events)) != 1 {
		t.Errorf("process %d, not %d:\n%s", got, pid, dump(events))
	}
	s.says(a, "hello", "You said hello")
	if a.Req.Session.ID != s.req.Session.ID {
		t.Error("it has another session")
	}
}

// TestWarmIsNotTakenOver has sessions for which the one that waits is not right: it is
// closed, and they have one of their own.
func TestWarmIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*setup){
		"another folder": func(s *setup) { s.req.Session.Cwd = t.TempDir() },
		"another model":  func(s *setup) { s.req.Session.Model = "m" },
		"trust":          func(s *setup) { s.req.Trusted = true },
		"servers":        func(s *setup) { s.req.Settings.MCP = terret.JSON(`{"mcpServers":{"x":{"command":"true"}}}`) },
		"resume":         func(s *setup) { s.req.Session.NativeID = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "fair")
			w, pid, _ := s.warm()
			s.req.Warm = w
			change(s)
			if got := s.open().Current().PID(); got == pid || w.Alive() {
				t.Error("it was taken over, or left")
			}
		})
	}
}

// TestWarmInChangedFolder has settings appear in a folder that nobody trusts, while an
// agent waits there.
func TestWarmInChangedFolder(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	w, _, _ := s.warm()
	if err := os.WriteFile(filepath.Join(s.req.Session.Cwd, ".mcp.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.req.Warm = w
	s.refused(terret.CodeStartupRefused)
	if w.Alive() {
		t.Error("it was left")
	}
}

// TestEarlyTalk is an agent that talks without end before its session begins.
func TestEarlyTalk(t *testing.T) {
	t.Parallel()
	h := &later{}
	for i := range earlyLimit + 1 {
		err := h.Emit(context.Background(), []terret.Event{{Data: terret.DiagStderr{Text: "x"}}}, nil)
		if (err != nil) != (i == earlyLimit) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := h.Ask(t.Context(), terret.Ask{}); err == nil {
		t.Error("somebody has decided")
	}
}
