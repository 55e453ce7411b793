package view

import (
	"cmp"
	"encoding/base64"

	"github.com/terret-dev/terret"
)

// streamEvent is the hive view of an event.
type streamEvent struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
	Data      object `json:"data"`
	// ChildSessionID is the tool call that started the speaking subagent.
	ChildSessionID string      `json:"childSessionId,omitempty"`
	Status         *hiveStatus `json:"statusPayload,omitempty"`
}

type hiveStatus struct {
	Type    string `json:"type"` // idle, busy, retry
	Attempt int    `json:"attempt,omitempty"`
	Message string `json:"message,omitempty"`
	Next    int64  `json:"next,omitempty"` // when it retries, in milliseconds
}

// hive yields stream events.
type hive struct {
	known
	busy     bool
	prompted string            // the message that began the turn
	names    map[string]string // of the running tools
}

func newHive(o Options) *hive {
	return &hive{known: knownOf(o.Session), names: map[string]string{}}
}

func (h *hive) Event(e terret.Event) []Message {
	h.learn(e)
	if e.Turn != "" {
		h.busy = true
	}
	if e.Hidden() {
		return nil
	}
	out := h.session(e)
	if out == nil {
		out = h.work(e)
	}
	if out == nil {
		out = h.people(e)
	}
	if out == nil {
		return nil
	}
	out.SessionID = h.id
	if id := subagent(e); id != "" {
		out.ChildSessionID = cmp.Or(e.ParentTool, id)
	}
	return []Message{say(out.Type, out)}
}

// status is what the session is doing, according to its turns.
func (h *hive) status() *hiveStatus {
	if h.busy {
		return &hiveStatus{Type: "busy"}
	}
	return &hiveStatus{Type: "idle"}
}

// session translates what happens around the work.
func (h *hive) session(e terret.Event) *streamEvent {
	switch d := e.Data.(type) {
	case terret.SessionStart:
		return &streamEvent{Type: "session.init", Status: h.status(), Data: object{
			"session_id": h.native, "opencode_session_id": h.native, "tools": h.tools, "model": h.model, "agent_sdk": hiveAgent(h.agent),
		}}
	case terret.SessionNativeID:
		return &streamEvent{Type: "session.materialized", Data: object{"newSessionId": d.New}}
	case terret.SessionStateChange:
		return statusEvent(hiveStatus{Type: statusOf(d.State)}, string(d.State))
	case terret.Retry:
		next := e.Time.UnixMilli() + d.DelayMS
		return statusEvent(hiveStatus{Type: "retry", Attempt: d.Attempt, Message: d.Error, Next: next}, string(terret.SessionRetrying))
	case terret.CompactPre:
		return statusEvent(hiveStatus{Type: "busy"}, string(terret.SessionCompacting))
	case terret.SessionUpdated:
		if d.Title == nil {
			return nil
		}
		return &streamEvent{Type: "session.updated", Data: object{"info": object{"title": *d.Title}}}
	case terret.SessionAuth:
		return &streamEvent{Type: "session.auth", Data: object{
			"status": d.Status, "method": d.Method, "message": d.Message, "output": append([]string{}, d.Output...),
		}}
	case terret.TurnComplete:
		h.busy = false
		return &streamEvent{Type: "session.completed", Status: h.status(), Data: object{
			"result": d.Text, "cost": d.CostUSD, "usage": hiveUsage(d.Usage),
		}}
	case terret.TurnError:
		h.busy = false
		return &streamEvent{Type: "session.error", Status: h.status(), Data: object{
			"error": why(d), "errors": append([]string{}, d.Errors...), "kind": d.Error.Code,
			"cost": d.CostUSD, "usage": hiveUsage(d.Usage),
		}}
	}
	return nil
}

// statusEvent says what the session is doing. Hive's renderer reads the one copy, its
// notifications the other.
func statusEvent(s hiveStatus, state string) *streamEvent {
	return &streamEvent{Type: "session.status", Status: &s, Data: object{"status": s, "state": state}}
}

func statusOf(s terret.SessionState) string {
	switch {
	case s == terret.SessionRetrying:
		return "retry"
	case s == terret.SessionStarting || s.Working():
		return "busy"
	}
	return "idle"
}

// work translates what is said and done.
func (h *hive) work(e terret.Event) *streamEvent {
	switch d := e.Data.(type) {
	case terret.TurnStart:
		h.busy, h.prompted, h.names = true, d.MessageID, map[string]string{}
		if d.Origin == terret.OriginBackground {
			return statusEvent(hiveStatus{Type: "busy"}, string(terret.SessionBusy))
		}
		return h.created(e, d.MessageID, d.Prompt)
	case terret.UserPrompt:
		if d.MessageID != "" && d.MessageID == h.prompted {
			return nil
		}
		return h.created(e, d.MessageID, d.Blocks)
	case terret.MessageComplete:
		switch {
		case d.Role == terret.RoleAssistant:
			return &streamEvent{Type: "message.updated", Data: object{
				"id": d.MessageID, "role": d.Role, "parts": h.parts(d.Blocks),
				"info": object{"id": d.MessageID, "role": d.Role, "model": h.model, "time": object{"completed": e.Time}},
			}}
		case d.Role == terret.RoleTool || d.MessageID != "" && d.MessageID == h.prompted:
			return nil
		}
		return h.created(e, d.MessageID, d.Blocks)
	case terret.MessageDelta:
		return deltaPart("text", d.MessageID, d.Text)
	case terret.ReasoningDelta:
		return deltaPart("reasoning", d.MessageID, d.Text)
	case terret.ToolStart:
		h.names[d.ToolID] = d.Name
		return h.part(d.ToolID, object{"status": "running"})
	case terret.ToolPre:
		h.names[d.ToolID] = d.Name
		return h.part(d.ToolID, object{"status": "running", "input": inputOf(d.Input), "title": d.Title})
	case terret.ToolProgress:
		return h.part(d.ToolID, object{"status": "running", "metadata": object{"output": d.Text, "elapsed_ms": d.ElapsedMS}})
	case terret.ToolPost:
		return h.done(d.ToolID, d.Name, object{"status": "completed", "output": plain(d.Content)})
	case terret.ToolFailure:
		return h.done(d.ToolID, d.Name, object{"status": "error", "output": failed(d), "error": cmp.Or(d.Error, failed(d))})
	}
	return nil
}

