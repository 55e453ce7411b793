package view

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/terret-dev/terret"
)

// runtimeEvent is the athena view of an event.
type runtimeEvent struct {
	ID          string         `json:"id"`        // decisions refer to it
	Timestamp   int64          `json:"timestamp"` // in milliseconds
	Kind        string         `json:"kind"`
	Data        any            `json:"data"`
	HookName    string         `json:"hookName"` // the agent's own name for it
	SessionID   string         `json:"sessionId"`
	ToolName    string         `json:"toolName,omitempty"`
	ToolUseID   string         `json:"toolUseId,omitempty"`
	AgentID     string         `json:"agentId,omitempty"`
	AgentType   string         `json:"agentType,omitempty"`
	Context     runtimeContext `json:"context"`
	Interaction interaction    `json:"interaction"`
	Payload     terret.JSON    `json:"payload"` // the agent's own message, if it was kept
}

type runtimeContext struct {
	Cwd            string `json:"cwd"`
	TranscriptPath string `json:"transcriptPath"`
	PermissionMode string `json:"permissionMode,omitempty"`
}

// interaction says whether the agent waits for a decision.
type interaction struct {
	ExpectsDecision  bool   `json:"expectsDecision"`
	DefaultTimeoutMS *int64 `json:"defaultTimeoutMs,omitempty"`
	CanBlock         bool   `json:"canBlock"`
}

// hooks maps each kind to the agent's hook.
var hooks = map[string]string{
	"tool.pre":           "PreToolUse",
	"tool.post":          "PostToolUse",
	"tool.failure":       "PostToolUseFailure",
	"permission.request": "PermissionRequest",
	"stop.request":       "Stop",
	"session.start":      "SessionStart",
	"session.end":        "SessionEnd",
	"subagent.start":     "SubagentStart",
	"subagent.stop":      "SubagentStop",
	"user.prompt":        "UserPromptSubmit",
	"compact.pre":        "PreCompact",
	"notification":       "Notification",
	"setup":              "Setup",
	"teammate.idle":      "TeammateIdle",
	"task.completed":     "TaskCompleted",
	"config.change":      "ConfigChange",
}

// blockable are the kinds that a decision can stop.
var blockable = map[string]bool{
	"tool.pre": true, "permission.request": true, "stop.request": true,
	"subagent.stop": true, "user.prompt": true, "compact.pre": true,
}

// plainHooks are the kinds that come only as hooks. A hook of any other kind only asks
// about something that has its own event.
var plainHooks = map[string]bool{
	"user.prompt": true, "notification": true, "setup": true, "teammate.idle": true, "task.completed": true, "config.change": true,
}

// kindOfHook is the kind of a hook, or unknown.
func kindOfHook(hook string) string {
	for kind, h := range hooks {
		if h == hook {
			return kind
		}
	}
	return "unknown"
}

// athena yields runtime events and, for each decision, what was decided.
type athena struct {
	known
	oneShot    bool
	transcript string
	types      map[string]string // of the active subagents
	asked      map[string]bool   // what a hook has already reported
	usage      terret.Usage      // of the session, or since the reader began
	counted    bool              // includes the turn's usage so far
	ended      bool              // session.end was sent for the process
}

func newAthena(o Options) *athena {
	return &athena{
		known: knownOf(o.Session), oneShot: o.Session.OneShot,
		types: map[string]string{}, asked: map[string]bool{},
	}
}

func (a *athena) Event(e terret.Event) []Message {
	a.learn(e)
	if e.Hidden() {
		return nil
	}
	switch d := e.Data.(type) {
	case terret.TurnStart:
		a.counted, a.ended = false, false
		return a.one(e, "turn.start", object{"turn_id": e.Turn, "status": "in_progress", "prompt": terret.TextOf(d.Prompt)})
	case terret.TurnComplete:
		return a.end(e, object{"turn_id": e.Turn, "status": "completed", "last_assistant_message": d.Text}, d.Usage, "completed")
	case terret.TurnError:
		status := "failed"
		if d.Error.Code == terret.CodeInterrupted || d.Error.Code == terret.CodeKilled {
			status = "interrupted"
		}
		return a.end(e, object{
			"turn_id": e.Turn, "status": status, "last_assistant_message": d.Text, "error": why(d), "error_kind": d.Error.Code,
		}, d.Usage, string(d.Error.Code))
	case terret.UsageUpdate:
		a.usage, a.counted = d.Usage, true
		return a.one(e, "usage.update", object{"turn_id": e.Turn, "usage": tokens(d.Usage, d.ContextUsed)})
	case terret.HookEvent:
		return a.hook(e, d)
	}
	if d, ok := terret.DecisionOf(e.Data); ok {
		return a.decided(d)
	}
	if kind, data := a.session(e); kind != "" {
		return a.one(e, kind, data)
	}
	if kind, data := a.work(e); kind != "" {
		return a.one(e, kind, data)
	}
	return nil
}

