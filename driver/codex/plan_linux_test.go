package codex

import (
	"testing"

	"github.com/terret-dev/terret"
)

// TestPlan is that a turn goes on after its plan: with the work, with another plan, or not
// at all.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plans []terret.Decision
		mode  string // of the session in the end
		text  string
		code  terret.ErrorCode
	}{
		"approved":    {[]terret.Decision{{Behavior: terret.BehaviorApprove}}, noSandbox, "accept", ""},
		"next mode":   {[]terret.Decision{{Behavior: terret.BehaviorApprove, NextMode: workspaceWrite}}, workspaceWrite, "accept", ""},
		"revised":     {[]terret.Decision{{Behavior: terret.BehaviorRevise, Reason: "smaller"}, {Behavior: terret.BehaviorApprove}}, noSandbox, "accept", ""},
		"stopped":     {[]terret.Decision{{Behavior: terret.BehaviorRevise, Interrupt: true}}, "", "Write a file.", terret.CodeInterrupted},
		"interrupted": {[]terret.Decision{{Behavior: terret.BehaviorRevise, Source: terret.ByInterrupt}}, "", "Write a file.", terret.CodeInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "plain")
			s.req.Session.PermissionMode = planMode
			left := c.plans
			s.host.decide = func(q terret.Ask) terret.Decision {
				if q.Gate != terret.GatePlan {
					return terret.Decision{Behavior: terret.BehaviorAllow}
				}
				d := left[0]
				left = left[1:]
				return d
			}
			a := s.open()
			text, code := "", terret.ErrorCode("")
			switch end := s.run(a, "plan", terret.Settings{}).(type) {
			case terret.TurnComplete:
				text = end.Text
			case terret.TurnError:
				text, code = end.Text, end.Error.Code
			}
			if text != c.text || code != c.code || len(left) != 0 {
				t.Errorf("%q, %s, %d decisions were not needed", text, code, len(left))
			}
			mode := ""
			for _, u := range all[terret.SessionUpdated](s.host.said()) {
				mode = *u.PermissionMode
			}
			if mode != c.mode {
				t.Errorf("the mode is %q", mode)
			}
			if len(s.host.ends()) != 1 {
				t.Error("the turn ended more than once")
			}
		})
	}
}

// TestPlanOneShot is that the process of a one-shot session ends with its turn, also if that
// ends at its plan.
func TestPlanOneShot(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	s.req.Session.PermissionMode, s.req.Session.OneShot = planMode, true
	s.host.decide = func(terret.Ask) terret.Decision {
		return terret.Decision{Behavior: terret.BehaviorRevise, Interrupt: true}
	}
	a := s.open().(*agent)
	p := a.Current()
	if end, ok := s.run(a, "plan", terret.Settings{}).(terret.TurnError); !ok || end.Error.Code != terret.CodeInterrupted {
		t.Errorf("%+v", end)
	}
	if a.Current() != nil {
		t.Error("the process stays")
	}
	<-p.Told()
}
