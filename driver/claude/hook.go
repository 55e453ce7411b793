package claude

import (
	"cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// hookCallback handles a call of one of our hooks.
func (t *translator) hookCallback(m *controlRequest) {
	r := m.Request
	var in hookInput
	decode(r.Input, &in)
	actor, parent := t.actorOf("", in.AgentID)
	name := cmp.Or(in.HookEventName, t.head.name())
	event := terret.HookEvent{Hook: name, Data: terret.JSON(r.Input)}
	a := asking{id: m.RequestID, answer: func(d terret.Decision) any { return answerHook(name, d) }}
	if s := t.speakers[actor]; s != nil && (name == "Stop" || name == "SubagentStop") {
		t.completeMessage(actor, s) // it has said everything it has to say
	}
	switch name {
	case "PreToolUse":
		tool := cmp.Or(in.ToolUseID, r.ToolUseID)
		if !t.opts.preToolHook || tool == "" {
			break
		}
		if t.cut[tool] {
			a.tool, a.ask.Gate = tool, terret.GatePreTool
			break
		}
		c := t.call(tool, in.ToolName, actor, parent)
		c.input = whole(in.ToolInput, nil)
		if c.told {
			break
		}
		c.told, c.began = true, t.now
		a.tool = c.id
		a.ask = terret.Ask{Gate: terret.GatePreTool, Event: terret.Event{Data: t.toolPre(c.id, c.name, c.input)}}
	case "PermissionRequest":
		a.ask = terret.Ask{Gate: terret.GatePermission, Event: terret.Event{Data: t.permissionRequest(canUseTool{
			ToolName: in.ToolName, Input: in.ToolInput, Suggestions: in.PermissionSuggestions,
		})}}
	case "UserPromptSubmit":
		a.ask = terret.Ask{Gate: terret.GatePrompt, Event: terret.Event{Data: event}}
	case "Stop":
		a.ask = terret.Ask{Gate: terret.GateStop, Event: terret.Event{Data: terret.StopRequest{
			LastMessage: in.LastAssistantMessage, Again: in.StopHookActive, Background: len(in.BackgroundTasks) > 0,
		}}}
	case "SubagentStop":
		a.ask = terret.Ask{Gate: terret.GateSubagentStop, Event: terret.Event{Data: event}}
	case "PreCompact":
		a.ask = terret.Ask{Gate: terret.GateCompact, Event: terret.Event{Data: event}}
	}
	if a.ask.Gate != "" {
		t.put(a, actor, parent, name)
		return
	}
	t.emitBy(actor, parent, "", event)
	t.events[len(t.events)-1].Source = name
	t.others = append(t.others, reply{successLine(m.RequestID, struct{}{})})
}

// hookOutput is the answer to a hook. Without any field it means no opinion.
type hookOutput struct {
	Decision string        `json:"decision,omitempty"` // block
	Reason   string        `json:"reason,omitempty"`
	Specific *hookSpecific `json:"hookSpecificOutput,omitempty"`
	// Continue, if false, ends the turn.
	Continue   *bool  `json:"continue,omitempty"`
	StopReason string `json:"stopReason,omitempty"`
	// SystemMessage is for people.
	SystemMessage string `json:"systemMessage,omitempty"`
}

type hookSpecific struct {
	HookEventName            string            `json:"hookEventName"`
	PermissionDecision       string            `json:"permissionDecision,omitempty"` // allow, deny, ask
	PermissionDecisionReason string            `json:"permissionDecisionReason,omitempty"`
	UpdatedInput             terret.JSON       `json:"updatedInput,omitempty"`
	Decision                 *permissionAnswer `json:"decision,omitempty"`
}

// encodeHook is what a hook prints; nothing if it has no opinion.
func encodeHook(out hookOutput) []byte {
	if out == (hookOutput{}) {
		return nil
	}
	return seat.Encode(out)
}

// answerHook is the answer of a hook with that name for a decision.
func answerHook(name string, d terret.Decision) hookOutput {
	why := reasonOf(d, "denied")
	switch name {
	case "PreToolUse":
		s := &hookSpecific{HookEventName: name}
		switch d.Behavior {
		case terret.BehaviorAllow:
			s.PermissionDecision, s.PermissionDecisionReason, s.UpdatedInput = "allow", d.Reason, d.UpdatedInput
		case terret.BehaviorDeny, terret.BehaviorBlock:
			s.PermissionDecision, s.PermissionDecisionReason = "deny", why
		case terret.BehaviorAsk:
			s.PermissionDecision, s.PermissionDecisionReason = "ask", d.Reason
		default:
			return hookOutput{}
		}
		out := hookOutput{Specific: s}
		if d.Interrupt {
			out.Continue, out.StopReason = new(bool), why
		}
		return out
	case "PermissionRequest":
		p := &permissionAnswer{Behavior: "deny", Message: why, Interrupt: d.Interrupt}
		switch d.Behavior {
		case terret.BehaviorAllow:
			p = &permissionAnswer{Behavior: "allow", UpdatedInput: d.UpdatedInput}
		case terret.BehaviorAsk, terret.BehaviorPassthrough:
			return hookOutput{}
		default: // denied
		}
		return hookOutput{Specific: &hookSpecific{HookEventName: name, Decision: p}}
	}
	if d.Behavior != terret.BehaviorBlock {
		return hookOutput{}
	}
	out := hookOutput{Decision: "block", Reason: reasonOf(d, "blocked")}
	if name == "PreCompact" {
		out.SystemMessage = out.Reason // the agent does not show the reason
	}
	return out
}
