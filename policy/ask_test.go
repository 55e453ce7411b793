package policy_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// An ask rule beats allow rules and policies that allow, and loses to a deny rule and
// to a policy that denies. An input that a person has edited is theirs: no ask rule
// refuses it.
func TestAskRules(t *testing.T) {
	t.Parallel()
	rule := func(e terret.Effect, pattern string) terret.Rule { return terret.Rule{Effect: e, Pattern: pattern} }
	ask := rule(terret.EffectAsk, "Bash(git push *)")
	for name, c := range map[string]struct {
		command string
		rules   []terret.Rule
		policy  terret.Policy
		want    terret.Behavior
		by      string // pattern of the rule that decided
	}{
		"alone":             {"git push origin", []terret.Rule{ask}, terret.PolicyAutoApprove, terret.BehaviorAsk, ask.Pattern},
		"in a list":         {"git status && git push origin", []terret.Rule{ask}, terret.PolicyAutoApprove, terret.BehaviorAsk, ask.Pattern},
		"another command":   {"git status", []terret.Rule{ask}, terret.PolicyAutoApprove, terret.BehaviorAllow, ""},
		"beats allow":       {"git push origin", []terret.Rule{rule(terret.EffectAllow, "Bash"), ask}, terret.PolicyAsk, terret.BehaviorAsk, ask.Pattern},
		"loses to deny":     {"git push origin", []terret.Rule{ask, rule(terret.EffectDeny, "Bash(git *)")}, terret.PolicyAutoApprove, terret.BehaviorDeny, "Bash(git *)"},
		"loses to a policy": {"git push origin", []terret.Rule{ask}, terret.PolicyDenyUnlessAllowed, terret.BehaviorDeny, ""},
		"cannot be read":    {"ls", []terret.Rule{rule(terret.EffectAsk, "Bash(")}, terret.PolicyAutoApprove, terret.BehaviorAsk, "Bash("},
	} {
		s := policy.Subject{Tool: "Bash", Class: terret.ClassExecute, Input: []byte(`{"command":"` + c.command + `"}`), Cwd: "/p"}
		v := policy.Judge(s, c.rules, c.policy)
		by := ""
		if v.Rule != nil {
			by = v.Rule.Pattern
		}
		if v.Behavior != c.want || by != c.by {
			t.Errorf("%s: %s by %q, want %s by %q: %s", name, v.Behavior, by, c.want, c.by, v.Reason)
		}
	}
	s := policy.Subject{Tool: "Bash", Class: terret.ClassExecute, Input: []byte(`{"command":"git push origin"}`), Cwd: "/p"}
	if v, denied := policy.Denied(s, []terret.Rule{ask}); denied {
		t.Errorf("an ask rule refuses an edited input: %+v", v)
	}
}
