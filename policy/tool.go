package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// Subject is a tool use to judge.
type Subject struct {
	Tool  string // as the agent calls it
	Class terret.ToolClass
	Input json.RawMessage // the tool's complete input, a JSON object
	Cwd   string          // absolute
	// Roots are the folders inside which edits count as inside: the project's folder
	// first, then added ones. None means only Cwd.
	Roots []string
	Home  string // for ~ in rules and commands
	// Vars are environment variables with known values, such as the one that names a
	// protected folder. HOME need not be among them.
	Vars map[string]string
	// Protected are folders that no tool may touch, whatever the rules say, except for
	// the folders in them that Except lists.
	Protected, Except []string
	// Guarded are paths, within any folder, from which programs take orders, beside those
	// that are always guarded: an agent's settings, say. Changing them needs a rule that
	// names them. See [Guard].
	Guarded []string
	// Readlink reads one symbolic link; nil means os.Readlink. It is called only on the
	// calling goroutine.
	Readlink func(path string) (string, error)
	// Stop ends a judgement that nobody waits for, or that takes too long, once it returns
	// true: whatever was not denied until then must be asked about. Nil means never.
	Stop func() bool
}

// tool is what we know about a tool by its name.
type tool struct {
	rule   string // what rules call it
	family string // a wider name that rules may also use for it
	class  terret.ToolClass
}

// tools maps the agents' names for their tools to those that rules use. Unknown names
// are judged by their class.
var tools = map[string]tool{
	"Bash": {"Bash", "", terret.ClassExecute}, "bash": {"Bash", "", terret.ClassExecute},
	"shell": {"Bash", "", terret.ClassExecute}, "local_shell": {"Bash", "", terret.ClassExecute},
	"exec_command": {"Bash", "", terret.ClassExecute}, "run_shell_command": {"Bash", "", terret.ClassExecute},

	"Edit": {"Edit", "", terret.ClassEdit}, "edit": {"Edit", "", terret.ClassEdit},
	"Write": {"Write", "Edit", terret.ClassEdit}, "write": {"Write", "Edit", terret.ClassEdit},
	"write_file": {"Write", "Edit", terret.ClassEdit}, "replace": {"Edit", "", terret.ClassEdit},
	"MultiEdit": {"MultiEdit", "Edit", terret.ClassEdit}, "multiedit": {"MultiEdit", "Edit", terret.ClassEdit},
	"NotebookEdit": {"NotebookEdit", "Edit", terret.ClassEdit},
	"apply_patch":  {"Edit", "", terret.ClassEdit}, "patch": {"Edit", "", terret.ClassEdit},

	"Read": {"Read", "", terret.ClassRead}, "read": {"Read", "", terret.ClassRead},
	"NotebookRead": {"Read", "", terret.ClassRead}, "read_file": {"Read", "", terret.ClassRead},
	"view_image": {"Read", "", terret.ClassRead},
	"Grep":       {"Grep", "", terret.ClassSearch}, "grep": {"Grep", "", terret.ClassSearch},
	"Glob": {"Glob", "", terret.ClassSearch}, "glob": {"Glob", "", terret.ClassSearch},
	"find": {"Glob", "", terret.ClassSearch},
	"LS":   {"LS", "", terret.ClassSearch}, "list": {"LS", "", terret.ClassSearch}, "ls": {"LS", "", terret.ClassSearch},

	"WebFetch": {"WebFetch", "", terret.ClassFetch}, "webfetch": {"WebFetch", "", terret.ClassFetch},
	"WebSearch": {"WebSearch", "", terret.ClassFetch}, "websearch": {"WebSearch", "", terret.ClassFetch},
	"web_search": {"WebSearch", "", terret.ClassFetch},
	"Agent":      {"Agent", "", terret.ClassAgent}, "Task": {"Agent", "", terret.ClassAgent},
	"task": {"Agent", "", terret.ClassAgent},
}

// classRule is the name in rules for an unknown tool of that class.
var classRule = map[terret.ToolClass]string{
	terret.ClassExecute: "Bash", terret.ClassEdit: "Edit", terret.ClassRead: "Read",
	terret.ClassSearch: "Grep", terret.ClassFetch: "WebFetch", terret.ClassAgent: "Agent",
}

// ToolName is the name that rules use for a tool, given the name that some agent uses for
// it, in any case: Bash for bash or shell. Other names are returned as they are.
func ToolName(name string) string {
	if siblings[name] {
		return name
	}
	for _, n := range []string{name, strings.ToLower(name)} {
		if known, ok := tools[n]; ok {
			return known.rule
		}
	}
	return name
}

