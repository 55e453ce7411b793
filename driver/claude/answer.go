package claude

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// permissionAnswer is the answer to can_use_tool.
type permissionAnswer struct {
	Behavior           string             `json:"behavior"` // allow, deny
	UpdatedInput       terret.JSON        `json:"updatedInput,omitempty"`
	UpdatedPermissions []permissionUpdate `json:"updatedPermissions,omitempty"`
	Message            string             `json:"message,omitempty"`
	Interrupt          bool               `json:"interrupt,omitempty"`
}

// deny refuses. The model is told the words.
func deny(d terret.Decision, words string) permissionAnswer {
	return permissionAnswer{Behavior: "deny", Message: words, Interrupt: d.Interrupt}
}

// reasonOf is the decision's reason, or other if there is none.
func reasonOf(d terret.Decision, other string) string { return cmp.Or(d.Reason, other) }

// answerPermission answers whether a tool may run. It always sends the input back:
// older agents take an answer without it as a refusal. A lasting decision adds the
// agent's own rule suggestions, for the session only and only those that allow: Terret
// keeps the permanent rules.
func answerPermission(r canUseTool, d terret.Decision) permissionAnswer {
	if d.Behavior != terret.BehaviorAllow {
		return deny(d, reasonOf(d, "denied"))
	}
	out := permissionAnswer{Behavior: "allow", UpdatedInput: echo(r.Input)}
	if len(d.UpdatedInput) > 0 {
		out.UpdatedInput = d.UpdatedInput
		return out // the rules are about another input
	}
	if d.Scope == terret.ScopeSession || d.Scope == terret.ScopeAlways {
		for _, u := range allowRules(r.Suggestions) {
			u.Destination = "session"
			out.UpdatedPermissions = append(out.UpdatedPermissions, u)
		}
	}
	return out
}

// answerQuestions answers questions to people.
func answerQuestions(r canUseTool, d terret.Decision) permissionAnswer {
	if d.Behavior != terret.BehaviorAnswer {
		return deny(d, reasonOf(d, "The questions were not answered."))
	}
	return permissionAnswer{Behavior: "allow", UpdatedInput: with(r.Input, "answers", answersByText(r.Input, d.Answers))}
}

// permissionModes are those that the agent knows. It takes any other word as well,
// so it must not be given one.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk", "auto", bypass}

func validMode(mode string) bool { return slices.Contains(permissionModes, mode) }

// answerPlan answers whether a plan is approved.
func answerPlan(r canUseTool, d terret.Decision) permissionAnswer {
	if d.Behavior != terret.BehaviorApprove {
		return deny(d, reasonOf(d, "The plan is not approved. Revise it."))
	}
	out := permissionAnswer{Behavior: "allow", UpdatedInput: echo(r.Input)}
	if validMode(d.NextMode) {
		out.UpdatedPermissions = []permissionUpdate{{Type: "setMode", Mode: d.NextMode, Destination: "session"}}
	}
	return out
}

// echo is an input to send back: always an object.
func echo(input json.RawMessage) terret.JSON {
	var object map[string]json.RawMessage
	if !decode(input, &object) || object == nil {
		return terret.JSON("{}")
	}
	return terret.JSON(input)
}

// with adds a field to an input.
func with(input json.RawMessage, field string, value any) terret.JSON {
	object := map[string]json.RawMessage{}
	decode(input, &object)
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	object[field] = seat.Encode(value)
	return terret.JSON(seat.Encode(object))
}
