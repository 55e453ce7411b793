package claude

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
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
	file, place := brief.Line(brief.Path(f.file(), cwd)), brief.Line(cmp.Or(brief.Path(f.Path, cwd), "."))
	switch {
	case classOf(name) == terret.ClassExecute && f.Command != "":
		return "Run `" + brief.Line(strings.TrimSpace(f.Command)) + "`"
	case name == "Read" || name == "NotebookRead":
		return "Read " + file
	case name == "Write":
		return "Write " + file
	case classOf(name) == terret.ClassEdit:
		return "Edit " + file
	case name == "Glob":
		return "Find `" + brief.Line(f.Pattern) + "` in " + place
	case name == "Grep":
		return "Search for `" + brief.Line(f.Pattern) + "` in " + place
	case name == "LS":
		return "List " + place
	case name == "WebFetch":
		return "Fetch " + brief.Line(f.URL)
	case name == "WebSearch":
		return "Search the web for `" + brief.Line(f.Query) + "`"
	case classOf(name) == terret.ClassAgent && f.Description != "":
		return "Start an agent: " + brief.Line(f.Description)
	case strings.HasPrefix(name, "mcp__"):
		server, tool, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		return "Use " + brief.Line(tool) + " of " + brief.Line(server)
	}
	return brief.Line(name)
}

// sortedCalls lists calls by id, so that reports have a stable order.
func sortedCalls(calls map[string]*toolCall) []*toolCall {
	var out []*toolCall
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		out = append(out, calls[id])
	}
	return out
}
