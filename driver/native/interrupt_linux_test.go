package native_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// waiting is a command that starts processes in every way that has been seen to
// escape, says so by a pipe, and then waits for ever.
func (f *fixture) waiting(marker string) (command string, started func()) {
	f.t.Helper()
	pipe := filepath.Join(f.t.TempDir(), "started")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		f.t.Fatal(err)
	}
	command = fmt.Sprintf("setsid sleep %[1]s & (setsid env -i sleep %[1]s &); echo at work; echo up > %[2]s; sleep %[1]s", marker, pipe)
	return command, func() {
		f.t.Helper()
		if _, err := os.ReadFile(pipe); err != nil { // until the command is there
			f.t.Fatal(err)
		}
	}
}

func wantInterrupted(t *testing.T, events []terret.Event) {
	t.Helper()
	e := last[terret.TurnError](t, events)
	if e.Error.Code != terret.CodeInterrupted || e.Error.Message == "" || len(e.Denials) > 0 {
		t.Errorf("%+v", e)
	}
}

func TestInterruptInBash(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	marker := guardtest.Marker()
	command, started := f.waiting(marker)
	turn := f.prompt(id, "run: "+command)
	started()
	f.until(id, isKind("tool.progress")) // its output has been read
	f.interrupt(id)
	events := f.end(id, turn.ID)
	guardtest.NoneAlive(t, marker)
	wantInterrupted(t, events)
	fail := last[terret.ToolFailure](t, events)
	if !fail.Interrupted || fail.Denied {
		t.Errorf("%+v", fail)
	}
	wantWords(t, terret.TextOf(fail.Content), "interrupted", "at work")
	// What the model will be told is in the log.
	m := last[terret.MessageComplete](t, events)
	if m.Role != terret.RoleTool || len(m.Blocks) != 1 || !m.Blocks[0].IsError {
		t.Errorf("%+v", m)
	}
	wantWords(t, f.says(id, "run: echo again"), "again") // the agent is kept
}

func TestKillInBash(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	marker := guardtest.Marker()
	command, started := f.waiting(marker)
	turn := f.prompt(id, "run: "+command)
	started()
	if err := f.Kill(t.Context(), id, "tester"); err != nil {
		t.Fatal(err)
	}
	guardtest.NoneAlive(t, marker)
	if e := last[terret.TurnError](t, f.end(id, turn.ID)); e.Error.Code != terret.CodeKilled {
		t.Errorf("%+v", e)
	}
	wantWords(t, f.says(id, "run: echo again"), "again")
}

func TestCloseInBash(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	marker := guardtest.Marker()
	command, started := f.waiting(marker)
	f.prompt(id, "run: "+command)
	started()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	guardtest.NoneAlive(t, marker)
}

// TestParallelInterrupted interrupts one of two calls: the model must know that the
// other was done.
func TestParallelInterrupted(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - match: {user: '/both (?P<command>.*)/'}
    answer:
      tools:
        - {name: Write, input: {file_path: done.txt, content: x}}
        - {name: Bash, input: {command: "{{command}}"}}
  - match: {user: and now}
    answer: {text: fine}
`)
	id := f.session(claude)
	marker := guardtest.Marker()
	command, started := f.waiting(marker)
	turn := f.prompt(id, "both "+command)
	started()
	f.until(id, func(ev terret.Event) bool { return ev.Kind() == "tool.post" })
	f.interrupt(id)
	wantInterrupted(t, f.end(id, turn.ID))
	f.says(id, "and now")
	told := got.nth(t, 1).Messages
	if len(told) != 3 || len(told[2].Content) != 3 {
		t.Fatalf("%+v", told)
	}
	wrote, ran, asked := told[2].Content[0], told[2].Content[1], told[2].Content[2]
	wantWords(t, wrote.Content[0].Text, "Created done.txt")
	wantWords(t, ran.Content[0].Text, "interrupted")
	if wrote.IsError || !ran.IsError || asked.Text != "and now" {
		t.Errorf("%+v", told[2])
	}
}
