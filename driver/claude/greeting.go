package claude

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/terret-dev/terret"
)

// hookPatience is how many seconds the agent waits for our answer to a hook. It
// must be longer than any decision takes: after it, the agent refuses the tool.
const hookPatience = 24 * 60 * 60

// hooks are the events of the agent that are delivered over the stream.
//
// WorktreeCreate and WorktreeRemove are not among them: whoever takes them must make
// the worktrees. PermissionRequest is not either: it would ask beside can_use_tool,
// and the first answer would win. MessageDisplay repeats every piece of text.
// SessionStart and SessionEnd do not arrive over the stream; the start and the end of
// the process tell the same.
var hooks = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
	"PreCompact", "PostCompact", "Notification", "PermissionDenied", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange",
	"CwdChanged", "FileChanged", "InstructionsLoaded", "UserPromptExpansion", "Elicitation", "ElicitationResult",
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
	for _, name := range hooks {
		g.Hooks[name] = []hookMatcher{{CallbackIDs: []string{name}, Timeout: hookPatience}}
	}
	return g
}

// models are those that can be chosen.
func (a initializeAnswer) models() []terret.Model {
	out := []terret.Model{}
	for _, m := range a.Models {
		out = append(out, terret.Model{ID: m.Value, Name: m.DisplayName, Efforts: m.SupportedEffortLevels})
	}
	return out
}

// commands are those that can be typed.
func (a initializeAnswer) commands() []terret.Command {
	out := []terret.Command{}
	for _, c := range a.Commands {
		out = append(out, terret.Command{Name: c.Name, Description: c.Description, Hint: c.ArgumentHint})
	}
	return out
}
