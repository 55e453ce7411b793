package claude

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// task is a subagent, or a long-running command.
type task struct {
	id, tool    string
	kind        string // local_agent, local_bash
	agentType   string
	description string
	agent       bool
	told        bool // task.start was emitted: it runs in the background
	stopping    bool // a subagent that is done, and whose result is on its way
}

// taskStarted handles the start of a task.
func (t *translator) taskStarted(m *taskMessage) {
	k := &task{
		id: m.TaskID, tool: m.ToolUseID, kind: m.TaskType, agentType: m.SubagentType, description: m.Description,
		agent: m.TaskType == "local_agent" || m.SubagentType != "",
	}
	t.tasks[k.id] = k
	c := t.tools[k.tool]
	if k.agent {
		actor, parent := t.actorOf(k.tool, k.id)
		t.emitBy(actor, parent, "", terret.SubagentStart{ID: k.id, Type: k.agentType, Description: k.description, Prompt: m.Prompt})
	}
	switch {
	case m.IsBackgrounded || c == nil || decodeInput(c.input).RunInBackground:
		t.tellTask(k)
	case !k.agent:
		t.emitBy(c.actor, c.parentTool, "", terret.ToolProgress{ToolID: c.id, ElapsedMS: t.now.Sub(c.began).Milliseconds()})
	}
}

// tellTask reports, once, that the task runs in the background.
func (t *translator) tellTask(k *task) {
	if k.told {
		return
	}
	k.told = true
	t.emitTask(k, terret.TaskStart{ID: k.id, ToolID: k.tool, Type: k.kind, Description: k.description})
}

// emitTask emits an event about a task, as the subagent or as whoever runs the command.
func (t *translator) emitTask(k *task, data terret.Data) {
	actor, parent := "", ""
	if k.agent {
		actor, parent = t.actorOf(k.tool, k.id)
	} else if c := t.tools[k.tool]; c != nil {
		actor, parent = c.actor, c.parentTool
	}
	t.emitBy(actor, parent, "", data)
}

func (t *translator) taskProgress(m *taskMessage) {
	k := t.tasks[m.TaskID]
	if c := t.tools[m.ToolUseID]; c != nil && (k == nil || !k.told) {
		t.emitBy(c.actor, c.parentTool, "", terret.ToolProgress{ToolID: c.id, Text: m.Description, ElapsedMS: m.Usage.DurationMS})
		return
	}
	if k == nil {
		k = &task{id: m.TaskID, tool: m.ToolUseID, agent: m.SubagentType != ""}
	}
	t.emitTask(k, terret.TaskUpdate{ID: k.id, Status: "running", Text: m.Description})
}

func (t *translator) taskUpdated(m *taskMessage) {
	k := t.tasks[m.TaskID]
	if k == nil {
		return // it has ended
	}
	k.description = cmp.Or(m.Patch.Description, k.description)
	if m.Patch.IsBackgrounded {
		t.tellTask(k)
	}
	switch m.Patch.Status {
	case "", "completed", "failed", "killed", "stopped":
		// The following notification reports its end.
	default:
		if k.told {
			t.emitTask(k, terret.TaskUpdate{ID: k.id, Status: m.Patch.Status, Text: m.Patch.Description})
		}
	}
}

// taskEnded handles the end of a task.
func (t *translator) taskEnded(m *taskMessage) {
	k := t.tasks[m.TaskID]
	if k == nil {
		k = &task{id: m.TaskID, tool: m.ToolUseID, told: true}
	}
	if k.agent {
		actor, _ := t.actorOf(k.tool, k.id)
		if s := t.speakers[actor]; s != nil {
			t.completeMessage(actor, s)
		}
	}
	if k.agent && !k.told && t.tools[k.tool] != nil {
		k.stopping = true // the result of the call holds its findings
		return
	}
	t.endTask(k, m)
	if m.Status != "completed" && t.turn.open && !t.turn.root && !t.turn.asked() {
		// Only the subagent was at work, and the agent will not continue by itself.
		t.endTurn(terret.TurnComplete{StopReason: m.Status, Usage: t.turn.usage.Add(t.turn.estimate), CostUSD: t.turn.cost})
	}
}

// endTask reports the end of a task, and forgets it.
func (t *translator) endTask(k *task, m *taskMessage) {
	delete(t.tasks, k.id)
	if k.agent {
		t.stopAgent(k, "")
	}
	if k.told {
		t.emitTask(k, terret.TaskEnd{ID: k.id, Status: m.Status, OutputFile: m.OutputFile, Summary: m.Summary})
	}
}

// stopAgent reports that a subagent is done.
func (t *translator) stopAgent(k *task, result string) {
	actor, parent := t.actorOf(k.tool, k.id)
	s := t.speakers[actor]
	if s != nil {
		t.completeMessage(actor, s)
		result = cmp.Or(result, s.said)
	}
	t.emitBy(actor, parent, "", terret.SubagentStop{ID: k.id, Type: k.agentType, Result: result})
	delete(t.speakers, actor)
}

// stopAgentOf reports the end of the subagent that ended with a call.
func (t *translator) stopAgentOf(c *toolCall, result string) {
	k := t.tasks[t.starters[c.id]]
	if k == nil || k.told || !k.agent {
		return
	}
	delete(t.tasks, k.id)
	t.stopAgent(k, result)
}

// noteTask finds out from the result of a call whether it continues in the background.
func (t *translator) noteTask(c *toolCall, extra toolOutcome) {
	id := extra.BackgroundTaskID
	if extra.IsAsync {
		id = extra.AgentID
	}
	if id == "" {
		return
	}
	k := t.tasks[id]
	if k == nil {
		f := decodeInput(c.input)
		k = &task{id: id, tool: c.id, kind: "local_bash", description: f.Description, agent: extra.IsAsync, agentType: extra.AgentType}
		if k.agent {
			k.kind = "local_agent"
		}
		t.tasks[id] = k
	}
	t.tellTask(k)
}

// inBackground reports whether the actor is a subagent that continues after the turn, or
// was started by one.
func (t *translator) inBackground(actor string) bool {
	for range maxDepth {
		id, ok := strings.CutPrefix(actor, terret.SubActor(""))
		if !ok {
			return false
		}
		if k := t.tasks[id]; k != nil && k.agent && k.told {
			return true
		}
		starter := t.tools[t.agents[id]]
		if starter == nil {
			return false
		}
		actor = starter.actor
	}
	return false
}

// maxDepth bounds how deep subagents start others.
const maxDepth = 10

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
