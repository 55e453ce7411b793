package engine_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

// Under the policy plan the agent plans, in its own mode for it.
func TestPlanPolicyIsTheAgentsPlanMode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	defer f.close()
	for name, c := range map[string]struct {
		session terret.Session
		turn    terret.TurnOptions
		want    string
	}{
		"plan":             {session: terret.Session{Policy: terret.PolicyPlan}, want: "plan"},
		"whatever it had":  {session: terret.Session{Policy: terret.PolicyPlan, PermissionMode: "acceptEdits"}, want: "plan"},
		"the turn decides": {session: terret.Session{Policy: terret.PolicyPlan}, turn: terret.TurnOptions{PermissionMode: "default"}, want: "default"},
		"another policy":   {session: terret.Session{Policy: terret.PolicyAsk}},
		"another agent":    {session: terret.Session{Policy: terret.PolicyPlan, Agent: "unknown"}},
	} {
		if c.session.Agent == "" {
			c.session.Agent = "mock"
		}
		in, err := f.Settings(t.Context(), c.session, c.turn)
		if err != nil || in.PermissionMode != c.want {
			t.Errorf("%s: mode %q, %v, want %q", name, in.PermissionMode, err, c.want)
		}
	}
}

// Somebody who chooses another policy than plan wants the agent to stop planning.
func TestAnotherPolicyLeavesPlanMode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	defer f.close()
	for policy, want := range map[terret.Policy]string{terret.PolicyAsk: "default", terret.PolicyPlan: "plan"} {
		id := f.session(func(s *terret.Session) { s.PermissionMode = "plan" })
		if err := f.Update(t.Context(), id, terret.SessionUpdated{Policy: &policy}, "test"); err != nil {
			t.Fatal(err)
		}
		s, err := f.store.Session(t.Context(), id)
		if err != nil || s.PermissionMode != want || s.Policy != policy {
			t.Errorf("policy %s: mode %q, policy %s, %v, want mode %q", policy, s.PermissionMode, s.Policy, err, want)
		}
	}
}
