package drivertest

import "slices"

// Part is how much of the suite is run on a target. Cells of scenarios that are left out
// are in the table as the agent declares them.
type Part int

// Parts of the suite.
const (
	// Everything is every scenario.
	Everything Part = iota
	// Wire is for agents that differ from another target only in how they are spoken to,
	// or in how they speak to their model. It includes Core.
	Wire
	// Core is a dozen scenarios that show that the agent works, stops and obeys.
	Core
)

var core = []string{
	"hello", "follow-up", "tools run", "tool allowed", "tool denied", "denied by a rule", "undo of an edit",
	"interrupt in a tool", "resume", "kill -9 of the agent", "untrusted folder", "500",
}

var wire = []string{
	"streaming", "reasoning", "unicode", "answer of 200 KB", "image", "system prompt", "cost", "command", "tool fails",
	"large tool result", "two tools at once", "MCP server", "structured output", "subagent", "auth missing", "401", "403",
	"404 of the model", "400", "429", "529", "trouble that passes", "connection refused", "question", "plan approved",
	"interrupt in text", "compaction", "model switch",
}

// includes reports whether a scenario of that name is run.
func (p Part) includes(name string) bool {
	return p == Everything || slices.Contains(core, name) || p == Wire && slices.Contains(wire, name)
}
