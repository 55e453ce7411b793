package policy

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestManyBraces does not end in a lifetime if the time to match doubles with each brace.
func TestManyBraces(t *testing.T) {
	long := strings.Repeat("a", 60)
	for _, braces := range []string{strings.Repeat("{a,a}", 40) + "b", strings.Repeat("{*,a*}", 25) + "b", "x/" + strings.Repeat("{,a}", 60) + "b"} {
		s := Subject{
			Tool: "Write", Class: terret.ClassEdit, Input: []byte(`{"file_path":"/p/` + long + `","content":""}`), Cwd: "/p", Roots: []string{"/p"},
			Readlink: noLinks,
		}
		for _, effect := range []terret.Effect{terret.EffectDeny, terret.EffectAsk, terret.EffectAllow} {
			v := Judge(s, []terret.Rule{{Effect: effect, Pattern: "Edit(" + braces + ")"}}, terret.PolicyAutoApprove)
			if v.Rule != nil || v.Behavior != terret.BehaviorAllow {
				t.Errorf("%s %.20s…: %+v, want the policy to decide", effect, braces, v)
			}
		}
		s.Input = []byte(`{"file_path":"/p/` + strings.Repeat("a", 40) + `b","content":""}`)
		if v := Judge(s, []terret.Rule{{Effect: terret.EffectDeny, Pattern: "Edit({a,a}{a,a}{*,b})"}}, terret.PolicyAutoApprove); v.Behavior != terret.BehaviorDeny {
			t.Errorf("%+v, want deny", v)
		}
	}
}

// TestLongPattern refuses patterns that would take too long, and fails closed if one is in
// force all the same.
func TestLongPattern(t *testing.T) {
	for _, long := range []string{"Edit(" + strings.Repeat("a", 2001) + ")", "Bash(" + strings.Repeat("a ", 5000) + ")"} {
		_, err := Parse(long)
		if err == nil || !strings.Contains(err.Error(), "longer than") || len(err.Error()) > 200 {
			t.Errorf("%.300v", err)
		}
		s := Subject{Tool: "Write", Class: terret.ClassEdit, Input: []byte(`{"file_path":"/p/x","content":""}`), Cwd: "/p", Readlink: noLinks}
		v := Judge(s, []terret.Rule{{Effect: terret.EffectDeny, Pattern: long}}, terret.PolicyAutoApprove)
		if v.Behavior != terret.BehaviorAsk || !strings.Contains(v.Reason, "invalid") || len(v.Reason) > 200 {
			t.Errorf("%.300v", v)
		}
	}
	for _, good := range []string{"Edit(" + strings.Repeat("a", 1900) + ")", "Bash(" + strings.Repeat("a ", 4900) + ")"} {
		if _, err := Parse(good); err != nil {
			t.Error(err)
		}
	}
}

// TestStop shows that a judgement that ends early allows nothing, whichever rules it had
// looked at.
func TestStop(t *testing.T) {
	rules := []terret.Rule{
		{Effect: terret.EffectDeny, Pattern: "Edit(a/**)"},
		{Effect: terret.EffectDeny, Pattern: "Bash(rm *)"},
		{Effect: terret.EffectAsk, Pattern: "Edit(b)"},
		{Effect: terret.EffectAllow, Pattern: "Bash(echo *)"},
		{Effect: terret.EffectAllow, Pattern: "Edit(x)"},
		{Effect: terret.EffectAllow, Pattern: "Edit(y)"},
	}
	for _, s := range []Subject{
		{Tool: "Write", Class: terret.ClassEdit, Input: []byte(`{"file_path":"/p/y","content":""}`)},
		{Tool: "Bash", Class: terret.ClassExecute, Input: []byte(`{"command":"echo 1; echo 2 > y"}`)},
	} {
		s.Cwd, s.Readlink = "/p", noLinks
		whole := 0
		s.Stop = func() bool { whole++; return false }
		if v := Judge(s, rules, terret.PolicyAutoApprove); v.Behavior != terret.BehaviorAllow || v.Rule == nil {
			t.Fatalf("%+v, want a rule to allow it", v)
		}
		if whole < len(rules) {
			t.Errorf("%s: Stop was called %d times only", s.Tool, whole)
		}
		for after := range whole {
			n := 0
			s.Stop = func() bool { n++; return n > after }
			if v := Judge(s, rules, terret.PolicyAutoApprove); v.Behavior != terret.BehaviorAsk || !strings.Contains(v.Reason, "too long") {
				t.Errorf("%s, stopped after %d: %+v, want ask", s.Tool, after, v)
			}
			if n > after+1 {
				t.Errorf("%s: it went on after %d", s.Tool, after)
			}
			if v := Judge(s, rules, terret.PolicyPlan); v.Behavior == terret.BehaviorAllow {
				t.Errorf("%s, stopped after %d: %+v", s.Tool, after, v)
			}
		}
	}
}
