package policy

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// AllTools means all tools in an agent's tool list.
const AllTools = "default"

// Missing reports whether a tool use is of a tool that the agent does not have: one
// that is not in every list. A nil list means all tools, an empty one none. The verdict
// is then deny, and nothing can allow it. It is for agents that keep tools they were
// told not to have.
//
// A list has names of whole tools, such as Read, or mcp__github__* for the tools of a
// server. An agent's own name for a tool counts as the name that rules use for it; a
// wider name does not: Edit is not Write, and Read is not Grep.
func Missing(s Subject, lists ...[]string) (Verdict, bool) {
	for _, list := range lists {
		if list == nil || slices.ContainsFunc(list, func(entry string) bool { return isTool(s, entry) }) {
			continue
		}
		return Verdict{
			Behavior: terret.BehaviorDeny,
			Reason:   sentence("This agent does not have the tool %s here", s.Tool),
		}, true
	}
	return Verdict{}, false
}

// isTool reports whether an entry of a tool list is the tool in use.
func isTool(s Subject, entry string) bool {
	if entry == AllTools || entry == s.Tool {
		return true
	}
	p, err := Parse(entry)
	switch {
	case err != nil || !p.whole:
		return false
	case strings.HasPrefix(s.Tool, "mcp__") || strings.HasPrefix(p.tool, "mcp__"):
		return s.Tool == p.tool || p.prefix && strings.HasPrefix(s.Tool, p.tool)
	}
	return oneName(p.tool, "") == oneName(s.Tool, s.Class)
}

// oneName is the name that rules use for a tool, whatever the agent calls it.
func oneName(name string, class terret.ToolClass) string {
	if known, ok := tools[name]; ok {
		return known.rule
	}
	if byClass := classRule[class]; byClass != "" {
		return byClass
	}
	return ruleName(name)
}
