package native_test

import (
	"os"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestCommandsGoOn has a command begin where the last one ended. Rules judge it there, and
// whoever decides sees it. What it printed in all can be read without asking, and is gone
// with the agent.
func TestCommandsGoOn(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {match: {user: go}, answer: {tools: [{name: Bash, input: {command: "cd sub && export CI=there"}}]}}
  - {match: {tool_result: begins in}, answer: {tools: [{name: Bash, input: {command: "echo $CI > key"}}]}}
  - {match: {tool_result: "/(?s)denied.*sub/"}, answer: {tools: [{name: Bash, input: {command: "seq 20000; pwd; echo $CI"}}]}}
  - {match: {tool_result: "/(?s)sub\nthere\n.all of the output/"}, answer: {text: Done.}}
`)
	put(t, f.dir, map[string]string{"sub/x": ""})
	id := f.session(claude, withPolicy(terret.PolicyAutoApprove), withOptions(terret.SessionOptions{Deny: []string{"Edit(sub/key)"}}))
	events := f.run(id, "go")
	if end := last[terret.TurnComplete](t, events); end.Text != "Done." {
		t.Fatalf("%+v", end)
	}
	pre := all[terret.ToolPre](events)
	if got := string(pre[len(pre)-1].Input); !strings.Contains(got, `"cwd":"sub"`) || !strings.Contains(got, `"env":["CI"]`) {
		t.Errorf("whoever decides sees %s", got)
	}
	posts := all[terret.ToolPost](events)
	_, rest, _ := strings.Cut(terret.TextOf(posts[len(posts)-1].Content), "is in ")
	path, _, _ := strings.Cut(rest, "]")
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", path, err)
	}
}
