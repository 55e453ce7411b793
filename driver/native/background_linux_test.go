package native_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
)

// TestBackground is a command that ends after the turn: the model hears of it in one that
// the agent begins by itself, and remembers that.
func TestBackground(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "until test -e go; do sleep 0.05; done; echo finished", run_in_background: true}}]}}
  - {match: {tool_result: runs in the background}, answer: {text: It runs.}}
  - {match: {user: "completed]"}, answer: {text: It is done.}}
  - {match: {user: more}, answer: {text: More.}}
`)
	id := f.session(claude)
	events := f.run(id, "begin")
	if end := last[terret.TurnComplete](t, events); end.Text != "It runs." {
		t.Errorf("%+v", end)
	}
	task := last[terret.TaskStart](t, events)
	f.write("go", "")
	events = f.until(id, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.TurnComplete)
		return ok && d.Text == "It is done."
	})
	if end := last[terret.TaskEnd](t, events); end.ID != task.ID || end.Status != "completed" || end.Summary != "finished\n" {
		t.Errorf("%+v", end)
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.says(id, "more")
	said := spoken(got.nth(t, 3))
	want := []string{"assistant It runs.", "user [The background command " + task.ID + " (" + task.Description + ") has ended: completed]\nfinished\n", "assistant It is done.", "user more"}
	if len(said) != 7 {
		t.Fatalf("%q", said)
	}
	if diff := cmp.Diff(want, said[3:]); diff != "" {
		t.Error(diff)
	}
}

// TestBackgroundOutput polls a command, which is then told of in the same turn, and ends
// another.
func TestBackgroundOutput(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "echo ready; until test -e go; do sleep 0.05; done; echo finished; exit 3", run_in_background: true}}, {name: Bash, input: {command: "sleep 1000", run_in_background: true}}]}}
  - {match: {tool_result: "/(?s)as task_.*as (?P<second>task_[-0-9a-z]+)/"}, answer: {tools: [{name: KillBash, input: {task_id: "{{second}}"}}, {name: BashOutput, input: {task_id: nonsense}}]}}
  - {match: {tool_result: there is no command}, answer: {tools: [{name: Bash, input: {command: "touch go; until test -e gone; do sleep 0.05; done"}}]}}
  - {match: {user: "/background command (?P<first>task_[-0-9a-z]+) .*failed\\]/"}, answer: {tools: [{name: BashOutput, input: {task_id: "{{first}}"}}]}}
  - {match: {tool_result: "finished\n[exit code 3]\n[failed]"}, answer: {text: It failed.}}
`)
	id := f.session(claude)
	turn := f.prompt(id, "begin").ID
	ends := map[string]string{}
	for _, d := range all[terret.TaskEnd](f.until(id, func(ev terret.Event) bool {
		if d, ok := ev.Data.(terret.TaskEnd); ok {
			ends[d.Status] = d.ID
		}
		return len(ends) == 2
	})) {
		if d.Status == "failed" && d.Summary != "ready\nfinished\n[exit code 3]" {
			t.Errorf("%+v", d)
		}
	}
	if ends["killed"] == "" || ends["failed"] == "" {
		t.Errorf("%v", ends)
	}
	f.until(id, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.UserPrompt)
		return ok && strings.Contains(terret.TextOf(d.Blocks), "has ended: failed")
	})
	f.write("gone", "")
	if end := last[terret.TurnComplete](t, f.end(id, turn)); end.Text != "It failed." {
		t.Errorf("%+v", end)
	}
	if said := spoken(got.nth(t, 3)); !strings.Contains(said[len(said)-1], "ready\nfinished") {
		t.Errorf("%q", said)
	}
}

// TestBackgroundOutputOnce is that output which was read is not told again when the command
// has ended, also if there was much of it.
func TestBackgroundOutputOnce(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "seq 1 3000; until test -e go; do sleep 0.05; done; printf finished; exit 3", run_in_background: true}}]}}
  - {match: {tool_result: runs in the background}, answer: {text: It runs.}}
  - {match: {user: "/^read (?P<task>task_[-0-9a-z]+)/"}, answer: {tools: [{name: BashOutput, input: {task_id: "{{task}}"}}]}, repeat: forever, anywhere: true}
  - {match: {tool_result: "[running]"}, answer: {text: Running.}, repeat: forever, anywhere: true}
  - {match: {tool_result: "[failed]"}, answer: {text: Ended.}, repeat: forever, anywhere: true}
  - {match: {user: "has ended: failed]"}, answer: {text: I heard it.}, anywhere: true}
`)
	id := f.session(claude)
	task := last[terret.TaskStart](t, f.run(id, "begin")).ID
	said := ""
	read := func() string {
		text := terret.TextOf(last[terret.ToolPost](t, f.run(id, "read "+task)).Content)
		if text != "[no new output]\n[running]" {
			said += strings.TrimSuffix(text, "[running]")
		}
		return text
	}
	for !strings.HasSuffix(read(), "\n3000\n[running]") { // it polls, as models do
	}
	f.write("go", "")
	f.until(id, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.TurnComplete)
		return ok && d.Text == "I heard it."
	})
	read()
	read()
	want := ""
	for i := range 3000 {
		want += strconv.Itoa(i+1) + "\n"
	}
	if want += "finished\n[exit code 3]\n[failed][no new output]\n[failed]"; said != want {
		t.Errorf("%d bytes of output, not %d: %.200q … %q", len(said), len(want), said, said[max(0, len(said)-200):])
	}
}

// TestBackgroundIsForgotten is that the agent does not keep the output of all commands that
// it ever ran in the background.
func TestBackgroundIsForgotten(t *testing.T) {
	t.Parallel()
	scenario := "steps:\n"
	for i := range 25 {
		scenario += fmt.Sprintf(`  - {match: {user: begin %d.}, answer: {tools: [{name: Bash, input: {command: "echo %d", run_in_background: true}}]}}
  - {match: {tool_result: runs in the background}, answer: {text: It runs.}}
  - {match: {user: "completed]"}, answer: {text: Done.}}