// session translates what happens around the work.
func (a *athena) session(e terret.Event) (kind string, data object) {
	switch d := e.Data.(type) {
	case terret.SessionStart:
		a.ended = false
		return "session.start", object{
			"source": d.Source, "model": d.Model, "tools": append([]string{}, d.Tools...), "harness": athenaHarness(a.agent),
		}
	case terret.SessionEnd:
		if a.ended {
			return "", nil
		}
		a.ended = true
		return "session.end", object{"reason": cmp.Or(d.NativeReason, d.Reason)}
	case terret.SessionAuth:
		return "notification", object{"message": cmp.Or(d.Message, d.Status), "notification_type": "auth"}
	case terret.Notification:
		return "notification", object{"message": d.Text, "title": d.Title, "notification_type": cmp.Or(d.Type, d.Level)}
	case terret.CompactPre:
		if a.told("compact.pre") {
			return "", nil
		}
		return "compact.pre", object{"trigger": d.Trigger, "custom_instructions": d.Instructions}
	case terret.SubagentStart:
		a.types[d.ID] = d.Type
		return "subagent.start", object{"agent_id": d.ID, "agent_type": d.Type}
	case terret.SubagentStop:
		defer delete(a.types, d.ID)
		if a.told("subagent.stop " + d.ID) {
			return "", nil
		}
		return "subagent.stop", object{"agent_id": d.ID, "agent_type": cmp.Or(d.Type, a.types[d.ID]), "last_assistant_message": d.Result}
	case terret.TaskEnd:
		return "task.completed", object{"task_id": d.ID, "task_subject": d.Status, "task_description": d.Summary}
	case terret.Unknown:
		return "unknown", object{"source_event_name": d.NativeType, "payload": terret.JSON(e.Raw)}
	}
	return "", nil
}

// work translates what the agent does in a turn.
func (a *athena) work(e terret.Event) (kind string, data object) {
	switch d := e.Data.(type) {
	case terret.UserPrompt:
		return "user.prompt", object{"prompt": terret.TextOf(d.Blocks), "permission_mode": a.mode}
	case terret.MessageDelta:
		return "message.delta", object{"turn_id": e.Turn, "item_id": d.MessageID, "delta": d.Text}
	case terret.ReasoningDelta:
		return "reasoning.delta", object{"turn_id": e.Turn, "item_id": d.MessageID, "delta": d.Text, "content_index": d.Index}
	case terret.PlanUpdate:
		return "plan.delta", object{"turn_id": e.Turn, "plan": append([]terret.PlanEntry{}, d.Entries...)}
	case terret.ToolPre:
		return "tool.pre", tool(d.ToolID, d.Name, d.Input)
	case terret.ToolPost:
		data = tool(d.ToolID, d.Name, nil)
		data["tool_response"] = plain(d.Content)
		if len(d.Structured) > 0 {
			data["tool_response"] = d.Structured
		}
		return "tool.post", data
	case terret.ToolFailure:
		data = tool(d.ToolID, d.Name, nil)
		data["error"], data["is_interrupt"] = cmp.Or(d.Error, plain(d.Content)), d.Interrupted
		return "tool.failure", data
	case terret.PermissionRequest:
		data = tool(d.ToolID, d.Tool, d.Input)
		data["permission_suggestions"] = suggestions(d)
		return "permission.request", data
	case terret.QuestionRequest:
		return "permission.request", tool("", "AskUserQuestion", terret.JSON(encode(object{"questions": questions(d.Questions)})))
	case terret.PlanRequest:
		return "permission.request", tool("", "ExitPlanMode", terret.JSON(encode(object{"plan": d.Plan})))
	case terret.StopRequest:
		return "stop.request", object{"stop_hook_active": d.Again, "last_assistant_message": d.LastMessage}
	}
	return "", nil
}