// ClassOf is the class of a tool that is known by its name, in any case.
func ClassOf(name string) terret.ToolClass {
	if strings.HasPrefix(name, "mcp__") {
		return terret.ClassMCP
	}
	if known, ok := tools[name]; ok {
		return known.class
	}
	if known, ok := tools[ToolName(name)]; ok {
		return known.class
	}
	return terret.ClassOther
}

// CommandUse is the use of the shell for a command.
func CommandUse(command string) terret.PermissionRequest {
	input, _ := json.Marshal(map[string]string{"command": command}) // strings always encode
	return terret.PermissionRequest{Tool: "Bash", Class: terret.ClassExecute, Input: input}
}

// siblings are tools that agents have beside the one whose rules cover them, so that
// nobody means that one by their names.
var siblings = map[string]bool{"NotebookRead": true, "view_image": true, "apply_patch": true, "patch": true, "replace": true}

// ruleName is the canonical form of a tool's name in a rule.
func ruleName(name string) string {
	if name == "Task" {
		return "Agent"
	}
	return name
}

// use is an analysed subject.
type use struct {
	late bool // Stop has returned true
	Subject
	names []string // names that rules may use for it
	class terret.ToolClass

	script   *script // class execute
	command  string  // its source, when there is one
	exact    bool    // the source is complete, and runs in Cwd
	files    []fileUse
	urls     []string
	argument string // Agent and Skill: which one
	// doubt says why the input could not be analysed.
	doubt string
}

// fileUse is a path that a tool touches.
type fileUse struct {
	path     word
	cwds     []string // it is relative to one of these; none means unknown
	write    bool
	search   bool // the tool looks at what is below the path
	doubtful bool // it is an operand of a program of which little is known
	fills    bool // files of any name may come to lie below the path
	hidden   bool // stars in the path match hidden files, too
	by       string
}

// newUse analyses a subject. It does not fail: what it cannot read becomes a doubt.
func newUse(s Subject) *use {
	if len(s.Roots) == 0 && s.Cwd != "" {
		s.Roots = []string{s.Cwd}
	}
	s.Readlink = once(s.readlink)
	u := &use{Subject: s, class: s.Class, names: []string{ruleName(s.Tool)}}
	known, ok := tools[s.Tool]
	switch {
	case strings.HasPrefix(s.Tool, "mcp__"):
		u.class = terret.ClassMCP
	case ok:
		u.class = known.class
		u.names = append(u.names, known.rule, known.family)
	default:
		u.names = append(u.names, classRule[s.Class])
	}
	if u.class == terret.ClassSearch {
		u.names = append(u.names, "Read")
	}
	fields, err := readFields(s.Input)
	if err != nil {
		u.doubt = "its input is not readable: " + err.Error()
		return u
	}
	u.take(fields)
	return u
}

// isAlso reports whether the name is another agent's name for the tool, or one of its own
// in another case. It is for rules that restrict: one that says bash must not let Bash
// through.
func (u *use) isAlso(name string) bool {
	return ToolName(name) == oneName(u.Tool, u.class) ||
		slices.ContainsFunc(u.names, func(n string) bool { return strings.EqualFold(name, n) })
}

// called reports whether rules may use that name for the tool.
func (u *use) called(name string) bool { return name != "" && slices.Contains(u.names, name) }

// take reads everything that any known tool calls a command, a path or a URL: if a tool
// has several of them, all are judged.
func (u *use) take(fields map[string]json.RawMessage) {
	cwd := u.Cwd
	for _, key := range []string{"workdir", "cwd", "directory"} {
		if dir := text(fields[key]); dir != "" && u.class == terret.ClassExecute {
			cwd = join(cwd, dir)
		}
	}
	for _, key := range []string{"file_path", "filePath", "path", "notebook_path", "notebookPath", "absolute_path", "filename", "file", "filepath", "dir_path", "file_paths", "paths", "files", "edits", "changes"} {
		for _, p := range texts(fields[key]) {
			u.addFile(p)
		}
	}
	for _, key := range []string{"patch", "patchText", "input", "diff"} {
		if u.class == terret.ClassEdit {
			for _, p := range patchPaths(text(fields[key])) {
				u.addFile(p)
			}
		}
	}
	for _, key := range []string{"url", "uri", "urls"} {
		u.urls = append(u.urls, texts(fields[key])...)
	}
	for _, key := range []string{"subagent_type", "agent", "skill", "name"} {
		if v := text(fields[key]); v != "" && u.argument == "" {
			u.argument = v
		}
	}
	if u.class == terret.ClassSearch {
		u.takeSearch(fields)
	}
	if u.class == terret.ClassExecute {
		u.takeCommand(fields, cwd)
	}
}