`, i, i)
	}
	f, _ := simulated(t, scenario+`
  - {match: {user: "/read (?P<first>task_[-0-9a-z]+) (?P<final>task_[-0-9a-z]+)/"}, answer: {tools: [{name: BashOutput, input: {task_id: "{{first}}"}}, {name: BashOutput, input: {task_id: "{{final}}"}}]}}
  - {answer: {text: Read.}}
`)
	id := f.session(claude)
	var tasks []string
	for i := range 25 {
		f.prompt(id, fmt.Sprintf("begin %d.", i))
		done := 0
		events := f.until(id, func(ev terret.Event) bool {
			if d, ok := ev.Data.(terret.TurnComplete); ok && d.Text == "Done." {
				done++
			}
			return done == i+1
		})
		tasks = append(tasks, last[terret.TaskStart](t, events).ID)
	}
	events := f.run(id, "read "+tasks[0]+" "+tasks[24])
	if got := last[terret.ToolFailure](t, events); !strings.Contains(got.Error, "there is no command") {
		t.Errorf("%+v", got)
	}
	if got := last[terret.ToolPost](t, events); terret.TextOf(got.Content) != "24\n[completed]" {
		t.Errorf("%+v", got)
	}
}

// TestBackgroundEndsWithTheAgent is that nothing is left of a command when the agent is
// closed, and that the log says so.
func TestBackgroundEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "touch begun; sleep 1000", run_in_background: true}}]}}
  - {answer: {text: It runs.}}
`)
	id := f.session(claude)
	f.says(id, "begin")
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if end := last[terret.TaskEnd](t, f.until(id, func(ev terret.Event) bool { _, ok := ev.Data.(terret.SessionEnd); return ok })); end.Status != "killed" {
		t.Errorf("%+v", end)
	}
}

// TestPromptWhileByItself prompts the agent while it works by itself: nothing is lost, and
// the prompt gets its turn.
func TestPromptWhileByItself(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "until test -e go; do sleep 0.05; done", run_in_background: true}}]}}
  - {match: {tool_result: runs in the background}, answer: {text: It runs.}}
  - {match: {user: "completed]"}, answer: {pieces: [It is, " done."], hold: end}}
  - {match: {user: more}, answer: {text: More.}}
`)
	id := f.session(claude)
	f.says(id, "begin")
	f.write("go", "")
	f.until(id, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.MessageDelta)
		return ok && strings.HasPrefix(d.Text, "It is")
	})
	turn, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("more"), When: engine.WhenQueue})
	if err != nil {
		t.Fatal(err)
	}
	got.release("end")
	if end := last[terret.TurnComplete](t, f.end(id, turn.ID)); end.Text != "More." {
		t.Errorf("%+v", end)
	}
}

// TestPromptBeforeTheEngineKnows is the same at the driver: a prompt comes although the
// agent works by itself, and waits.
func TestPromptBeforeTheEngineKnows(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "until test -e go; do sleep 0.05; done", run_in_background: true}}], usage: {input: 1, output: 0}}}
  - {match: {tool_result: runs in the background}, answer: {text: It runs., usage: {input: 1, output: 0}}}
  - {match: {user: "completed]"}, answer: {pieces: [It is, " done."], hold: end, usage: {input: 10, output: 0}}}
  - {match: {user: more}, answer: {text: More., usage: {input: 100, output: 0}}}
`)
	h := newHost()
	a, err := bareOf(t, f, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prompt(t.Context(), "1", text("begin"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	h.until(t, ended("1"))
	f.write("go", "")
	h.until(t, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.MessageDelta)
		return ok && strings.HasPrefix(d.Text, "It is")
	})
	accepted := make(chan error)
	go func() { accepted <- a.Prompt(t.Context(), "2", text("more"), terret.Settings{}) }()
	for !native.Awaited(a) {
		runtime.Gosched()
	}
	select {
	case err := <-accepted:
		t.Fatal("it did not wait:", err)
	default:
	}
	got.release("end")
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	events := h.until(t, ended("2"))
	if ends := all[terret.TurnComplete](events); len(ends) != 2 || ends[1].Text != "More." || ends[1].Usage.Input != 110 {
		t.Errorf("%+v", ends)
	}
}

// TestPromptWithdrawn is a prompt that waits for the agent's own work and is withdrawn: that
// work ends as a turn of its own, or the engine would wait for its end for ever.
func TestPromptWithdrawn(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "until test -e go; do sleep 0.05; done", run_in_background: true}}]}}
  - {match: {tool_result: runs in the background}, answer: {text: It runs.}}
  - {match: {user: "completed]"}, answer: {pieces: [It is, " done."], hold: end}}
`)
	h := newHost()
	a, err := bareOf(t, f, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prompt(t.Context(), "1", text("begin"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	h.until(t, ended("1"))
	f.write("go", "")
	h.until(t, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.MessageDelta)
		return ok && strings.HasPrefix(d.Text, "It is")
	})
	ctx, withdraw := context.WithCancel(t.Context())
	accepted := make(chan error)
	go func() { accepted <- a.Prompt(ctx, "2", text("more"), terret.Settings{}) }()
	for !native.Awaited(a) {
		runtime.Gosched()
	}
	withdraw()
	if err := <-accepted; err == nil {
		t.Error("it was accepted")
	}
	got.release("end")
	h.until(t, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.TurnComplete)
		return ok && d.Text == "It is done."
	})
}
