package opencode

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// rule says what the agent does about a tool: allow, ask or deny. The last one that
// fits counts.
type rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// The agent's words.
const (
	actionAllow = "allow"
	actionAsk   = "ask"
	actionDeny  = "deny"
	everything  = "*"
)

// askAlways is what every server is told in its environment, so that subagents ask as
// well: the rules of a session are not theirs. What is outside the folder is no
// question of its own, since each tool that goes there is one, and neither is a tool
// that is called over and over.
const askAlways = `"*":"ask","external_directory":"allow","doom_loop":"allow"`

// free are permissions that are about no tool use of their own.
var free = []string{"external_directory", "doom_loop", "question", "plan_enter", "plan_exit"}

// own are the rules that an agent would have without us: those before the one that
// asks about everything.
func own(rules []rule) (before, after []rule) {
	for i, r := range slices.Backward(rules) {
		if r.Permission == everything && r.Pattern == everything && r.Action == actionAsk {
			return rules[:i], rules[i+1:]
		}
	}
	return rules, rules
}

// watched reports whether a subagent with those rules asks about every tool use.
func watched(rules []rule) bool {
	_, after := own(rules)
	return !slices.ContainsFunc(after, func(r rule) bool { return r.Action == actionAllow && !slices.Contains(free, r.Permission) })
}

// allowed reports whether the agent's own rules, without ours, allow it.
func allowed(rules []rule, permission string, patterns []string) bool {
	before, _ := own(rules)
	return !slices.ContainsFunc(patterns, func(p string) bool {
		for _, r := range slices.Backward(before) {
			if wild(r.Permission, permission) && wild(r.Pattern, p) {
				return r.Action != actionAllow
			}
		}
		return true
	})
}

// denied reports whether the agent's own rules, without ours, forbid it.
func denied(rules []rule, permission string, patterns []string) bool {
	before, _ := own(rules)
	return slices.ContainsFunc(patterns, func(p string) bool {
		for _, r := range slices.Backward(before) {
			if wild(r.Permission, permission) && wild(r.Pattern, p) {
				return r.Action == actionDeny
			}
		}
		return false
	})
}

// sessionRules are the rules of a session: what the role of the agent may do by its
// own rules is asked, what it may not do stays forbidden, and tools that do not exist
// in the turn are denied as a whole, so that the model is not offered them. Denials
// reach subagents too.
func sessionRules(role []rule, gone []string, has func(tool string) bool) []rule {
	before, _ := own(role)
	out := []rule{{everything, everything, actionAsk}}
	for _, r := range before {
		switch {
		case slices.Contains(free, r.Permission):
			if r.Action == actionAsk {
				r.Action = actionAllow
			}
		case r.Action == actionAllow:
			r.Action = actionAsk
		}
		out = append(out, r)
	}
	for _, tool := range gone {
		permission := tool
		if slices.Contains(editors, tool) {
			permission = "edit"
			if slices.ContainsFunc(editors, has) {
				continue // they have one permission between them
			}
		}
		out = append(out, rule{permission, everything, actionDeny})
	}
	return out
}

// editors are the tools that change files. They share a permission.
var editors = []string{"edit", "write", "apply_patch"}

// missing lists the tools that do not exist in a turn with those settings: those that
// are not wanted, and those of plugins, which run without asking, unless they are
// approved. Names are the agent's own.
func (n names) missing(tools []string, in terret.Settings) []string {
	var out []string
	for _, tool := range tools {
		ours := n.ours(tool)
		wanted := in.Tools == nil || listed(in.Tools, ours) || slices.Contains(in.Tools, allTools)
		unasked := n.custom(tool) && !listed(in.ApprovedTools, ours)
		if !wanted || unasked || listed(in.RemovedTools, ours) {
			out = append(out, tool)
		}
	}
	return out
}

// allTools stands for all tools in a list of those that exist.
const allTools = "default"

// listed reports whether a tool is in a list, by its name, by the name that rules use
// for it, or as one of those of a server.
func listed(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if server, ok := strings.CutPrefix(entry, "mcp__"); ok && strings.HasPrefix(tool, "mcp__") {
			server = strings.TrimSuffix(strings.TrimSuffix(server, "*"), "__")
			return entry == tool || !strings.Contains(server, "__") && strings.HasPrefix(tool, "mcp__"+server+"__")
		}
		return entry == tool || ruleNames[entry] == tool
	})
}

// ruleNames are the agent's names of tools that rules have another name for.
var ruleNames = map[string]string{
	"Bash": "bash", "Read": "read", "Edit": "edit", "Write": "write", "Grep": "grep", "Glob": "glob", "LS": "list",
	"WebFetch": "webfetch", "WebSearch": "websearch", "Agent": "task", "Task": "task", "TodoWrite": "todowrite",
	"Skill": "skill", "AskUserQuestion": "question",
}

// wild reports whether a text fits a pattern in which * stands for any text and ? for
// any character. As for the agent, "ls *" fits "ls" too.
func wild(pattern, text string) bool {
	if short, ok := strings.CutSuffix(pattern, " *"); ok && wild(short, text) {
		return true
	}
	p, t := []rune(pattern), []rune(text)
	i, star, mark := 0, -1, 0
	for j := 0; j < len(t); {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