// people translates what people are asked, and their answers.
func (h *hive) people(e terret.Event) *streamEvent {
	switch d := e.Data.(type) {
	case terret.PermissionRequest:
		return &streamEvent{Type: "permission.asked", Data: object{
			"id": d.RequestID, "sessionID": h.id, "permission": d.Tool, "patterns": []string{cmp.Or(d.Title, d.Tool)},
			"metadata": object{"input": inputOf(d.Input), "reason": d.Reason, "diff": d.Diff},
			"always":   append([]string{}, d.Suggestions...),
			"tool":     object{"messageID": "", "callID": d.ToolID},
		}}
	case terret.QuestionRequest:
		list := questions(d.Questions)
		for i, q := range list {
			q["multiple"], q["custom"] = d.Questions[i].Multi, true
			delete(q, "multiSelect")
		}
		return &streamEvent{Type: "question.asked", Data: object{"id": d.RequestID, "sessionID": h.id, "questions": list}}
	case terret.PlanRequest:
		return &streamEvent{Type: "plan.ready", Data: object{"id": d.RequestID, "plan": d.Plan}}
	case terret.PermissionDecision:
		return &streamEvent{Type: "permission.replied", Data: object{
			"id": d.RequestID, "requestId": d.RequestID, "reply": hiveReply(d.Decision), "message": d.Reason,
		}}
	case terret.QuestionDecision:
		kind := "question.replied"
		if d.Behavior != terret.BehaviorAnswer {
			kind = "question.rejected"
		}
		return &streamEvent{Type: kind, Data: object{"id": d.RequestID, "requestId": d.RequestID}}
	case terret.PlanDecision:
		return &streamEvent{Type: "plan.resolved", Data: object{
			"id": d.RequestID, "requestId": d.RequestID, "approved": d.Behavior == terret.BehaviorApprove, "feedback": d.Reason,
		}}
	}
	return nil
}

// created is a person's message. Undo can go back to the one that began a turn.
func (h *hive) created(e terret.Event, id string, blocks []terret.Block) *streamEvent {
	data := object{"id": id, "uuid": id, "role": terret.RoleUser, "parts": h.parts(blocks)}
	if subagent(e) == "" && id != "" {
		data["checkpoint"] = id
	}
	return &streamEvent{Type: "message.created", Data: data}
}

func deltaPart(kind, message, text string) *streamEvent {
	return &streamEvent{Type: "message.part.updated", Data: object{
		"part": object{"type": kind, "messageID": message, "text": text}, "delta": text,
	}}
}

func (h *hive) part(id string, state object) *streamEvent {
	return &streamEvent{Type: "message.part.updated", Data: object{
		"part": object{"type": "tool", "callID": id, "tool": h.names[id], "state": state},
	}}
}

// done is the last event of a tool.
func (h *hive) done(id, name string, state object) *streamEvent {
	h.names[id] = cmp.Or(name, h.names[id])
	defer delete(h.names, id)
	return h.part(id, state)
}

// parts are the blocks of a message.
func (h *hive) parts(blocks []terret.Block) []object {
	out := make([]object, 0, len(blocks))
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			out = append(out, object{"type": "text", "text": b.Text})
		case terret.BlockThinking:
			out = append(out, object{"type": "reasoning", "text": b.Text})
		case terret.BlockToolUse:
			out = append(out, object{"type": "tool", "callID": b.ToolID, "tool": b.Name, "state": object{"status": "running", "input": inputOf(b.Input)}})
		case terret.BlockToolResult:
			status := "completed"
			if b.IsError {
				status = "error"
			}
			out = append(out, object{"type": "tool", "callID": b.ToolID, "tool": h.names[b.ToolID], "state": object{"status": status, "output": plain(b.Content)}})
		case terret.BlockImage, terret.BlockDocument:
			url := b.URL
			if len(b.Bytes) > 0 {
				url = "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes)
			}
			out = append(out, object{"type": "file", "mime": b.MediaType, "url": url, "filename": b.Name})
		}
	}
	return out
}

func hiveUsage(u terret.Usage) object {
	return object{"input": u.Input, "output": u.Output, "cacheRead": u.CacheRead, "cacheCreation": u.CacheWrite}
}

// hiveAgent is Hive's name for an agent. The pair is a word of Hive's dialect: what another
// system calls an agent is not the driver's to say.
func hiveAgent(agent string) string {
	if agent == "claude" {
		return "claude-code"
	}
	return agent
}
