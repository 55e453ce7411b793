package policy

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// AllTools stands for all tools in a list of those that exist for an agent.
const AllTools = "default"

// Missing reports whether a tool use is of a tool that does not exist for the agent:
// one that is not in each of the lists. A nil list is all tools, an empty one none.
// The verdict is then deny, and nothing that allows can change it. It is for agents
// that keep tools they were told not to have.
//
// A list has names of whole tools, such as Read, or mcp__github__* for the tools of
// a server. An agent's own name for a tool counts as the one that rules use for it;
// a wider name does not: Edit is not Write, and Read is not Grep.
func Missing(s Subject, lists ...[]string) (Verdict, bool) {
	for _, list := range lists {
		if list == nil || slices.ContainsFunc(list, func(entry string) bool { return isTool(s, entry) }) {
			continue
		}
		return Verdict{
			Behavior: terret.BehaviorDeny,
			Reason:   sentence("The tool %s is not among those that this agent has here", s.Tool),
		}, true
	}
	return Verdict{}, false
}

// isTool reports whether an entry of a list of tools is the one that is used.
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
