package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// recorded is the session in testdata/config, which the real Claude Code has recorded in a
// terminal: a call that was allowed, one that its person stopped, and one more prompt.
const recordedSession = "9b22a875-d914-4bb3-9700-25e06bf8a274"

// told is what was said in a session, a line an event.
func told(t *testing.T, d terret.Discoverer, id string) string {
	t.Helper()
	var out strings.Builder
	turn := ""
	for ev, err := range d.Recall(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Time.IsZero() || ev.Kind().InTurn() && ev.Turn == "" {
			t.Errorf("%s has no time or no turn", ev.Kind())
		}
		var text string
		switch e := ev.Data.(type) {
		case terret.TurnStart:
			text, turn = terret.TextOf(e.Prompt), ev.Turn
		case terret.TurnComplete:
			text = fmt.Sprintf("%s %d+%d", e.Text, e.Usage.Input, e.Usage.Output)
		case terret.MessageComplete:
			if e.Role != terret.RoleAssistant {
				continue
			}
			text = terret.TextOf(e.Blocks)
		case terret.ToolPre:
			text = e.Title
		case terret.ToolPost:
			text = terret.TextOf(e.Content)
		case terret.ToolFailure:
			text = fmt.Sprintf("%.30s", e.Error)
		case terret.SubagentStart:
			text = e.Description
		default:
			continue
		}
		if ev.Turn != turn {
			t.Errorf("%s is in another turn", ev.Kind())
		}
		fmt.Fprintf(&out, "%s%s: %s\n", strings.Repeat("  ", min(1, len(ev.ParentTool))), ev.Kind(), text)
	}
	return out.String()
}

// TestRecall reads a session that the real agent has recorded: whole turns, what was used
// counted once.
func TestRecall(t *testing.T) {
	t.Parallel()
	d := New(Config{Environ: []string{"CLAUDE_CONFIG_DIR=testdata/config"}})
	found, err := d.Discover(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if f := found[0]; f.NativeID != recordedSession || f.Cwd != "/home/dev/project" || f.Title != "touch the file" || f.Size == 0 || f.UpdatedAt.IsZero() || f.Agent != "claude" {
		t.Errorf("%+v", f)
	}
	want := `turn.start: touch the file
message.complete: I will touch it.
tool.pre: Run ` + "`touch made.txt`" + `
message.complete: 
tool.post: (Bash completed with no output)
message.complete: It is finished.
turn.complete: It is finished. 26465+19
turn.start: touch the file
message.complete: Again.
tool.pre: Run ` + "`touch made2.txt`" + `
message.complete: 
tool.failure: The user doesn't want to proce
turn.complete: Again. 13306+13
turn.start: touch the file
message.complete: It is finished again.
turn.complete: It is finished again. 13457+5
`
	if got := told(t, d, recordedSession); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	for range d.Recall(t.Context(), recordedSession) {
		break // whoever has enough gets no more
	}
}

// TestRecallSubagent reads what a subagent said, which has a record of its own.
func TestRecallSubagent(t *testing.T) {
	t.Parallel()
	const id = "11111111-2222-4333-8444-555555555555"
	dir := t.TempDir()
	at := filepath.Join(dir, "projects", "-p")
	lines := func(l ...string) []byte { return []byte(strings.Join(l, "\n") + "\n") }
	for path, text := range map[string][]byte{
		filepath.Join(at, id+".jsonl"): lines(
			`{"type":"user","uuid":"u1","cwd":"/p","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"look"}}`,
			`{"type":"user","uuid":"u0","isMeta":true,"message":{"role":"user","content":"Caveat: not the person's"}}`,
			`{"type":"assistant","uuid":"a1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"description":"search","prompt":"search it"}}],"usage":{"input_tokens":5,"output_tokens":1}}}`,
			`{"type":"user","uuid":"u2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"found"}]},"toolUseResult":{"agentId":"ab12","content":[{"type":"text","text":"found"}]}}`,
			`{"type":"assistant","uuid":"a2","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"It is there."}],"usage":{"input_tokens":7,"output_tokens":2}}}`,
			`{"type":"assistant","uuid":"a3","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"It is th`),
		filepath.Join(at, id, "subagents", "agent-ab12.jsonl"): lines(
			`{"type":"user","isSidechain":true,"agentId":"ab12","uuid":"s1","message":{"role":"user","content":"search it"}}`,
			`{"type":"assistant","isSidechain":true,"agentId":"ab12","uuid":"s2","message":{"id":"m9","role":"assistant","content":[{"type":"text","text":"I look."}],"usage":{"input_tokens":100,"output_tokens":10}}}`),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := told(t, New(Config{Environ: []string{"CLAUDE_CONFIG_DIR=" + dir}}), id)
	for _, want := range []string{"turn.start: look\n", "  message.complete: I look.\n", "tool.post: found\n", "turn.complete: It is there. 112+13\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "turn.start") != 1 || strings.Contains(got, "Caveat") {
		t.Errorf("it says\n%s", got)
	}
}

// TestDiscoverHostile holds that odd files are left out, and nothing is changed.
func TestDiscoverHostile(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return fmt.Sprintf("11111111-2222-4333-8444-%012d", n) }
	dir := t.TempDir()
	at := filepath.Join(dir, "projects", "-p")
	if err := os.MkdirAll(filepath.Join(at, id(9)+".jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		id(1) + ".jsonl": "", id(2) + ".jsonl": "\x00\xff{", id(3) + ".jsonl": `{"type":"user","cwd":7}` + "\n",
		id(4) + ".jsonl": `{"type":"user","cwd":"/p","message":{"content":"` + strings.Repeat("x", 3*peek) + `"}}`,
		id(5) + ".jsonl": `{"type":"user","cwd":"/p","message":{"content":"hello\u001b[31m"}}` + "\n" + strings.Repeat("{", 100),
		"notes.txt":      "mine", "x.jsonl": `{"type":"user","cwd":"/p","message":{"content":"no id"}}`,
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(at, id(6)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	d := New(Config{Environ: []string{"HOME=/nowhere", "CLAUDE_CONFIG_DIR=" + dir}})
	found, err := d.Discover(t.Context())
	if err != nil || len(found) != 1 || found[0].NativeID != id(5) || !strings.HasPrefix(found[0].Title, "hello") {
		t.Errorf("%+v, %v", found, err)
	}
	for _, bad := range []string{id(7), "../x", "*", ""} {
		for _, err := range d.Recall(t.Context(), bad) {
			if !errors.Is(err, terret.ErrNotFound) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(at, "*")); len(left) != 9 {
		t.Errorf("%q", left)
	}
	if found, err := New(Config{Environ: []string{"HOME=/nowhere"}}).Discover(t.Context()); found != nil || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestDiscoverMany lists five thousand sessions of a megabyte, and reads little of each.
func TestDiscoverMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "projects", "-p")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	first := []byte(`{"type":"user","cwd":"/p","message":{"content":"hello"}}` + "\n")
	for n := range 5000 {
		f, err := os.Create(filepath.Join(at, fmt.Sprintf("11111111-2222-4333-8444-%012d.jsonl", n)))
		if err == nil {
			_, err = f.Write(first)
			err = errors.Join(err, f.Truncate(1<<30), f.Close()) // a hole: whoever reads it whole does not end
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := New(Config{Environ: []string{"CLAUDE_CONFIG_DIR=" + dir}}).Discover(t.Context())
	if err != nil || len(found) != 5000 || slices.ContainsFunc(found, func(f terret.Discovered) bool { return f.Size != 1<<30 || f.Title != "hello" }) {
		t.Errorf("%d, %v", len(found), err)
	}
}
