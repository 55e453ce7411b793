package terret

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Behavior is what was decided.
type Behavior string

// The behaviors.
const (
	BehaviorAllow       Behavior = "allow"
	BehaviorDeny        Behavior = "deny"
	BehaviorAnswer      Behavior = "answer" // questions
	BehaviorReject      Behavior = "reject" // questions: refuse to answer
	BehaviorApprove     Behavior = "approve"
	BehaviorRevise      Behavior = "revise"      // plans: think again
	BehaviorBlock       Behavior = "block"       // hooks: do not continue like this
	BehaviorAsk         Behavior = "ask"         // leave it to the next decider
	BehaviorPassthrough Behavior = "passthrough" // no opinion
)

// DecisionSource says who decided.
type DecisionSource string

// The sources of a decision.
const (
	ByRule      DecisionSource = "rule"
	ByPolicy    DecisionSource = "policy"
	ByUser      DecisionSource = "user"
	ByTimeout   DecisionSource = "timeout"
	ByChannel   DecisionSource = "channel"
	ByAgentExit DecisionSource = "agent_exit"
	ByInterrupt DecisionSource = "interrupt"
)

// Scope says how far a decision reaches. Only that of a permission can reach further than
// once.
type Scope string

// The scopes.
const (
	ScopeOnce    Scope = "once"
	ScopeSession Scope = "session"
	ScopeAlways  Scope = "always"
)

// Decision is the answer to a request.
type Decision struct {
	RequestID string         `json:"request_id"`
	Gate      Gate           `json:"gate"`
	Behavior  Behavior       `json:"behavior"`
	Scope     Scope          `json:"scope,omitempty"`
	Source    DecisionSource `json:"source"`
	By        string         `json:"by,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Rule      string         `json:"rule,omitempty"`
	// InputHash is the hash of the input that the decider saw.
	InputHash string `json:"input_hash,omitempty"`
	// UpdatedInput replaces the tool's input; the deny rules are checked again.
	UpdatedInput JSON `json:"updated_input,omitempty"`
	// Answers holds what was chosen or written, by question id.
	Answers  map[string]Choice `json:"answers,omitempty"`
	NextMode string            `json:"next_mode,omitempty"` // plans: the permission mode to continue in
	// Interrupt stops the turn as well.
	Interrupt bool `json:"interrupt,omitempty"`
}

// Data returns the event data that records the decision.
func (d Decision) Data() Data {
	switch d.Gate {
	case GatePermission:
		return PermissionDecision{d}
	case GateQuestion:
		return QuestionDecision{d}
	case GatePlan:
		return PlanDecision{d}
	case GateStop:
		return StopDecision{d}
	case GatePreTool, GatePrompt, GateSubagentStop, GateCompact, GateTrust:
		return HookDecision{d}
	}
	return HookDecision{d}
}

// DecisionOf returns the decision that an event records, if any.
func DecisionOf(data Data) (d Decision, ok bool) {
	switch data := data.(type) {
	case PermissionDecision:
		return data.Decision, true
	case QuestionDecision:
		return data.Decision, true
	case PlanDecision:
		return data.Decision, true
	case StopDecision:
		return data.Decision, true
	case HookDecision:
		return data.Decision, true
	}
	return Decision{}, false
}

// Refusal is the safe answer at a gate: the decision when nobody can be asked, nobody
// answers in time, or the agent no longer waits.
func (g Gate) Refusal() Behavior {
	switch g {
	case GatePermission, GateTrust:
		return BehaviorDeny
	case GateQuestion:
		return BehaviorReject
	case GatePlan:
		return BehaviorRevise
	case GatePreTool:
		return BehaviorAsk
	case GatePrompt, GateStop, GateSubagentStop, GateCompact:
		return BehaviorPassthrough
	}
	return BehaviorDeny
}

// gateBehaviors lists the valid decisions at each gate.
var gateBehaviors = map[Gate][]Behavior{
	GatePermission:   {BehaviorAllow, BehaviorDeny},
	GateTrust:        {BehaviorAllow, BehaviorDeny},
	GateQuestion:     {BehaviorAnswer, BehaviorReject},
	GatePlan:         {BehaviorApprove, BehaviorRevise},
	GatePreTool:      {BehaviorAllow, BehaviorDeny, BehaviorAsk, BehaviorPassthrough, BehaviorBlock},
	GatePrompt:       {BehaviorAllow, BehaviorPassthrough, BehaviorBlock},
	GateStop:         {BehaviorAllow, BehaviorPassthrough, BehaviorBlock},
	GateSubagentStop: {BehaviorAllow, BehaviorPassthrough, BehaviorBlock},
	GateCompact:      {BehaviorAllow, BehaviorPassthrough, BehaviorBlock},
}

// Validate checks that the decision makes sense at its gate. The error names the field.
func (d Decision) Validate() error {
	allowed, ok := gateBehaviors[d.Gate]
	if !ok {
		return Invalid("gate", "there is no gate %q", d.Gate)
	}
	found := false
	for _, b := range allowed {
		found = found || b == d.Behavior
	}
	if !found {
		return Invalid("behavior", "%q is not an answer at the %s gate; use %s", d.Behavior, d.Gate, oneOf(allowed))
	}
	switch d.Scope {
	case "", ScopeOnce, ScopeSession, ScopeAlways:
	default:
		return Invalid("scope", "%q is not a scope; use once, session or always", d.Scope)
	}
	if len(d.UpdatedInput) > 0 {
		if d.Behavior != BehaviorAllow || d.Gate != GatePermission && d.Gate != GatePreTool {
			return Invalid("updated_input", "only an allowed tool can get another input")
		}
		if !json.Valid(d.UpdatedInput) {
			return Invalid("updated_input", "not valid JSON")
		}
		if !bytes.HasPrefix(bytes.TrimSpace(d.UpdatedInput), []byte("{")) {
			return Invalid("updated_input", "must be a JSON object")
		}
	}
	if d.Behavior == BehaviorAnswer && len(d.Answers) == 0 {
		return Invalid("answers", "an answer needs at least one entry")
	}
	return nil
}

// Choice is the answer to one question: one or several labels, or free text. In JSON
// one choice is a string, several are a list.
type Choice []string

// MarshalJSON implements json.Marshaler.
func (c Choice) MarshalJSON() ([]byte, error) {
	if len(c) == 1 {
		return marshal(c[0])
	}
	if c == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]string(c))
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Choice) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(b, &one) == nil {
		*c = Choice{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return fmt.Errorf("an answer must be a string or a list of strings")
	}
	*c = many
	return nil
}
