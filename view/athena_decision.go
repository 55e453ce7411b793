package view

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"github.com/terret-dev/terret"
)

// RuntimeDecision is a decision in Athena's form.
type RuntimeDecision struct {
	// Type is passthrough (no opinion), block, or json: then Intent says what.
	Type   string         `json:"type"`
	Source string         `json:"source"` // user, timeout, rule
	Intent *RuntimeIntent `json:"intent,omitempty"`
	Reason string         `json:"reason,omitempty"` // with block
}

// RuntimeIntent is what was decided.
type RuntimeIntent struct {
	// Kind is permission_allow, permission_deny, pre_tool_allow, pre_tool_deny,
	// question_answer or stop_block.
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"`
	// Answers holds what was chosen or written, by question text or id.
	Answers map[string]terret.Choice `json:"answers,omitempty"`
}

// intents says what an intent means at the gates where it has a meaning. Questions and
// plans reach Athena as permission requests.
var intents = map[string]map[terret.Gate]terret.Behavior{
	"permission_allow": {
		terret.GatePermission: terret.BehaviorAllow, terret.GateTrust: terret.BehaviorAllow, terret.GatePlan: terret.BehaviorApprove,
	},
	"permission_deny": {
		terret.GatePermission: terret.BehaviorDeny, terret.GateTrust: terret.BehaviorDeny,
		terret.GatePlan: terret.BehaviorRevise, terret.GateQuestion: terret.BehaviorReject,
	},
	"pre_tool_allow":  {terret.GatePreTool: terret.BehaviorAllow},
	"pre_tool_deny":   {terret.GatePreTool: terret.BehaviorDeny},
	"question_answer": {terret.GateQuestion: terret.BehaviorAnswer},
	"stop_block":      {terret.GateStop: terret.BehaviorBlock, terret.GateSubagentStop: terret.BehaviorBlock},
}

// ToAthena converts a decision to Athena's form. What Athena has no words for, such as
// the scope, is omitted.
func ToAthena(d terret.Decision) RuntimeDecision {
	out := RuntimeDecision{Type: "passthrough", Source: athenaSource(d.Source)}
	switch d.Behavior {
	case terret.BehaviorAllow, terret.BehaviorApprove, terret.BehaviorDeny, terret.BehaviorRevise, terret.BehaviorAnswer:
		for _, kind := range []string{"permission_allow", "permission_deny", "pre_tool_allow", "pre_tool_deny", "question_answer"} {
			if intents[kind][d.Gate] == d.Behavior {
				out.Type, out.Intent = "json", &RuntimeIntent{Kind: kind, Reason: d.Reason, Answers: d.Answers}
			}
		}
		if out.Intent != nil && strings.HasSuffix(out.Intent.Kind, "_deny") {
			out.Intent.Reason = cmp.Or(d.Reason, "denied")
		}
	case terret.BehaviorBlock, terret.BehaviorReject:
		out.Type, out.Reason = "block", d.Reason
	case terret.BehaviorAsk, terret.BehaviorPassthrough:
	}
	return out
}

// athenaSource is who decided. Athena knows three sources; to it, any end of the wait
// without an answer is a timeout.
func athenaSource(s terret.DecisionSource) string {
	switch s {
	case terret.ByRule, terret.ByPolicy:
		return "rule"
	case terret.ByTimeout, terret.ByAgentExit, terret.ByInterrupt:
		return "timeout"
	case terret.ByUser, terret.ByChannel:
	}
	return "user"
}

// FromAthena reads the decision of a request from a RuntimeDecision, alone or as the
// message {type: "decision", requestId, decision}. It fails if the decision makes no
// sense at the request's gate: no opinion, for instance, does not answer a permission
// request. The source is what the caller claims.
func FromAthena(q terret.Request, body []byte) (terret.Decision, error) {
	var in struct {
		RuntimeDecision
		RequestID string           `json:"requestId"`
		Decision  *RuntimeDecision `json:"decision"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return terret.Decision{}, terret.Invalid("decision", "not a RuntimeDecision: %w", err)
	}
	r := in.RuntimeDecision
	if in.Type == "decision" && in.Decision != nil {
		r = *in.Decision
	}
	if in.RequestID != "" && in.RequestID != q.RequestID {
		return terret.Decision{}, terret.Invalid("requestId", "the decision is for %s, not for %s", in.RequestID, q.RequestID)
	}
	out := terret.Decision{RequestID: q.RequestID, Gate: q.Gate, Source: terret.ByUser, Reason: r.Reason}
	switch r.Source {
	case "rule":
		out.Source = terret.ByRule
	case "timeout":
		out.Source = terret.ByTimeout
	case "user", "":
	default:
		return terret.Decision{}, terret.Invalid("source", "%q is not a source; use user, timeout or rule", r.Source)
	}
	err := r.decide(q, &out)
	if err == nil {
		err = out.Validate()
	}
	if err != nil {
		return terret.Decision{}, err
	}
	return out, nil
}

// decide fills in what was decided.
func (r RuntimeDecision) decide(q terret.Request, out *terret.Decision) error {
	switch r.Type {
	case "passthrough":
		out.Behavior = terret.BehaviorPassthrough
	case "block":
		out.Behavior = terret.BehaviorBlock
		for _, kind := range []string{"permission_deny", "stop_block"} {
			if b, ok := intents[kind][q.Gate]; ok {
				out.Behavior = b
			}
		}
	case "json":
		if r.Intent == nil {
			return terret.Invalid("intent", "a json decision needs one")
		}
		b, ok := intents[r.Intent.Kind][q.Gate]
		if !ok {
			return terret.Invalid("intent.kind", "%q is not an answer at the %s gate", r.Intent.Kind, q.Gate)
		}
		out.Behavior = b
		if r.Intent.Reason != "" {
			out.Reason = r.Intent.Reason
		}
		if b == terret.BehaviorAnswer {
			out.Answers = answersByID(q, r.Intent.Answers)
		}
	default:
		return terret.Invalid("type", "%q is not a type of decision; use passthrough, block or json", r.Type)
	}
	return nil
}

// answersByID converts answers by question text to answers by question id.
func answersByID(q terret.Request, answers map[string]terret.Choice) map[string]terret.Choice {
	out := maps.Clone(answers)
	for _, question := range questionsOf(q) {
		if choice, ok := answers[question.Text]; ok && question.Text != question.ID {
			delete(out, question.Text)
			out[question.ID] = choice
		}
	}
	return out
}

// questionsOf are the questions in a request.
func questionsOf(q terret.Request) []terret.Question {
	data, err := terret.DecodeData("question.request", q.Data)
	if err != nil {
		return nil
	}
	asked, _ := data.(terret.QuestionRequest)
	return asked.Questions
}
