package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// script puts an executable file into a folder.
func script(t *testing.T, path, content string) {
	t.Helper()
	put(t, filepath.Dir(path), map[string]string{filepath.Base(path): content})
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// manual is the example of docs/PLUGINS.md.
func manual(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	doc, err := os.ReadFile("../../docs/PLUGINS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```python\n")
	code, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the manual has no example")
	}
	return code
}

// TestPlugin runs the example of the manual: its tool asks, its command becomes a prompt,
// its hook forbids. Without trust nothing of it is there.
func TestPlugin(t *testing.T) {
	t.Parallel()
	code := manual(t)
	for _, trusted := range []bool{true, false} {
		f, _ := simulated(t, `
steps:
  - {match: {user: note}, answer: {tools: [{name: plugin__notes__add, input: {text: buy milk}}]}}
  - {match: {tool_result: Noted.}, answer: {tools: [{name: plugin__notes__add, input: {word: x}}, {name: Write, input: {file_path: NOTES.md, content: gone}}]}}
  - {match: {tool_result: add notes with plugin__notes__add}, answer: {text: Done.}}
  - {match: {user: "Tidy up NOTES.md. Topic: milk"}, answer: {text: Tidy.}}
  - {match: {tool_result: there is no tool}, anywhere: true, answer: {text: None.}}
`, trusting(t.TempDir(), trusted))
		script(t, filepath.Join(f.dir, ".terret/plugins/notes.py"), code)
		id := f.session(claude, withPolicy(terret.PolicyAsk))
		turn := f.prompt(id, "note")
		if !trusted {
			if end := last[terret.TurnComplete](t, f.end(id, turn.ID)); end.Text != "None." {
				t.Errorf("%+v", end)
			}
			continue
		}
		f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorAllow})
		events := f.end(id, turn.ID)
		if end := last[terret.TurnComplete](t, events); end.Text != "Done." || len(end.Denials) != 1 || end.Denials[0].Tool != "Write" {
			t.Errorf("%+v", end)
		}
		if got := f.file("NOTES.md"); got != "- buy milk\n" {
			t.Errorf("the notes are %q", got)
		}
		wrong := false
		for _, d := range all[terret.ToolFailure](events) {
			wrong = wrong || strings.Contains(d.Error, "does not fit the schema")
		}
		if !wrong {
			t.Error("an input that does not fit was taken")
		}
		command, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "notes:tidy", Args: "milk"})
		if err != nil {
			t.Fatal(err)
		}
		if end := last[terret.TurnComplete](t, f.end(id, command.ID)); end.Text != "Tidy." {
			t.Errorf("%+v", end)
		}
	}
}

// hooking is a plugin in shell that has all hooks and says what HOOK.json holds.
const hooking = `#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case $line in
  *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"hooks":["pre_tool","post_tool","prompt","stop"]}}\n' "$id" ;;
  *'"hook":"post_tool"'*) printf '{"id":%s,"result":{"add":"[checked]"}}\n' "$id" ;;
  *'"hook":"prompt"'*secret*) printf '{"id":%s,"result":{"block":true,"reason":"no secrets"}}\n' "$id" ;;
  *'"hook":"prompt"'*) printf '{"id":%s,"result":{"add":"Be kind."}}\n' "$id" ;;
  *'"again":false'*) printf '{"id":%s,"result":{"block":true,"reason":"Not done."}}\n' "$id" ;;
  *'"title":"Read die"'*) echo "I am done for" >&2; exit 1 ;;
  *'"method":"hook"'*) printf '{"id":%s,"result":{}}\n' "$id" ;;
  esac
done
`