// hook translates a hook. If it waits for a decision, it replaces the later event that
// reports the same.
func (a *athena) hook(e terret.Event, d terret.HookEvent) []Message {
	var in struct {
		TranscriptPath string `json:"transcript_path"`
		AgentID        string `json:"agent_id"`
	}
	if json.Unmarshal(d.Data, &in) == nil && in.TranscriptPath != "" {
		a.transcript = in.TranscriptPath
	}
	kind := kindOfHook(d.Hook)
	switch {
	case kind == "unknown":
		return a.one(e, kind, object{"source_event_name": d.Hook, "payload": d.Data})
	case e.Expects == nil && !plainHooks[kind]:
		return nil
	case kind == "subagent.stop":
		a.asked[kind+" "+cmp.Or(in.AgentID, subagent(e))] = true
	case kind == "compact.pre":
		a.asked[kind] = true
	}
	return a.one(e, kind, inputOf(d.Data))
}

// told reports, once, whether a hook has already reported it.
func (a *athena) told(what string) bool {
	had := a.asked[what]
	delete(a.asked, what)
	return had
}

// end ends a turn: with the tokens that it used and, if it had its own process, the end
// of that.
func (a *athena) end(e terret.Event, data object, used terret.Usage, reason string) []Message {
	if !a.counted {
		a.usage = a.usage.Add(used)
	}
	a.counted = true
	out := []Message{
		a.message(e, "turn.complete", data, 0),
		a.message(e, "usage.update", object{"turn_id": e.Turn, "usage": tokens(a.usage, 0), "delta": tokens(used, 0)}, 1),
	}
	if a.oneShot {
		a.ended = true
		out = append(out, a.message(e, "session.end", object{"reason": reason}, 2))
	}
	return out
}

func (a *athena) one(e terret.Event, kind string, data any) []Message {
	return []Message{a.message(e, kind, data, 0)}
}

// message makes the nth message of an event.
func (a *athena) message(e terret.Event, kind string, data any, nth int) Message {
	out := runtimeEvent{
		ID: fmt.Sprintf("%s:%d", a.id, e.Seq), Timestamp: e.Time.UnixMilli(), Kind: kind, Data: data,
		HookName: cmp.Or(hooks[kind], e.Source, string(e.Kind())), SessionID: a.id,
		AgentID: subagent(e), AgentType: a.types[subagent(e)],
		Context:     runtimeContext{a.cwd, a.transcript, a.mode},
		Interaction: interaction{CanBlock: blockable[kind]},
		Payload:     terret.JSON(e.Raw),
	}
	if nth > 0 {
		out.ID += fmt.Sprintf(":%d", nth)
	}
	if d, ok := e.Data.(terret.HookEvent); ok {
		out.HookName = d.Hook
	}
	if d, ok := data.(object); ok {
		out.ToolName, _ = d["tool_name"].(string)
		out.ToolUseID, _ = d["tool_use_id"].(string)
	}
	if x := e.Expects; x != nil {
		out.ID, out.Interaction.ExpectsDecision = x.RequestID, !x.Decided
		if x.ExpiresAt != nil {
			ms := max(0, x.ExpiresAt.Sub(e.Time.Time).Milliseconds())
			out.Interaction.DefaultTimeoutMS = &ms
		}
	}
	return say(kind, out)
}

// decided reports what was decided.
func (a *athena) decided(d terret.Decision) []Message {
	return []Message{say("decision", object{"type": "decision", "requestId": d.RequestID, "decision": ToAthena(d)})}
}

// athenaHarness is Athena's name for an agent. The pair is a word of Athena's dialect: what
// another system calls an agent is not the driver's to say.
func athenaHarness(agent string) string {
	if agent == "claude" {
		return "agent-sdk"
	}
	return agent
}

func tool(id, name string, input terret.JSON) object {
	out := object{"tool_name": name, "tool_use_id": id}
	if input != nil {
		out["tool_input"] = inputOf(input)
	}
	return out
}

func tokens(u terret.Usage, context int64) object {
	out := object{
		"input": u.Input, "output": u.Output, "cacheRead": u.CacheRead, "cacheWrite": u.CacheWrite,
		"total": u.Input + u.Output + u.CacheRead + u.CacheWrite,
	}
	if context > 0 {
		out["contextSize"] = context
	}
	return out
}

func suggestions(d terret.PermissionRequest) []object {
	out := make([]object, 0, len(d.Suggestions))
	for _, rule := range d.Suggestions {
		out = append(out, object{"type": "allow", "tool": rule})
	}
	return out
}

// questions are questions in the form of Claude's tool.
func questions(list []terret.Question) []object {
	out := make([]object, 0, len(list))
	for _, q := range list {
		options := make([]object, 0, len(q.Options))
		for _, o := range q.Options {
			options = append(options, object{"label": o.Label, "description": o.Description})
		}
		out = append(out, object{"id": q.ID, "question": q.Text, "header": q.Header, "options": options, "multiSelect": q.Multi})
	}
	return out
}
