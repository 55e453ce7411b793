package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestRecall reads a thread that the real agent has recorded (testdata/home): two turns,
// what was used counted once.
func TestRecall(t *testing.T) {
	t.Parallel()
	d := New(Config{Environ: []string{"CODEX_HOME=testdata/home"}})
	found, err := d.Discover(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	f := found[0]
	if f.Agent != "codex" || f.NativeID != "01a1f17e-5790-7e92-ac57-38055395878f" || f.Cwd != "/home/dev/project" || f.Title != "make it" || f.Size == 0 {
		t.Errorf("%+v", f)
	}
	var out strings.Builder
	for ev, err := range d.Recall(t.Context(), f.NativeID) {
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		switch e := ev.Data.(type) {
		case terret.TurnStart:
			text = terret.TextOf(e.Prompt)
		case terret.TurnComplete:
			text = fmt.Sprintf("%s %d+%d", e.Text, e.Usage.Input, e.Usage.Output)
		case terret.MessageComplete:
			text = terret.TextOf(e.Blocks)
		case terret.ToolPre:
			text = fmt.Sprintf("%s %.30s", e.Class, e.Title)
		case terret.ToolPost:
			text = terret.TextOf(e.Content)
			text = text[strings.LastIndexByte(strings.TrimSpace(text), '\n')+1:]
		}
		if ev.Turn == "" || ev.Time.IsZero() {
			t.Errorf("%s has no turn or no time", ev.Kind())
		}
		fmt.Fprintf(&out, "%s: %s\n", ev.Kind(), strings.TrimSpace(text))
	}
	want := `turn.start: make it
message.complete: I will make it.
tool.pre: execute Run ` + "`echo hi > made.txt; echo" + `
tool.post: done
message.complete: It is made.
turn.complete: It is made. 19810+15
turn.start: patch it
tool.pre: execute Run ` + "`apply_patch <<'EOF'↵*** B" + `
tool.post: M made.txt
message.complete: It is patched.
turn.complete: It is patched. 20222+29
`
	if got := out.String(); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// TestDiscoverHostile holds that odd files and the threads of subagents are left out, and
// that a thread without a result says so.
func TestDiscoverHostile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	day := filepath.Join(home, "sessions", "2026", "01", "02")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	id := func(n int) string { return fmt.Sprintf("11111111-2222-4333-8444-%012d", n) }
	meta := `{"timestamp":"2026-01-02T00:00:00Z","type":"session_meta","payload":{"cwd":"/p","source":%s}}` + "\n"
	prompt := `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}` + "\n"
	for n, text := range map[int]string{
		1: "", 2: "\xff{", 3: fmt.Sprintf(meta, `{"subagent":"review"}`) + prompt, 4: prompt,
		5: fmt.Sprintf(meta, `"cli"`) + prompt + `{"type":"response_item","payload":{"type":"function_call","name":"x","call_id":"c","arguments":"not json"}}` + "\n" + `{"type":"resp`,
	} {
		if err := os.WriteFile(filepath.Join(day, "rollout-2026-01-02T00-00-00-"+id(n)+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := New(Config{Environ: []string{"CODEX_HOME=" + home}})
	found, err := d.Discover(t.Context())
	if err != nil || len(found) != 1 || found[0].NativeID != id(5) {
		t.Errorf("%+v, %v", found, err)
	}
	var kinds []string
	for ev, err := range d.Recall(t.Context(), id(5)) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, string(ev.Kind()))
	}
	if got := strings.Join(kinds, " "); got != "turn.start tool.pre tool.failure turn.complete" {
		t.Error(got)
	}
}
