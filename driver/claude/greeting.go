package claude

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/terret-dev/terret"
)

// hookPatience is how many seconds the agent waits for our answer to a hook: 24 days,
// more than anybody should need. After that, the agent refuses a tool, and continues
// everywhere else. The agent's timers allow at most 2^31 ms, which is a day more.
const hookPatience = 24 * 24 * 60 * 60

// hooks are the events that every process reports: tool uses, which rules must see
// before they run, and what the stream does not report. The agent waits for each hook,
// which costs a round trip, so hooks that repeat the stream are left out.
// docs/decisions/016-gates-on-demand.md lists all of them.
var hooks = []string{
	"PreToolUse", "Notification", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange", "CwdChanged", "FileChanged",
	"InstructionsLoaded", "UserPromptExpansion",
}

// gateHooks are the events that a process reports only if somebody wants to decide
// there: otherwise the stream reports enough.
var gateHooks = map[terret.Gate]string{
	terret.GatePrompt:       "UserPromptSubmit",
	terret.GateStop:         "Stop",
	terret.GateSubagentStop: "SubagentStop",
	terret.GateCompact:      "PreCompact",
}

// hookedGates lists the gates that need a hook of their own, sorted.
func hookedGates(wanted []terret.Gate) []terret.Gate {
	var out []terret.Gate
	for g := range gateHooks {
		if slices.Contains(wanted, g) {
			out = append(out, g)
		}
	}
	slices.Sort(out)
	return out
}

type hookMatcher struct {
	CallbackIDs []string `json:"hookCallbackIds"`
	Timeout     int      `json:"timeout"`
}

// initialize greets the agent.
type initialize struct {
	Subtype             string                   `json:"subtype"`
	Hooks               map[string][]hookMatcher `json:"hooks,omitempty"`
	Servers             []string                 `json:"sdkMcpServers,omitempty"`
	Agents              json.RawMessage          `json:"agents,omitempty"`
	AppendSystemPrompt  string                   `json:"appendSystemPrompt,omitempty"`
	ForwardSubagentText bool                     `json:"forwardSubagentText"`
}

func greeting(l launch, servers map[string]MCPServer) initialize {
	g := initialize{
		Subtype: "initialize", Hooks: map[string][]hookMatcher{}, Agents: json.RawMessage(l.agents), AppendSystemPrompt: l.append,
		Servers: slices.Sorted(maps.Keys(servers)), ForwardSubagentText: true,
	}
	register := func(name string) {
		g.Hooks[name] = []hookMatcher{{CallbackIDs: []string{name}, Timeout: hookPatience}}
	}
	for _, name := range hooks {
		register(name)
	}
	for _, gate := range l.gates {
		register(gateHooks[gate])
	}
	return g
}

// models lists the models to choose from.
func (a initializeAnswer) models() []terret.Model {
	out := []terret.Model{}
	for _, m := range a.Models {
		out = append(out, terret.Model{ID: m.Value, Name: m.DisplayName, Efforts: m.SupportedEffortLevels})
	}
	return out
}

// commands lists the commands that can be typed.
func (a initializeAnswer) commands() []terret.Command {
	out := []terret.Command{}
	for _, c := range a.Commands {
		out = append(out, terret.Command{Name: c.Name, Description: c.Description, Hint: c.ArgumentHint})
	}
	return out
}
