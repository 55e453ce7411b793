package policy_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	list := func(names ...string) []string { return names }
	none := []string{}
	for name, c := range map[string]struct {
		tool  string
		class terret.ToolClass
		lists [][]string
		want  bool
	}{
		"no list":                {"Bash", terret.ClassExecute, nil, false},
		"all":                    {"Bash", terret.ClassExecute, [][]string{nil}, false},
		"default":                {"Bash", terret.ClassExecute, [][]string{list(policy.AllTools)}, false},
		"none":                   {"Read", terret.ClassRead, [][]string{none}, true},
		"named":                  {"Read", terret.ClassRead, [][]string{list("Grep", "Read")}, false},
		"not named":              {"Bash", terret.ClassExecute, [][]string{list("Grep", "Read")}, true},
		"in one of two":          {"Read", terret.ClassRead, [][]string{list("Read"), list("Grep")}, true},
		"in both":                {"Read", terret.ClassRead, [][]string{list("Read"), list("Read", "Grep")}, false},
		"agent's name":           {"run_shell_command", terret.ClassExecute, [][]string{list("Bash")}, false},
		"agent's name, listed":   {"Bash", terret.ClassExecute, [][]string{list("bash")}, false},
		"agent's name, not":      {"run_shell_command", terret.ClassExecute, [][]string{list("Read")}, true},
		"old name":               {"Task", terret.ClassAgent, [][]string{list("Agent")}, false},
		"old name, listed":       {"Agent", terret.ClassAgent, [][]string{list("Task")}, false},
		"by class":               {"terminal_of_x", terret.ClassExecute, [][]string{list("Bash")}, false},
		"by class, not":          {"terminal_of_x", terret.ClassExecute, [][]string{list("Read", "Other")}, true},
		"its own name":           {"terminal_of_x", terret.ClassExecute, [][]string{list("terminal_of_x")}, false},
		"a made-up class":        {"Bash", terret.ClassRead, [][]string{list("Read")}, true},
		"a search is no reading": {"Grep", terret.ClassSearch, [][]string{list("Read")}, true},
		"writing is no editing":  {"Write", terret.ClassEdit, [][]string{list("Edit")}, true},
		"unknown tool":           {"Skill", terret.ClassOther, [][]string{list("Skill")}, false},
		"unknown tool, not":      {"Skill", terret.ClassOther, [][]string{list("Read")}, true},
		"server":                 {"mcp__github__get", terret.ClassMCP, [][]string{list("mcp__github")}, false},
		"server with a star":     {"mcp__github__get", terret.ClassMCP, [][]string{list("mcp__github__*")}, false},
		"another server":         {"mcp__gitlab__get", terret.ClassMCP, [][]string{list("mcp__github__*")}, true},
		"a server's tool":        {"mcp__github__get", terret.ClassRead, [][]string{list("Read")}, true},
		"a part is not all":      {"Bash", terret.ClassExecute, [][]string{list("Bash(git *)")}, true},
		"not readable":           {"Bash", terret.ClassExecute, [][]string{list("Bash(")}, true},
		"case counts":            {"Read", terret.ClassRead, [][]string{list("READ")}, true},
	} {
		v, got := policy.Missing(policy.Subject{Tool: c.tool, Class: c.class}, c.lists...)
		if got != c.want || got && (v.Behavior != terret.BehaviorDeny || v.Reason == "") {
			t.Errorf("%s: missing %v, want %v; %+v", name, got, c.want, v)
		}
	}
}
