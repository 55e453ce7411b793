package httpapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// TestAdvice holds that what a person allows again and again becomes a suggestion, unless
// it was denied once or a rule covers it, and that decisions say what decided them.
func TestAdvice(t *testing.T) {
	t.Parallel()
	run := func(command string) []mock.Step {
		return []mock.Step{{Tool: &mock.Tool{Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"` + command + `"}`), Ask: true}}}
	}
	f := newFixture(t, turns(run("go vet ./a"), run("go vet ./b"), run("npm test"), run("go vet ./c"), run("npm test"), run("npm test"), run("npm test"), run("make x"), run("go vet ./d")))
	s := f.session()
	after := int64(0)
	var requests []string
	answer := func(behavior string) {
		t.Helper()
		f.prompt(s.ID, "go")
		e := f.waitAfter(s.ID, after, terret.KindPermissionRequest)
		requests = append(requests, e.Expects.RequestID)
		f.do("POST", "/v1/decisions/"+e.Expects.RequestID, map[string]any{"behavior": behavior}).want(200, nil)
		after = f.waitAfter(s.ID, e.Seq, terret.KindTurnComplete).Seq
	}
	advice := func() (out httpapi.Decisions) {
		t.Helper()
		f.do("GET", "/v1/rules/decisions", nil).want(200, &out)
		return out
	}
	if got := advice(); got.Items == nil || len(got.Items)+len(got.Suggestions) != 0 {
		t.Errorf("before anything was decided: %+v", got)
	}
	for _, behavior := range []string{"allow", "allow", "deny"} {
		answer(behavior)
	}
	if got := advice(); len(got.Suggestions) != 0 || len(got.Items) != 3 {
		t.Errorf("two answers are not enough: %+v", got)
	}
	for range 5 {
		answer("allow")
	}
	got := advice()
	if len(got.Suggestions) != 1 || !cmp.Equal(got.Suggestions[0].Patterns, []string{"Bash(go vet *)"}) || got.Suggestions[0].Count != 3 {
		t.Errorf("suggestions %+v", got.Suggestions)
	}
	last := got.Items[0]
	if last.RequestID != requests[len(requests)-1] || last.Tool != "Bash" || last.Session != s.ID || last.Decision.Source != terret.ByUser || last.Decision.By != "admin" {
		t.Errorf("the newest decision is %+v", last)
	}
	f.do("PUT", "/v1/rules", map[string]any{"items": []any{map[string]any{"effect": "allow", "pattern": "Bash(go vet *)"}}}).want(200, nil)
	f.prompt(s.ID, "go")
	f.waitAfter(s.ID, after, terret.KindTurnComplete)
	got = advice()
	if len(got.Suggestions) != 0 {
		t.Errorf("a rule covers it: %+v", got.Suggestions)
	}
	if d := got.Items[0].Decision; d.Source != terret.ByRule || d.Rule != "Bash(go vet *)" {
		t.Errorf("the rule decided: %+v", d)
	}
	f.holding("lone", "view", s.ID).do("GET", "/v1/rules/decisions", nil).problem(403, terret.CodeForbidden, "")
}
