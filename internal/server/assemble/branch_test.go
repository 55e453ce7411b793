package assemble

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// TestNotDuringATurn neither merges, rebases nor discards a worktree in which a turn has begun
// since the session was looked at.
func TestNotDuringATurn(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	begun, end := make(chan struct{}), make(chan struct{})
	h := start(t, Options{Home: t.TempDir(), Drivers: follows([]mock.Step{{Do: func(ctx context.Context, _ string) error {
		close(begun)
		select {
		case <-end:
		case <-ctx.Done():
		}
		return nil
	}}})})
	m := h.Sessions(nil)
	s, err := m.Create(t.Context(), terret.Session{Agent: "mock", Cwd: dir, Options: terret.SessionOptions{Worktree: true}}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shell(t, s.Cwd, "echo y > y.txt; git add .; git commit -qm two")
	if _, err := h.Engine.Prompt(t.Context(), engine.PromptRequest{Session: s.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("go")}}}); err != nil {
		t.Fatal(err)
	}
	<-begun
	for what, do := range map[string]func() error{
		"merge":  func() error { return m.MergeBack(t.Context(), s) },
		"rebase": func() error { return m.Rebase(t.Context(), s) },
		"discard": func() error {
			return m.Discard(t.Context(), s, "me", func() { t.Error("terminals end, though a turn runs") })
		},
	} {
		if err := do(); !errors.Is(err, terret.ErrBusy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	close(end)
	for entry, err := range h.Engine.Events(t.Context(), engine.EventQuery{Session: s.ID, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Kind == terret.KindTurnComplete {
			break
		}
	}
	if err := m.MergeBack(t.Context(), s); err != nil {
		t.Error(err)
	}
	ended := false
	if err := m.Discard(t.Context(), s, "me", func() { ended = true }); err != nil || !ended {
		t.Errorf("ended %v: %v", ended, err)
	}
	if _, err := os.Stat(s.Cwd); err == nil {
		t.Error("the worktree is still there")
	}
}
