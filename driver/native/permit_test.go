package native

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// decider is a host that decides by gate, and remembers where it was asked.
type decider struct {
	terret.Host
	decisions map[terret.Gate]terret.Decision
	err       error
	asked     []terret.Gate
	told      []terret.Event
}

func (h *decider) Ask(_ context.Context, q terret.Ask) (terret.Decision, error) {
	h.asked = append(h.asked, q.Gate)
	return h.decisions[q.Gate], h.err
}

func (h *decider) Delivered(context.Context, string) error { return nil }

func (h *decider) Emit(_ context.Context, events []terret.Event, _ []byte) error {
	h.told = append(h.told, events...)
	return h.err
}

// TestPermit is at which gates a call is asked about, and which answers let it run.
func TestPermit(t *testing.T) {
	t.Parallel()
	const pre, permission = terret.GatePreTool, terret.GatePermission
	for name, c := range map[string]struct {
		look, wanted bool // it looks inside the folder; somebody wants to decide before each tool
		before       terret.Decision
		then         terret.Behavior
		asked        []terret.Gate
		allowed      bool
	}{
		"a look, no rule":                 {look: true, before: terret.Decision{Behavior: terret.BehaviorPassthrough}, asked: []terret.Gate{pre}, allowed: true},
		"a look that is allowed":          {look: true, before: terret.Decision{Behavior: terret.BehaviorAllow}, asked: []terret.Gate{pre}, allowed: true},
		"a look that is denied":           {look: true, before: terret.Decision{Behavior: terret.BehaviorDeny}, then: terret.BehaviorAllow, asked: []terret.Gate{pre}},
		"a look that is blocked":          {look: true, before: terret.Decision{Behavior: terret.BehaviorBlock}, then: terret.BehaviorAllow, asked: []terret.Gate{pre}},
		"a look, the policy asks":         {look: true, before: terret.Decision{Behavior: terret.BehaviorAsk, Source: terret.ByPolicy}, asked: []terret.Gate{pre}, allowed: true},
		"a look, a rule asks":             {look: true, before: terret.Decision{Behavior: terret.BehaviorAsk, Source: terret.ByRule}, then: terret.BehaviorDeny, asked: []terret.Gate{pre, permission}},
		"a look, a person wants to see":   {look: true, before: terret.Decision{Behavior: terret.BehaviorAsk, Source: terret.ByUser}, then: terret.BehaviorAllow, asked: []terret.Gate{pre, permission}, allowed: true},
		"a look, nothing sensible":        {look: true, then: terret.BehaviorAllow, asked: []terret.Gate{pre}},
		"a change that is allowed":        {then: terret.BehaviorAllow, asked: []terret.Gate{permission}, allowed: true},
		"a change that is denied":         {then: terret.BehaviorDeny, asked: []terret.Gate{permission}},
		"a change, nothing sensible":      {then: terret.BehaviorPassthrough, asked: []terret.Gate{permission}},
		"a change that a program allows":  {wanted: true, before: terret.Decision{Behavior: terret.BehaviorAllow}, asked: []terret.Gate{pre}, allowed: true},
		"a change that a program denies":  {wanted: true, before: terret.Decision{Behavior: terret.BehaviorDeny}, then: terret.BehaviorAllow, asked: []terret.Gate{pre}},
		"a change it says nothing about":  {wanted: true, before: terret.Decision{Behavior: terret.BehaviorPassthrough}, then: terret.BehaviorDeny, asked: []terret.Gate{pre, permission}},
		"a change, the policy asks first": {wanted: true, before: terret.Decision{Behavior: terret.BehaviorAsk, Source: terret.ByPolicy}, then: terret.BehaviorDeny, asked: []terret.Gate{pre, permission}},
	} {
		h := &decider{decisions: map[terret.Gate]terret.Decision{pre: c.before, permission: {Behavior: c.then}}}
		u := &use{turnRun: &turnRun{a: &agent{host: h}}, call: terret.Block{ToolID: "c1", Name: "Bash"}, key: "k"}
		if c.wanted {
			u.settings.Gates = []terret.Gate{pre}
		}
		_, allowed, err := u.permit(t.Context(), &tools.Use{}, c.look)
		if err != nil || allowed != c.allowed || !slices.Equal(h.asked, c.asked) {
			t.Errorf("%s: allowed %v, asked at %v, %v", name, allowed, h.asked, err)
		}
		if n := len(h.told); (n == 1) != (c.asked[0] == permission) {
			t.Errorf("%s: the call is told %d times beside the requests", name, n)
		}
	}
	for _, look := range []bool{false, true} { // a log that takes nothing more
		h := &decider{err: errors.New("full"), decisions: map[terret.Gate]terret.Decision{pre: {Behavior: terret.BehaviorAllow}, permission: {Behavior: terret.BehaviorAllow}}}
		u := &use{turnRun: &turnRun{a: &agent{host: h}}, call: terret.Block{ToolID: "c1", Name: "Read"}, key: "k"}
		if _, allowed, err := u.permit(t.Context(), &tools.Use{}, look); allowed || !errors.Is(err, h.err) {
			t.Errorf("a look %v: allowed %v, %v", look, allowed, err)
		}
	}
}

// TestPlanning is in which modes nothing may be changed, and what an approved plan ends.
func TestPlanning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		session, turn, next      string
		planning, changed, after bool
	}{
		{modePlan, "", modeDefault, true, true, false},
		{modePlan, "", modePlan, true, false, true}, // approved, but to be planned on
		{modeDefault, modePlan, modeDefault, true, false, false},
		{modePlan, modePlan, modeDefault, true, true, false},
		{modePlan, modeDefault, modeDefault, false, true, false},
		{"", "", modeDefault, false, false, false},
	} {
		run := &turnRun{a: &agent{mode: c.session}, mode: c.turn}
		planning, changed := run.planning(), run.approved(c.next)
		if after := run.planning(); planning != c.planning || changed != c.changed || after != c.after {
			t.Errorf("session %q, turn %q: planning %v; approved for %q the session changes: %v, planning %v", c.session, c.turn, planning, c.next, changed, after)
		}
		if want := map[bool]string{true: c.next, false: c.session}[c.changed]; run.a.mode != want {
			t.Errorf("session %q, turn %q: the session's mode is then %q, want %q", c.session, c.turn, run.a.mode, want)
		}
	}
}

// TestHearing is that what a person says during a turn is heard in it, or refused: it
// must never get lost between the model's last look and the end.
func TestHearing(t *testing.T) {
	t.Parallel()
	a := &agent{turn: "trn_1"}
	steer := func(turn string) bool {
		err := a.Steer(t.Context(), turn, terret.Prompt{Blocks: []terret.Block{terret.Text("and that")}})
		if err != nil && !errors.Is(err, terret.ErrConflict) {
			t.Fatal(err)
		}
		return err == nil
	}
	if steer("trn_2") {
		t.Error("another turn took it")
	}
	if a.hear(false) || !steer("trn_1") || !steer("trn_1") {
		t.Error("the running turn did not take it")
	}
	if !a.hear(false) || len(a.past.messages) != 2 {
		t.Errorf("the model hears %+v", a.past.messages)
	}
	if a.hear(false) || !steer("trn_1") || !a.hear(true) {
		t.Error("it was not heard at the last chance")
	}
	if !steer("trn_1") || !a.hear(true) || len(a.past.messages) != 4 {
		t.Error("the turn went on, but did not take more")
	}
	if a.hear(true) || steer("trn_1") {
		t.Error("a turn that hears nothing more took it")
	}
}
