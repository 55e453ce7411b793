package terret_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// gateAnswers says what may be decided at each gate.
var gateAnswers = map[terret.Gate]string{
	terret.GatePermission:   "allow deny",
	terret.GateTrust:        "allow deny",
	terret.GateQuestion:     "answer reject",
	terret.GatePlan:         "approve revise",
	terret.GatePreTool:      "allow deny ask passthrough block",
	terret.GatePrompt:       "allow passthrough block",
	terret.GateStop:         "allow passthrough block",
	terret.GateSubagentStop: "allow passthrough block",
	terret.GateCompact:      "allow passthrough block",
}

// TestDecisionValidateBehaviors tries every behavior at every gate.
func TestDecisionValidateBehaviors(t *testing.T) {
	for _, gate := range declaredConstants(t, "Gate") {
		answers, ok := gateAnswers[terret.Gate(gate)]
		if !ok {
			t.Errorf("what may be decided at the %s gate?", gate)
		}
		for _, behavior := range append(valuesOf(declaredConstants(t, "Behavior")), "", "maybe") {
			d := terret.Decision{
				Gate: terret.Gate(gate), Behavior: terret.Behavior(behavior),
				Answers: map[string]terret.Choice{"q": {"yes"}},
			}
			err := d.Validate()
			if allowed := slices.Contains(strings.Fields(answers), behavior); allowed != (err == nil) {
				t.Errorf("%q at the %s gate: %v", behavior, gate, err)
			}
			if err != nil && terret.AsError(err).Field != "behavior" {
				t.Errorf("%q at the %s gate: the error is about %q", behavior, gate, terret.AsError(err).Field)
			}
		}
	}
}

func valuesOf(constants map[string]string) []string {
	var out []string
	for _, value := range constants {
		out = append(out, value)
	}
	return out
}

func TestDecisionValidate(t *testing.T) {
	allow := terret.Decision{Gate: terret.GatePermission, Behavior: terret.BehaviorAllow}
	with := func(edit func(*terret.Decision)) terret.Decision { d := allow; edit(&d); return d }
	for name, test := range map[string]struct {
		decision terret.Decision
		field    string // at fault; empty: it is valid
	}{
		"allow":           {allow, ""},
		"no gate":         {with(func(d *terret.Decision) { d.Gate = "" }), "gate"},
		"unknown gate":    {with(func(d *terret.Decision) { d.Gate = "heaven" }), "gate"},
		"no behavior":     {with(func(d *terret.Decision) { d.Behavior = "" }), "behavior"},
		"once":            {with(func(d *terret.Decision) { d.Scope = terret.ScopeOnce }), ""},
		"session":         {with(func(d *terret.Decision) { d.Scope = terret.ScopeSession }), ""},
		"always":          {with(func(d *terret.Decision) { d.Scope = terret.ScopeAlways }), ""},
		"unknown scope":   {with(func(d *terret.Decision) { d.Scope = "forever" }), "scope"},
		"other input":     {with(func(d *terret.Decision) { d.UpdatedInput = terret.JSON(`{"command":"ls"}`) }), ""},
		"broken input":    {with(func(d *terret.Decision) { d.UpdatedInput = terret.JSON(`{"command":`) }), "updated_input"},
		"input, a number": {with(func(d *terret.Decision) { d.UpdatedInput = terret.JSON(`5`) }), "updated_input"},
		"input, denied":   {with(func(d *terret.Decision) { d.Behavior, d.UpdatedInput = terret.BehaviorDeny, terret.JSON(`{}`) }), "updated_input"},
		"no answers":      {terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer}, "answers"},
		"rejected":        {terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorReject}, ""},
		"hook may block":  {terret.Decision{Gate: terret.GatePreTool, Behavior: terret.BehaviorBlock, Reason: "no"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.decision.Validate()
			if test.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, terret.ErrInvalid) || terret.AsError(err).Field != test.field {
				t.Fatalf("got %v, want an invalid request about %s", err, test.field)
			}
			if !strings.HasPrefix(err.Error(), test.field+": ") {
				t.Errorf("%q does not name the field", err)
			}
		})
	}
}

// TestDecisionValidateSaysWhatIsPossible reads an error as a person does.
func TestDecisionValidateSaysWhatIsPossible(t *testing.T) {
	err := terret.Decision{Gate: terret.GatePlan, Behavior: terret.BehaviorAllow}.Validate()
	const want = `behavior: "allow" is not an answer at the plan gate; use approve or revise`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestDecisionData(t *testing.T) {
	want := map[terret.Gate]terret.Kind{
		terret.GatePermission: "permission.decision", terret.GateQuestion: "question.decision",
		terret.GatePlan: "plan.decision", terret.GateStop: "stop.decision",
		terret.GatePreTool: "hook.decision", terret.GatePrompt: "hook.decision", terret.GateSubagentStop: "hook.decision",
		terret.GateCompact: "hook.decision", terret.GateTrust: "hook.decision", "from.the.future": "hook.decision",
	}
	for gate, kind := range want {
		d := terret.Decision{RequestID: "r", Gate: gate, Behavior: terret.BehaviorAllow}
		event := terret.Event{Data: d.Data()}
		if event.Kind() != kind {
			t.Errorf("%s gate: %s, want %s", gate, event.Kind(), kind)
		}
		body, err := event.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(body), `"data":{"request_id":"r","gate":"`+string(gate)+`"`) {
			t.Errorf("%s gate: the decision is not there in %s", gate, body)
		}
	}
	for _, gate := range declaredConstants(t, "Gate") {
		if _, ok := want[terret.Gate(gate)]; !ok {
			t.Errorf("which kind is a decision at the %s gate?", gate)
		}
	}
}
