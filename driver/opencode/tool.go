package opencode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// classes says what the agent's tools do. A tool that is not here is one of a server
// or of a plugin.
var classes = map[string]terret.ToolClass{
	"bash": terret.ClassExecute, "read": terret.ClassRead, "lsp": terret.ClassRead,
	"edit": terret.ClassEdit, "write": terret.ClassEdit, "apply_patch": terret.ClassEdit,
	"glob": terret.ClassSearch, "grep": terret.ClassSearch, "list": terret.ClassSearch,
	"webfetch": terret.ClassFetch, "websearch": terret.ClassFetch, "codesearch": terret.ClassFetch,
	"task": terret.ClassAgent, "todowrite": terret.ClassThink, "todoread": terret.ClassThink,
	"skill": terret.ClassOther, "question": terret.ClassOther, "invalid": terret.ClassOther, "batch": terret.ClassOther,
	"plan_enter": terret.ClassThink, "plan_exit": terret.ClassThink, "StructuredOutput": terret.ClassOther,
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

// names translates the names of tools. The agent calls those of MCP servers
// server_tool; we call them mcp__server__tool, as rules do.
type names struct {
	servers []string // the longest name first
}

func newNames(servers []string) names {
	slices.SortFunc(servers, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return names{servers}
}

var oddLetters = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// ours is our name of a tool.
func (n names) ours(tool string) string {
	if _, ok := classes[tool]; ok {
		return tool
	}
	for _, server := range n.servers {
		if rest, ok := strings.CutPrefix(tool, oddLetters.ReplaceAllString(server, "_")+"_"); ok && rest != "" {
			return "mcp__" + server + "__" + rest
		}
	}
	return tool
}

// custom reports whether a tool is neither the agent's own nor one of a server: it
// comes from a plugin, and runs without asking.
func (n names) custom(tool string) bool {
	_, own := classes[tool]
	return !own && !strings.HasPrefix(n.ours(tool), "mcp__")
}

// toolInput is what tools are commonly given.
type toolInput struct {
	Command      string `json:"command"`
	Description  string `json:"description"`
	FilePath     string `json:"filePath"`
	Path         string `json:"path"`
	Pattern      string `json:"pattern"`
	URL          string `json:"url"`
	Query        string `json:"query"`
	Name         string `json:"name"`
	Prompt       string `json:"prompt"`
	SubagentType string `json:"subagent_type"`
}

func (f toolInput) paths() []string {
	if p := cmp.Or(f.FilePath, f.Path); p != "" {
		return []string{p}
	}
	return nil
}

// title is the call in one line for people.
func (f toolInput) title(name, cwd string) string {
	file, place := brief.Line(brief.Path(f.FilePath, cwd)), brief.Line(cmp.Or(brief.Path(f.Path, cwd), "."))
	switch name {
	case "bash":
		return "Run `" + brief.Line(strings.TrimSpace(f.Command)) + "`"
	case "read":
		return "Read " + file
	case "write":
		return "Write " + file
	case "edit":
		return "Edit " + file
	case "apply_patch":
		return "Apply a patch"
	case "glob":
		return "Find `" + brief.Line(f.Pattern) + "` in " + place
	case "grep":
		return "Search for `" + brief.Line(f.Pattern) + "` in " + place
	case "list":
		return "List " + place
	case "webfetch":
		return "Fetch " + brief.Line(f.URL)
	case "websearch", "codesearch":
		return "Search the web for `" + brief.Line(f.Query) + "`"
	case "task":
		return "Start an agent: " + brief.Line(cmp.Or(f.Description, f.SubagentType))
	case "skill":
		return "Use the skill " + brief.Line(f.Name)
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		return "Use " + brief.Line(tool) + " of " + brief.Line(server)
	}
	return brief.Line(name)
}

const (
	diagLimit = 500 // characters of a text in a diagnostic
)

// unified is the agent's difference without its own head.
func unified(diff string) string {
	lines := strings.SplitAfter(diff, "\n")
	for len(lines) > 0 && (strings.HasPrefix(lines[0], "Index: ") || strings.HasPrefix(lines[0], "====")) {
		lines = lines[1:]
	}
	return strings.Join(lines, "")
}