func (u *use) addFile(p string) {
	if p == "" {
		return
	}
	u.files = append(u.files, fileUse{
		path: word{text: p}, cwds: []string{u.Cwd},
		write:  u.class == terret.ClassEdit,
		search: u.class == terret.ClassSearch,
		by:     u.Tool,
	})
}

// takeSearch adds where a search looks: its path or the working directory, and the
// folder that a file name pattern begins with.
func (u *use) takeSearch(fields map[string]json.RawMessage) {
	if len(u.files) == 0 {
		u.addFile(".")
	}
	if u.called("Glob") {
		pattern := text(fields["pattern"])
		fixed, rest := staticPrefix(pattern)
		if strings.Contains(rest, "..") || strings.Contains(rest, "{/") || strings.Contains(rest, ",/") {
			u.doubt = "its pattern can lead anywhere"
		}
		if strings.Contains(pattern, "..") || path.IsAbs(pattern) || fixed != "" {
			for _, f := range slices.Clone(u.files) {
				u.addFile(join(f.path.text, strings.TrimSuffix(fixed, "/")))
			}
		}
	}
}

func (u *use) takeCommand(fields map[string]json.RawMessage, cwd string) {
	u.script = &script{}
	u.exact = path.Clean(cwd) == path.Clean(u.Cwd)
	found := false
	for _, key := range []string{"command", "cmd", "script"} {
		raw := fields[key]
		if len(raw) == 0 {
			continue
		}
		u.exact = u.exact && !found
		found = true
		var argv []string
		if source := text(raw); source != "" {
			u.command = source
			u.script.merge(readScript(source, u.Subject, cwd))
		} else if json.Unmarshal(raw, &argv) == nil && len(argv) > 0 {
			u.script.merge(readArgv(argv, u.Subject, cwd))
		} else {
			u.doubt = "its command is not readable"
		}
	}
	for _, name := range namesIn(fields["env"]) {
		if !harmlessEnv[name] {
			u.exact = false
			u.script.doubts = append(u.script.doubts, "it has another "+name+" than usual, which may change what commands do")
		}
	}
	name := strings.ToLower(u.Tool)
	switch {
	case !found:
		u.doubt = "it does not say which command it runs"
	case len(texts(fields["args"])) > 0 || len(texts(fields["arguments"])) > 0:
		u.doubt = "it has arguments apart from its command"
	case strings.Contains(name, "powershell") || strings.Contains(name, "pwsh"):
		u.doubt = "its commands are not in the language of the shell"
	}
	u.files = nil // what a shell tool calls a path is not what it touches
	u.files = append(u.files, u.script.files...)
}

// namesIn are the names of variables that a field gives, as a list or with values.
func namesIn(raw json.RawMessage) []string {
	if fields, err := readFields(raw); err == nil {
		return slices.Sorted(maps.Keys(fields))
	}
	return texts(raw)
}

// readFields reads a JSON object. Unlike encoding/json for a struct it keeps the case
// of the keys, and it rejects duplicate keys.
func readFields(raw json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return fields, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, errors.New("it is not valid JSON")
		}
		if _, twice := fields[key]; twice {
			return nil, errors.New("it has a duplicate key")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("it is not valid JSON")
		}
		fields[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is data after the JSON object")
	}
	return fields, nil
}

// text is the value as a string, empty if it is not one.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// texts lists the strings of a value that is a string, a list of strings, a list of
// objects with a path, or an object whose keys are paths.
func texts(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	if s := text(raw); s != "" {
		return []string{s}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var all []string
		for _, item := range list {
			if s := text(item); s != "" {
				all = append(all, s)
				continue
			}
			inner, err := readFields(item)
			if err != nil {
				continue
			}
			for _, key := range []string{"file_path", "filePath", "path", "move_path", "movePath"} {
				if s := text(inner[key]); s != "" {
					all = append(all, s)
				}
			}
		}
		return all
	}
	byPath, err := readFields(raw)
	if err != nil {
		return nil
	}
	var all []string
	for key := range byPath {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// patchPaths lists the files that a patch names, in both common formats.
func patchPaths(patch string) []string {
	var all []string
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ ", "--- ", "rename to ", "rename from "} {
			p, ok := strings.CutPrefix(line, mark)
			if !ok {
				continue
			}
			p, _, _ = strings.Cut(p, "\t")
			if len(mark) == 4 {
				p = strings.TrimPrefix(strings.TrimPrefix(p, "a/"), "b/")
			}
			if p = strings.TrimSpace(p); p != "" && p != "/dev/null" {
				all = append(all, p)
			}
		}
	}
	return all
}
