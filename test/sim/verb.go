package sim

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A step names a tool as the agent does, or says what to do. Then the call uses
// whichever tool the agent offers for that, so that one scenario drives every agent.
//
// verb is something that can be done.
type verb struct {
	inputs []string // that the step sets
	// tools are the agents' names for tools that do it; the first one that is offered
	// is called.
	tools []string
	// patch, if set, expresses the same as a patch, for agents that change files in no
	// other way. shell expresses it as a command, for agents that have nothing else.
	patch func(in map[string]string) string
	shell func(in map[string]string) string
}

// verbs are what steps can ask for.
var verbs = map[string]verb{
	"shell": {
		inputs: []string{"command"},
		tools:  []string{"Bash", "bash", "run_shell_command", "exec_command", "shell", "developer__shell", "execute_command", "run_commands"},
	},
	"write": {
		inputs: []string{"path", "content"},
		tools:  []string{"Write", "write", "write_file", "create", "write_to_file", "developer__write", "editor"},
		patch: func(in map[string]string) string {
			return "*** Add File: " + in["path"] + "\n" + prefixed("+", in["content"])
		},
	},
	"edit": {
		inputs: []string{"path", "old", "new"},
		tools:  []string{"Edit", "edit", "replace", "str_replace", "developer__edit", "editor"},
		patch: func(in map[string]string) string {
			return "*** Update File: " + in["path"] + "\n@@\n" + prefixed("-", in["old"]) + prefixed("+", in["new"])
		},
	},
	"read": {
		inputs: []string{"path"},
		tools:  []string{"Read", "read", "read_file", "view", "read_files", "developer__read"},
		shell:  func(in map[string]string) string { return "cat '" + strings.ReplaceAll(in["path"], "'", `'\''`) + "'" },
	},
}

// inputNames are the agents' names for what a step sets.
var inputNames = map[string][]string{
	"command": {"command", "cmd"},
	"path":    {"file_path", "filePath", "path", "absolute_path"},
	"content": {"content", "file_text"},
	"old":     {"old_string", "oldString", "old_str", "before"},
	"new":     {"new_string", "newString", "new_str", "after"},
}

// prefixed puts a mark before each line.
func prefixed(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

// do finds the tool for a verb, and its input.
func do(name string, in map[string]string, offered []Tool) (tool string, input map[string]any, err error) {
	v := verbs[name]
	if t, ok := find(offered, v.tools); ok {
		return t.Name, t.inputOf(in), nil
	}
	patch := ""
	if v.patch != nil {
		patch = "*** Begin Patch\n" + v.patch(in) + "*** End Patch"
		if t, ok := find(offered, []string{"apply_patch"}); ok {
			return t.Name, t.patchInput(patch), nil
		}
	}
	if t, ok := find(offered, verbs["shell"].tools); ok {
		switch {
		case patch != "":
			return t.Name, t.inputOf(map[string]string{"command": "apply_patch <<'EOF'\n" + patch + "\nEOF\n"}), nil
		case v.shell != nil:
			return t.Name, t.inputOf(map[string]string{"command": v.shell(in)}), nil
		}
	}
	var names []string
	for _, t := range offered {
		names = append(names, t.Name)
	}
	return "", nil, &Error{
		Status: http.StatusBadRequest, Headers: map[string]string{"x-should-retry": "false"},
		Message: fmt.Sprintf("sim: no known tool of the agent can do %s; it offers %s", name, cmp.Or(strings.Join(names, ", "), "none")),
	}
}

func find(offered []Tool, names []string) (Tool, bool) {
	for _, name := range names {
		if i := slices.IndexFunc(offered, func(t Tool) bool { return t.Name == name }); i >= 0 {
			return offered[i], true
		}
	}
	return Tool{}, false
}

// inputOf gives the tool the step's input under the tool's own names, and something for
// every other required property.
func (t Tool) inputOf(in map[string]string) map[string]any {
	s := parseSchema(t.Schema)
	out := map[string]any{}
	_, several := s.Properties["edits"]
	if several { // as Pi does
		out["edits"] = []map[string]any{{"oldText": in["old"], "newText": in["new"]}}
	}
	for name, value := range in {
		if several && (name == "old" || name == "new") {
			continue
		}
		names := inputNames[name]
		i := max(0, slices.IndexFunc(names, s.has))
		out[names[i]] = value
	}
	for _, name := range s.missing(out) {
		out[name] = s.Properties[name].example("Scripted")
	}
	return out
}

// patchInput gives the tool a patch, under whatever name it expects.
func (t Tool) patchInput(patch string) map[string]any {
	s := parseSchema(t.Schema)
	names := append(slices.Clone(s.Required), slices.Sorted(maps.Keys(s.Properties))...)
	if len(names) == 0 {
		names = []string{"input"}
	}
	return map[string]any{names[0]: patch}
}