// TestPluginHooks has a plugin at each hook. While it is dead, what it could forbid is
// forbidden; with the next turn it is back. What it said is remembered.
func TestPluginHooks(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	script(t, filepath.Join(user, "plugins/guard"), hooking)
	f, got := simulated(t, `
steps:
  - {match: {user: Be kind.}, answer: {tools: [{name: Bash, input: {command: "echo hi"}}]}}
  - {match: {tool_result: "hi\n\n[checked]"}, answer: {text: First.}}
  - {match: {user: Not done.}, answer: {text: Second.}}
  - {match: {user: Be kind.}, answer: {tools: [{name: Read, input: {file_path: die}}]}}
  - {match: {tool_result: "the plugin guard: it ended"}, answer: {tools: [{name: Bash, input: {command: touch made}}]}}
  - {match: {tool_result: "/it ended|does not run/"}, answer: {text: Given up.}}
  - {match: {user: Be kind.}, answer: {text: Back.}}
  - {match: {user: Not done.}, answer: {text: Back again.}}
`, trusting(user, false))
	f.write("die", "")
	id := f.session(claude)
	if end := last[terret.TurnComplete](t, f.run(id, "one")); end.Text != "Second." {
		t.Errorf("%+v", end)
	}
	if end := last[terret.TurnComplete](t, f.run(id, "a secret")); end.StopReason != "blocked" || !strings.Contains(end.Text, "no secrets") {
		t.Errorf("%+v", end)
	}
	if end := last[terret.TurnComplete](t, f.run(id, "two")); end.Text != "Given up." || len(end.Denials) != 2 {
		t.Errorf("%+v", end)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
		t.Error("without the plugin that decides, a tool was used")
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if end := last[terret.TurnComplete](t, f.run(id, "three")); end.Text != "Back again." {
		t.Errorf("%+v", end)
	}
	said := spoken(got.nth(t, len(got.list())-1))
	if text := strings.Join(said, "\n"); strings.Contains(text, "a secret") || strings.Count(text, "Be kind.") != 3 || strings.Count(text, "Not done.") != 2 {
		t.Errorf("the model heard %s", text)
	}
}

// TestPluginThatDoesNotWork costs a warning. Since it may be a guard, no tools are used.
func TestPluginThatDoesNotWork(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	script(t, filepath.Join(user, "plugins/broken"), "#!/bin/sh\necho 'I lack a library' >&2\nexit 3\n")
	f, _ := simulated(t, `
steps:
  - {match: {user: one}, answer: {tools: [{name: Bash, input: {command: touch made}}]}}
  - {match: {tool_result: "the plugin broken does not run"}, answer: {text: ok}}
  - {answer: {text: ok}, repeat: forever}
`, trusting(user, false))
	id := f.session(claude)
	if end := last[terret.TurnComplete](t, f.run(id, "one")); end.Text != "ok" || len(end.Denials) != 1 {
		t.Errorf("%+v", end)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "made")); err == nil {
		t.Error("a tool was used")
	}
	f.says(id, "two")
	var warnings []string
	turn := f.prompt(id, "three")
	for _, ev := range f.until(id, ended(turn.ID)) {
		if d, ok := ev.Data.(terret.DiagWarning); ok {
			warnings = append(warnings, d.Text)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "the plugin broken does not work") || !strings.Contains(warnings[0], "I lack a library") {
		t.Errorf("%q", warnings)
	}
}

// TestPluginOfNoSession ends with a session that cannot begin.
func TestPluginOfNoSession(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	script(t, filepath.Join(user, "plugins/lives"), "#!/bin/sh\necho $$ > "+user+"/pid\nread -r l\necho '{\"id\":1,\"result\":{}}'\ncat\n")
	f, _ := simulated(t, `{steps: [{answer: {text: ok}, repeat: forever}]}`, trusting(user, false))
	id := f.session(claude, withOptions(terret.SessionOptions{Record: true})) // and there is no folder for it
	if end := last[terret.TurnError](t, f.run(id, "hi")); end.Error.Code != terret.CodeUnsupported {
		t.Fatalf("%+v", end)
	}
	pid, err := os.ReadFile(filepath.Join(user, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Errorf("process %s is left", pid)
	}
}
