package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// approval is a request for permission. Each method sets what it has.
type approval struct {
	ItemID    string          `json:"itemId"`
	CallID    string          `json:"callId"`
	ThreadID  string          `json:"threadId"`
	Command   string          `json:"command"`
	Cwd       string          `json:"cwd"`
	Reason    string          `json:"reason"`
	GrantRoot string          `json:"grantRoot"`
	Network   json.RawMessage `json:"networkApprovalContext"`
	More      json.RawMessage `json:"additionalPermissions"`
	Questions []struct {
		ID       string          `json:"id"`
		Header   string          `json:"header"`
		Question string          `json:"question"`
		Options  []terret.Option `json:"options"`
	} `json:"questions"`
	// Of MCP servers.
	ServerName string          `json:"serverName"`
	Mode       string          `json:"mode"`
	Message    string          `json:"message"`
	Schema     json.RawMessage `json:"requestedSchema"`
	URL        string          `json:"url"`
}

// answer answers a request of Codex. It blocks for as long as the decision takes. What is
// not known is refused at once: the turn would wait for it.
func (p *process) answer(ctx context.Context, m rpc.Message) (any, error) {
	var r approval
	seat.Decode(m.Params, &r)
	switch m.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return p.approve(ctx, m, r)
	case "item/tool/requestUserInput":
		return p.questions(ctx, m, r)
	case "mcpServer/elicitation/request":
		return p.elicitation(ctx, m, r)
	default:
		p.say(m.Method, m.Raw, func(t *translator) { t.emit(terret.Unknown{NativeType: m.Method}) })
		return nil, rpc.MethodNotFound(m.Method)
	}
}

// approve decides about a command or a patch. What was allowed at the hook is approved,
// unless more is asked for than was known there.
func (p *process) approve(ctx context.Context, m rpc.Message, r approval) (any, error) {
	var c *toolCall
	var known bool
	p.say(m.Method, nil, func(t *translator) {
		if r.ThreadID != "" && r.ThreadID != t.thread {
			t.actor = terret.SubActor(r.ThreadID)
		}
		more := r.Reason != "" || r.GrantRoot != "" || isSet(r.Network) || isSet(r.More) || r.Cwd != "" && r.Cwd != t.cwd
		c = t.tools[r.ItemID]
		if known = c != nil && c.allowed && !more; known || c != nil && !c.allowed {
			return
		}
		it := item{Type: "commandExecution", ID: r.ItemID, Command: r.Command, Cwd: r.Cwd}
		if made := callOf(it, t.cwd); c == nil {
			c = t.call(*made)
		} else if r.Command != "" { // asked for more
			c = &toolCall{id: c.id, name: c.name, class: c.class, input: made.input, actor: c.actor, paths: c.paths, diff: c.diff}
		}
	})
	if p.asksToLeave() {
		return p.leaveSandbox(ctx, m, r, c)
	}
	if known {
		return object{"decision": "accept"}, nil
	}
	d, err := p.askIn(ctx, terret.Ask{
		Key: terret.NewID(terret.PrefixControl), Gate: terret.GatePermission,
		Event: terret.Event{Actor: c.actor, Source: m.Method, Data: c.request(r.Reason)},
	})
	if err != nil {
		return object{"decision": "decline"}, nil //nolint:nilerr // nobody decided
	}
	if d.Behavior != terret.BehaviorAllow {
		p.say(m.Method, nil, func(t *translator) {
			if known := t.tools[r.ItemID]; known != nil {
				known.denied = cmp.Or(d.Reason, "denied")
			}
		})
	}
	return object{"decision": decisionWord(d)}, nil
}

// leaveSandbox asks a person whether a tool may run outside the sandbox. It is a question,
// so no rule and no policy answers it: the session was given a sandbox on purpose.
func (p *process) leaveSandbox(ctx context.Context, m rpc.Message, r approval, c *toolCall) (any, error) {
	const id, yes, no = "leave_sandbox", "Run it outside", "Keep the sandbox"
	text := "Codex asks to run this outside its sandbox (" + p.launch.sandbox + "): " + cmp.Or(r.Command, c.pre().Title)
	if r.Reason != "" {
		text += "\nIts reason: " + r.Reason
	}
	d, err := p.askIn(ctx, terret.Ask{
		Key: terret.NewID(terret.PrefixControl), Gate: terret.GateQuestion,
		Event: terret.Event{Actor: c.actor, Source: m.Method, Data: terret.QuestionRequest{ToolID: c.id, Questions: []terret.Question{{
			ID: id, Header: "Sandbox", Text: text, Options: []terret.Option{{Label: no}, {Label: yes}},
		}}}},
	})
	if err == nil && d.Behavior == terret.BehaviorAnswer && slices.Equal([]string(d.Answers[id]), []string{yes}) {
		return object{"decision": "accept"}, nil
	}
	p.say(m.Method, nil, func(t *translator) {
		if known := t.tools[r.ItemID]; known != nil {
			known.denied = "nobody allowed it to leave the sandbox"
		}
	})
	return object{"decision": "decline"}, nil
}

// decisionWord is a decision in Codex's words. One that stays is Terret's to keep: what Codex
// remembers it does not ask about again, whatever the rules say by then.
func decisionWord(d terret.Decision) string {
	switch {
	case d.Behavior == terret.BehaviorAllow:
		return "accept"
	case d.Interrupt:
		return "cancel"
	}
	return "decline"
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// questions puts Codex's questions to people.
func (p *process) questions(ctx context.Context, m rpc.Message, r approval) (any, error) {
	q := terret.QuestionRequest{ToolID: r.ItemID}
	for _, each := range r.Questions {
		q.Questions = append(q.Questions, terret.Question{ID: each.ID, Header: each.Header, Text: each.Question, Options: each.Options})
	}
	d, err := p.askIn(ctx, terret.Ask{
		Key: terret.NewID(terret.PrefixControl), Gate: terret.GateQuestion, Event: terret.Event{Source: m.Method, Data: q},
	})
	if err != nil {
		return nil, err
	}
	answers := map[string]object{}
	for _, each := range q.Questions {
		chosen := []string(d.Answers[each.ID])
		if d.Behavior != terret.BehaviorAnswer {
			chosen = []string{cmp.Or(d.Reason, "The question was not answered.")}
		}
		answers[each.ID] = object{"answers": append([]string{}, chosen...)}
	}
	return object{"answers": answers}, nil
}

// elicitation puts a question of an MCP server to people.
func (p *process) elicitation(ctx context.Context, m rpc.Message, r approval) (any, error) {
	form, err := elicit.Parse(r.Schema, elicit.Options{From: r.ServerName})
	if err != nil {
		return elicit.Result{Action: elicit.Declined}, nil //nolint:nilerr // nobody could answer it
	}
	q := terret.QuestionRequest{Questions: form.Questions(r.Message), URL: r.URL}
	if isSet(r.Schema) {
		q.Schema = terret.JSON(r.Schema)
	}
	d, err := p.askIn(ctx, terret.Ask{
		Key: terret.NewID(terret.PrefixControl), Gate: terret.GateQuestion, Event: terret.Event{Source: m.Method, Data: q},
	})
	if err != nil {
		return elicit.Result{Action: elicit.Declined}, err
	}
	return form.Result(d)
}

// askIn is ask for a request that Codex may withdraw, and notes that it was answered.
func (p *process) askIn(ctx context.Context, q terret.Ask) (terret.Decision, error) {
	d, err := p.host().Ask(ctx, q)
	if err == nil {
		_ = p.host().Delivered(ctx, d.RequestID) // for the record only
	}
	return d, err
}
