package assemble

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start makes a harness whose engine runs until the test ends.
func start(t *testing.T, o Options) *Harness {
	t.Helper()
	h, err := New(o)
	if err == nil {
		err = h.Open(t.Context())
	}
	if err == nil {
		err = h.Start(t.Context(), true)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

// follows is an agent that follows a script.
func follows(turns ...[]mock.Step) []terret.Driver {
	return []terret.Driver{mock.New(mock.Script{Turns: turns})}
}

// folder makes a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// turn prompts a session and returns the events of the turn.
func turn(t *testing.T, h *Harness, session string) []terret.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begun, err := h.Engine.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("go")}}})
	if err != nil {
		t.Fatal(err)
	}
	var out []terret.Event
	for entry, err := range h.Engine.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := entry.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Turn != begun.ID {
			continue
		}
		out = append(out, ev)
		if k := ev.Kind(); k == terret.KindTurnComplete || k == terret.KindTurnError {
			return out
		}
	}
	t.Fatal("the turn has no end")
	return nil
}
