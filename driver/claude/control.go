package claude

import (
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// control is a message of the agent that is not an event.
type control interface{ isControl() }

type (
	// asking is a request that needs a decision: pass its ask to the host, and write
	// the answer.
	asking struct {
		id string
		// ask is what to pass to the host. Its key is the id of the request.
		ask terret.Ask
		// answer is the body of the answer.
		answer func(terret.Decision) any
		// tool is the tool call it is about, if any.
		tool string
	}
	// reply is a line that answers the agent at once.
	reply struct{ line []byte }
	// mcpCall is a message to an MCP server in our process.
	mcpCall struct {
		id, server string
		message    json.RawMessage
	}
	// withdrawn says that the agent no longer wants an answer to a request.
	withdrawn struct{ id string }
	// answered is the answer to a request of ours.
	answered struct {
		id   string
		body json.RawMessage
		err  string // empty on success
	}
	// stateChange reports what the agent is doing: running, requires_action, idle.
	stateChange struct{ state string }
)

func (asking) isControl()      {}
func (reply) isControl()       {}
func (mcpCall) isControl()     {}
func (withdrawn) isControl()   {}
func (answered) isControl()    {}
func (stateChange) isControl() {}

// line is the answer to the request, given the decision.
func (a asking) line(d terret.Decision) []byte { return successLine(a.id, a.answer(d)) }

// refuse is the answer to a request that nobody can decide.
func (a asking) refuse(why string) []byte {
	return a.line(terret.Decision{Gate: a.ask.Gate, Behavior: a.ask.Gate.Refusal(), Reason: why})
}

// tooLate is the answer to a request about a tool call that ended with its turn: the call
// must not run any more.
func (a asking) tooLate() []byte {
	return a.line(terret.Decision{Gate: a.ask.Gate, Behavior: terret.BehaviorDeny, Reason: "the turn is over"})
}

// decided records that a request was answered, and how.
func (t *translator) decided(id string, d terret.Decision) {
	tool, ok := t.asked[id]
	delete(t.asked, id)
	if c := t.tools[tool]; ok && c != nil {
		switch d.Behavior {
		case terret.BehaviorDeny, terret.BehaviorReject, terret.BehaviorRevise, terret.BehaviorBlock:
			c.denied = true
		default: // it runs, or somebody else decides
		}
	}
}

// response handles the answer to a request of ours.
func (t *translator) response(m *controlResponse) {
	r := m.Response
	out := answered{id: r.RequestID, body: r.Response}
	if r.Subtype != "success" {
		out.err = r.Error
		if out.err == "" {
			out.err = "the agent refused and did not say why"
		}
	}
	t.others = append(t.others, out)
}

// withdraw handles a request that no longer needs an answer.
func (t *translator) withdraw() {
	delete(t.asked, t.head.RequestID)
	t.others = append(t.others, withdrawn{id: t.head.RequestID})
}

// request handles a request of the agent.
func (t *translator) request(m *controlRequest) {
	r := m.Request
	t.head.Subtype = r.Subtype
	switch r.Subtype {
	case "can_use_tool":
		t.canUseTool(m.RequestID, r.canUseTool)
	case "hook_callback":
		t.hookCallback(m)
	case "elicitation":
		t.elicitation(m)
	case "mcp_message":
		t.others = append(t.others, mcpCall{id: m.RequestID, server: r.ServerName, message: r.Message})
	case "request_user_dialog":
		t.unknown()
		t.others = append(t.others, reply{successLine(m.RequestID, map[string]string{"behavior": "cancelled"})})
	default:
		t.unknown()
		t.others = append(t.others, reply{errorLine(m.RequestID, "unsupported control request: "+r.Subtype)})
	}
}

// put hands out a request for a decision.
func (t *translator) put(a asking, actor, parent, source string) {
	if t.cut[a.tool] {
		t.others = append(t.others, reply{a.tooLate()})
		return
	}
	a.ask.Key = a.id
	a.ask.Event.Actor, a.ask.Event.ParentTool, a.ask.Event.Source = actor, parent, source
	if t.opts.keepRaw {
		a.ask.Event.Raw = slices.Clone(t.line)
	}
	if c := t.tools[a.tool]; c != nil {
		t.asked[a.id], c.asked = a.tool, true
	}
	if a.ask.Event.Kind().InTurn() {
		t.turn.open = true
		t.turn.root = t.turn.root || actor == ""
	}
	t.others = append(t.others, a)
}

func (t *translator) canUseTool(id string, r canUseTool) {
	actor, parent := t.actorOf("", r.AgentID)
	if r.ToolUseID != "" && !t.finished[r.ToolUseID] && !t.cut[r.ToolUseID] { // it may come before the message with the call
		c := t.call(r.ToolUseID, r.ToolName, actor, parent)
		if len(c.input) == 0 {
			c.input = whole(r.Input, nil)
		}
		t.tell(c)
	}
	a := asking{id: id, tool: r.ToolUseID}
	switch r.ToolName {
	case "AskUserQuestion":
		a.ask.Gate = terret.GateQuestion
		a.ask.Event.Data = questionRequest(r)
		a.answer = func(d terret.Decision) any { return answerQuestions(r, d) }
	case "ExitPlanMode":
		f := decodeInput(terret.JSON(r.Input))
		a.ask.Gate = terret.GatePlan
		a.ask.Event.Data = terret.PlanRequest{ToolID: r.ToolUseID, Plan: f.Plan, File: f.PlanFilePath}
		a.answer = func(d terret.Decision) any { return answerPlan(r, d) }
	default:
		a.ask.Gate = terret.GatePermission
		a.ask.Event.Data = t.permissionRequest(r)
		a.answer = func(d terret.Decision) any { return answerPermission(r, d) }
	}
	t.put(a, actor, parent, t.head.name())
}

// permissionRequest is the request as people see it.
func (t *translator) permissionRequest(r canUseTool) terret.PermissionRequest {
	input := whole(r.Input, nil)
	f := decodeInput(input)
	title := brief.Line(r.Title)
	if title == "" {
		title = f.title(r.ToolName, t.session.cwd)
	}
	return terret.PermissionRequest{
		ToolID: r.ToolUseID, Tool: r.ToolName, Class: classOf(r.ToolName), Input: input, InputHash: terret.InputHash(input),
		Title: title, Reason: r.DecisionReason, Suggestions: ruleNames(r.Suggestions), Diff: f.diff(r.ToolName, t.session.cwd, t.opts.read),
	}
}

// ruleNames lists the rules that an agent suggests, as people write them.
func ruleNames(updates []permissionUpdate) []string {
	var out []string
	for _, u := range allowRules(updates) {
		for _, r := range u.Rules {
			name := r.ToolName
			if r.RuleContent != "" {
				name += "(" + r.RuleContent + ")"
			}
			out = append(out, name)
		}
	}
	return out
}

// allowRules keeps the updates that only add allow rules.
func allowRules(updates []permissionUpdate) []permissionUpdate {
	var out []permissionUpdate
	for _, u := range updates {
		if u.Type == "addRules" && u.Behavior == "allow" && len(u.Rules) > 0 {
			out = append(out, u)
		}
	}
	return out
}
