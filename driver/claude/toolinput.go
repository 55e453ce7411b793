package claude

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
)

// classes says what the agent's tools do. Missing tools are other, or mcp if their name
// says so.
var classes = map[string]terret.ToolClass{
	"Bash": terret.ClassExecute, "PowerShell": terret.ClassExecute, "Monitor": terret.ClassExecute,
	"Read": terret.ClassRead, "NotebookRead": terret.ClassRead,
	"Edit": terret.ClassEdit, "MultiEdit": terret.ClassEdit, "Write": terret.ClassEdit, "NotebookEdit": terret.ClassEdit,
	"Glob": terret.ClassSearch, "Grep": terret.ClassSearch, "LS": terret.ClassSearch,
	"WebFetch": terret.ClassFetch, "WebSearch": terret.ClassFetch,
	"Agent": terret.ClassAgent, "Task": terret.ClassAgent, "Workflow": terret.ClassAgent,
	"TodoWrite": terret.ClassThink, "TaskCreate": terret.ClassThink, "TaskGet": terret.ClassThink,
	"TaskList": terret.ClassThink, "TaskUpdate": terret.ClassThink,
	"EnterPlanMode": terret.ClassThink, "ExitPlanMode": terret.ClassThink,
	"AskUserQuestion": terret.ClassThink, "StructuredOutput": terret.ClassThink, "ToolSearch": terret.ClassThink,
	"TaskOutput": terret.ClassThink, "BashOutput": terret.ClassThink,
}

func classOf(name string) terret.ToolClass {
	if c, ok := classes[name]; ok {
		return c
	}
	if strings.HasPrefix(name, "mcp__") {
		return terret.ClassMCP
	}
	return terret.ClassOther
}

// toolInput is the common input of tools.
type toolInput struct {
	Command         string      `json:"command"`
	Description     string      `json:"description"`
	FilePath        string      `json:"file_path"`
	NotebookPath    string      `json:"notebook_path"`
	Path            string      `json:"path"`
	Pattern         string      `json:"pattern"`
	URL             string      `json:"url"`
	Query           string      `json:"query"`
	Content         *string     `json:"content"`
	OldString       string      `json:"old_string"`
	NewString       *string     `json:"new_string"`
	ReplaceAll      bool        `json:"replace_all"`
	Edits           []inputEdit `json:"edits"`
	RunInBackground bool        `json:"run_in_background"`
	Plan            string      `json:"plan"`
	PlanFilePath    string      `json:"planFilePath"`
	Todos           []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
	TaskID  string `json:"taskId"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

type inputEdit struct {
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

func decodeInput(input terret.JSON) toolInput {
	var f toolInput
	decode(input, &f)
	return f
}

// file is the file that the tool works on.
func (f toolInput) file() string { return cmp.Or(f.FilePath, f.NotebookPath) }

func (f toolInput) paths() []string {
	if p := cmp.Or(f.file(), f.Path); p != "" {
		return []string{p}
	}
	return nil
}

// title describes the call in one line for people.
func (f toolInput) title(name, cwd string) string {
	file, place := brief(shown(f.file(), cwd)), brief(cmp.Or(shown(f.Path, cwd), "."))
	switch {
	case classOf(name) == terret.ClassExecute && f.Command != "":
		return "Run `" + brief(strings.TrimSpace(f.Command)) + "`"
	case name == "Read" || name == "NotebookRead":
		return "Read " + file
	case name == "Write":
		return "Write " + file
	case classOf(name) == terret.ClassEdit:
		return "Edit " + file
	case name == "Glob":
		return "Find `" + brief(f.Pattern) + "` in " + place
	case name == "Grep":
		return "Search for `" + brief(f.Pattern) + "` in " + place
	case name == "LS":
		return "List " + place
	case name == "WebFetch":
		return "Fetch " + brief(f.URL)
	case name == "WebSearch":
		return "Search the web for `" + brief(f.Query) + "`"
	case classOf(name) == terret.ClassAgent && f.Description != "":
		return "Start an agent: " + brief(f.Description)
	case strings.HasPrefix(name, "mcp__"):
		server, tool, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		return "Use " + brief(tool) + " of " + brief(server)
	}
	return brief(name)
}

// shown is a path for people: relative if it is below the folder.
func shown(path, cwd string) string {
	if path == "" || cwd == "" || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// briefLimit is how many characters of a value fit in a title.
const briefLimit = 200

// brief is s on one line, short, with nothing that could mislead a reader.
func brief(s string) string {
	out := cut(s, briefLimit)
	if len(out) < len(s) {
		out += "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '↵'
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, out)
}

// sortedCalls lists calls by id, so that reports have a stable order.
func sortedCalls(calls map[string]*toolCall) []*toolCall {
	var out []*toolCall
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		out = append(out, calls[id])
	}
	return out
}
