package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// HiveCapabilities says what an agent itself can do, in Hive's terms.
type HiveCapabilities struct {
	SupportsUndo               bool `json:"supportsUndo"`
	SupportsRedo               bool `json:"supportsRedo"`
	SupportsCommands           bool `json:"supportsCommands"`
	SupportsPermissionRequests bool `json:"supportsPermissionRequests"`
	SupportsQuestionPrompts    bool `json:"supportsQuestionPrompts"`
	SupportsModelSelection     bool `json:"supportsModelSelection"`
	SupportsReconnect          bool `json:"supportsReconnect"`
	SupportsPartialStreaming   bool `json:"supportsPartialStreaming"`
}

// What Hive's document says about its two agents.
var (
	OpenCodeCapabilities = HiveCapabilities{
		SupportsUndo: true, SupportsRedo: true, SupportsCommands: true, SupportsPermissionRequests: true,
		SupportsQuestionPrompts: true, SupportsModelSelection: true, SupportsReconnect: true, SupportsPartialStreaming: true,
	}
	ClaudeCodeCapabilities = HiveCapabilities{
		SupportsUndo: true, SupportsRedo: false, SupportsCommands: true, SupportsPermissionRequests: true,
		SupportsQuestionPrompts: true, SupportsModelSelection: true, SupportsReconnect: true, SupportsPartialStreaming: true,
	}
)

// HiveCapabilitiesOf is what an agent itself can do, without what the harness does for
// it.
func HiveCapabilitiesOf(c terret.Capabilities) HiveCapabilities {
	own := func(name terret.Capability) bool { a := c.Abilities[name]; return a.OK && a.By == terret.ByAgent }
	return HiveCapabilities{
		SupportsUndo: own(terret.CanUndo), SupportsRedo: own(terret.CanRedo), SupportsCommands: own(terret.CanCommands),
		SupportsPermissionRequests: own(terret.CanPermissions), SupportsQuestionPrompts: own(terret.CanQuestions),
		SupportsModelSelection: own(terret.CanSelectModel), SupportsReconnect: own(terret.CanReconnect),
		SupportsPartialStreaming: own(terret.CanStream),
	}
}

// HiveAgents is what each agent itself can do, by Hive's names for them.
func HiveAgents(probes []terret.Probe) map[string]HiveCapabilities {
	out := map[string]HiveCapabilities{}
	for _, p := range probes {
		out[hiveAgent(p.Agent)] = HiveCapabilitiesOf(p.Capabilities)
	}
	return out
}

// HiveProvider is a provider of models and its models, by id.
type HiveProvider struct {
	ID     string               `json:"id"`
	Models map[string]HiveModel `json:"models"`
}

// HiveModel is what Hive knows about a model.
type HiveModel struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Limit struct {
		Context int64 `json:"context,omitempty"`
		Output  int64 `json:"output,omitempty"`
	} `json:"limit"`
}

// HiveModels groups an agent's models by provider. A model whose id names none is the
// agent's own.
func HiveModels(agent string, models []terret.Model) []HiveProvider {
	out := []HiveProvider{}
	for _, m := range models {
		provider, id, ok := strings.Cut(m.ID, "/")
		if !ok {
			provider, id = hiveAgent(agent), m.ID
		}
		at := slices.IndexFunc(out, func(p HiveProvider) bool { return p.ID == provider })
		if at < 0 {
			at = len(out)
			out = append(out, HiveProvider{ID: provider, Models: map[string]HiveModel{}})
		}
		h := HiveModel{ID: id, Name: cmp.Or(m.Name, id)}
		h.Limit.Context, h.Limit.Output = m.Context, m.MaxOutput
		out[at].Models[id] = h
	}
	return out
}

// hiveReply is Hive's word for a permission decision.
func hiveReply(d terret.Decision) string {
	switch {
	case d.Behavior != terret.BehaviorAllow:
		return "reject"
	case d.Scope == terret.ScopeAlways || d.Scope == terret.ScopeSession:
		return "always"
	}
	return "once"
}

