package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/terret-dev/terret"
)

// TestPrecedence tries every set of rules about one command, in every order, under every
// policy: a deny rule that matches wins, then one that may match and an ask rule unless
// the policy denies anyway, then an allow rule, then the policy.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	sure, unsure := deny("Bash(git push *)")[0], deny("Bash(git push")[0] // the second cannot be read
	ask, permit := rules(terret.EffectAsk, "Bash(git push origin)")[0], allow("Bash(git *)")[0]
	policies := map[terret.Policy]terret.Behavior{
		terret.PolicyAsk: asked, terret.PolicyAcceptEdits: asked, terret.PolicyRules: asked, "unheard-of": asked,
		terret.PolicyPlan: denied, terret.PolicyDenyUnlessAllowed: denied, terret.PolicyAutoApprove: terret.BehaviorAllow,
	}
	for _, set := range subsets([]terret.Rule{sure, unsure, ask, permit}) {
		has := func(r terret.Rule) bool {
			return slices.ContainsFunc(set, func(o terret.Rule) bool { return o.ID == r.ID })
		}
		for p, alone := range policies {
			want, by := alone, ""
			switch {
			case has(sure):
				want, by = denied, sure.Pattern
			case alone == denied && (has(unsure) || has(ask)):
			case has(unsure):
				want, by = asked, unsure.Pattern
			case has(ask):
				want, by = asked, ask.Pattern
			case has(permit):
				want, by = terret.BehaviorAllow, permit.Pattern
			}
			for _, order := range orders(set) {
				got := Judge(bash("git push origin"), order, p)
				rule := ""
				if got.Rule != nil {
					rule = got.Rule.Pattern
				}
				if got.Behavior != want || rule != by || (got.Policy == p) != (by == "") {
					t.Errorf("%s under %s: %s by %q, want %s by %q", patterns(order), p, got.Behavior, rule, want, by)
				}
			}
		}
		// An edited input is held to the deny rules alone.
		v, found := Denied(bash("git push origin"), set)
		switch {
		case found != (has(sure) || has(unsure)), found && (v.Behavior == denied) != has(sure):
			t.Errorf("%s: edited to that: %s, %v", patterns(set), v.Behavior, found)
		}
	}
}

func patterns(rules []terret.Rule) string {
	out := ""
	for _, r := range rules {
		out += fmt.Sprintf("%s %s; ", r.Effect, r.Pattern)
	}
	return out
}

// subsets are all of them, the empty one too.
func subsets(of []terret.Rule) (out [][]terret.Rule) {
	for bits := range 1 << len(of) {
		var set []terret.Rule
		for i, r := range of {
			if bits>>i&1 == 1 {
				set = append(set, r)
			}
		}
		out = append(out, set)
	}
	return out
}

// orders are all orders of the rules.
func orders(of []terret.Rule) [][]terret.Rule {
	if len(of) == 0 {
		return [][]terret.Rule{nil}
	}
	var out [][]terret.Rule
	for i, first := range of {
		for _, rest := range orders(slices.Delete(slices.Clone(of), i, i+1)) {
			out = append(out, append([]terret.Rule{first}, rest...))
		}
	}
	return out
}

// TestNarrowDenyInAList is that one denied command in a script denies it, wherever it
// stands, and that one that is only not allowed asks.
func TestNarrowDenyInAList(t *testing.T) {
	t.Parallel()
	both := append(allow("Bash(git *)", "Bash(ls *)"), deny("Bash(git push *)")...)
	for _, join := range []string{"%s; %s", "%s && %s", "%s || %s", "%s | %s", "%s & %s", "%s\n%s", "(%s); %s", "{ %s; }; %s", "if %s; then %s; fi", "while %s; do %s; done", "! %s; %s", "time %s; %s"} {
		for other, want := range map[string]terret.Behavior{"git push origin": denied, "make": asked, "git log": terret.BehaviorAllow} {
			for _, script := range []string{fmt.Sprintf(join, "ls", other), fmt.Sprintf(join, other, "ls")} {
				if got := Judge(bash(script), both, terret.PolicyRules); got.Behavior != want {
					t.Errorf("%q: %s (%s), want %s", script, got.Behavior, got.Reason, want)
				}
			}
		}
	}
}