// FromHive reads the decision of a request from one of Hive's replies:
//
//	permission   {"reply": "once"|"always"|"reject", "message"?}
//	question     {"answers": [["label", ...], ...]} in the order of the questions, or {"rejected": true}
//	plan         {"approved": true|false, "feedback"?}
func FromHive(q terret.Request, body []byte) (terret.Decision, error) {
	var in struct {
		Reply    string          `json:"reply"`
		Message  string          `json:"message"`
		Answers  []terret.Choice `json:"answers"`
		Rejected bool            `json:"rejected"`
		Approved *bool           `json:"approved"`
		Feedback string          `json:"feedback"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return terret.Decision{}, terret.Invalid("reply", "not a reply to a request: %w", err)
	}
	out := terret.Decision{RequestID: q.RequestID, Gate: q.Gate, Source: terret.ByUser}
	var err error
	switch q.Gate {
	case terret.GatePermission, terret.GateTrust:
		out.Reason = in.Message
		out.Behavior, out.Scope, err = permitted(in.Reply)
		if q.Gate == terret.GateTrust { // who is trusted stays so
			out.Scope = terret.ScopeOnce
		}
	case terret.GateQuestion:
		out.Behavior, out.Reason = terret.BehaviorReject, in.Message
		if !in.Rejected {
			out.Behavior = terret.BehaviorAnswer
			out.Answers, err = answersInOrder(q, in.Answers)
		}
	case terret.GatePlan:
		out.Reason = in.Feedback
		switch {
		case in.Approved == nil:
			err = terret.Invalid("approved", "must be true or false")
		case *in.Approved:
			out.Behavior = terret.BehaviorApprove
		default:
			out.Behavior = terret.BehaviorRevise
		}
	default:
		err = terret.Invalid("gate", "Hive has no reply at the %s gate", q.Gate)
	}
	if err == nil {
		err = out.Validate()
	}
	if err != nil {
		return terret.Decision{}, err
	}
	return out, nil
}

// HiveMessages lists the messages of a session as Hive's getMessages does.
func HiveMessages(messages []terret.Message) []any {
	h, out := &hive{names: map[string]string{}}, []any{}
	for _, m := range messages {
		if m.Role == terret.RoleTool {
			continue // its results are in no message of Hive's
		}
		out = append(out, object{
			"id": m.MessageID, "role": m.Role, "parts": h.parts(m.Blocks),
			"info": object{"id": m.MessageID, "role": m.Role, "time": object{"created": m.Time}},
		})
	}
	return out
}

// HiveRequests are open requests as the events that announced them. A gate that Hive
// does not know is left out.
func HiveRequests(requests []terret.Request) []json.RawMessage {
	out := []json.RawMessage{}
	for _, q := range requests {
		kind, ok := map[terret.Gate]terret.Kind{
			terret.GatePermission: terret.KindPermissionRequest, terret.GateQuestion: terret.KindQuestionRequest, terret.GatePlan: terret.KindPlanRequest,
		}[q.Gate]
		data, err := terret.DecodeData(kind, q.Data)
		if !ok || err != nil {
			continue
		}
		h := newHive(Options{Session: terret.Session{ID: q.Session}})
		for _, m := range h.Event(terret.Event{Session: q.Session, Data: data}) {
			out = append(out, m.Data)
		}
	}
	return out
}

func permitted(reply string) (terret.Behavior, terret.Scope, error) {
	switch reply {
	case "once":
		return terret.BehaviorAllow, terret.ScopeOnce, nil
	case "always":
		return terret.BehaviorAllow, terret.ScopeAlways, nil
	case "reject":
		return terret.BehaviorDeny, terret.ScopeOnce, nil
	}
	return "", "", terret.Invalid("reply", "%q is not a reply; use once, always or reject", reply)
}

// answersInOrder assigns answers to questions by position. A question without one stays
// unanswered.
func answersInOrder(q terret.Request, answers []terret.Choice) (map[string]terret.Choice, error) {
	asked := questionsOf(q)
	if len(answers) > len(asked) {
		return nil, terret.Invalid("answers", "there are %d answers for %d questions", len(answers), len(asked))
	}
	out := map[string]terret.Choice{}
	for i, choice := range answers {
		if len(choice) > 0 {
			out[asked[i].ID] = choice
		}
	}
	return out, nil
}
