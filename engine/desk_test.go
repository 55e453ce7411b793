package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// decisionOn runs a turn that asks once and returns what was decided.
func decisionOn(t *testing.T, f *fixture, id string) terret.Decision {
	t.Helper()
	for _, ev := range f.run(id, "go") {
		if d, ok := decisionOf(ev); ok {
			return d
		}
	}
	t.Fatal("nothing was decided")
	return terret.Decision{}
}

func edit(path string) mock.Step {
	return mock.Step{Tool: &mock.Tool{Name: "Write", Class: terret.ClassEdit, Input: terret.JSON(`{"file_path":"` + path + `","content":"x"}`), Ask: true}}
}

// lark is an agent that takes orders from a folder of its own.
type lark struct{ terret.Driver }

func (*lark) Name() string { return "lark" }

func (*lark) Describe() terret.Description {
	return terret.Description{ProjectFiles: []terret.ProjectFile{{Path: ".lark/", Why: "settings of Lark"}}}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	read := mock.Step{Tool: &mock.Tool{Name: "Read", Class: terret.ClassRead, Input: terret.JSON(`{"file_path":"a.txt"}`), Ask: true}}
	for _, c := range []struct {
		policy terret.Policy
		step   mock.Step
		want   terret.Behavior
	}{
		{terret.PolicyAutoApprove, ask("make"), terret.BehaviorAllow},
		{terret.PolicyDenyUnlessAllowed, ask("make"), terret.BehaviorDeny},
		{terret.PolicyAcceptEdits, edit("a.txt"), terret.BehaviorAllow},
		{terret.PolicyAcceptEdits, edit("/etc/passwd"), "asks"},
		{terret.PolicyAcceptEdits, edit(".lark/settings.json"), "asks"}, // another agent takes orders from it
		{terret.PolicyAcceptEdits, ask("make"), "asks"},
		{terret.PolicyPlan, read, terret.BehaviorAllow},
		{terret.PolicyPlan, ask("make"), terret.BehaviorDeny},
		{terret.PolicyAsk, read, terret.BehaviorAllow},
		{terret.PolicyAsk, ask("make"), "asks"},
		{terret.PolicyRules, read, "asks"},
	} {
		t.Run(string(c.policy)+" "+c.step.Tool.Name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mock.Script{Turns: [][]mock.Step{{c.step}}}, func(c *engine.Config) {
				c.Unattended, c.Drivers = true, append(c.Drivers, &lark{})
			})
			d := decisionOn(t, f, f.session(withPolicy(c.policy)))
			if d.Source != terret.ByPolicy {
				t.Errorf("source %s", d.Source)
			}
			want, reason := c.want, d.Reason != "nobody to ask"
			if c.want == "asks" {
				want, reason = terret.BehaviorDeny, d.Reason == "nobody to ask"
			}
			if d.Behavior != want || !reason {
				t.Errorf("%s because %q, want %s", d.Behavior, d.Reason, c.want)
			}
		})
	}
}

func (f *fixture) rule(effect terret.Effect, pattern string) string {
	f.t.Helper()
	r := terret.Rule{ID: terret.NewID(terret.PrefixRule), Effect: effect, Pattern: pattern, Scope: terret.ScopeAlways, MadeBy: "tester"}
	if err := f.store.PutRule(f.t.Context(), r); err != nil {
		f.t.Fatal(err)
	}
	return r.ID
}

func (f *fixture) hits(id string) int64 {
	f.t.Helper()
	rules, err := f.store.ListRules(f.t.Context(), "")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range rules {
		if r.ID == id {
			return r.Hits
		}
	}
	return -1
}

// Deny rules beat allow rules, which beat the policy; the decision names the rule,
// its hits are counted, and request and decision are one commit.
func TestRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make all"), ask("rm x")}}})
	allow, deny := f.rule(terret.EffectAllow, "Bash"), f.rule(terret.EffectDeny, "Bash(rm *)")
	id := f.session(withPolicy(terret.PolicyDenyUnlessAllowed))
	f.run(id, "one")
	events := f.run(id, "two")
	ds := all[terret.PermissionDecision](events)
	if len(ds) != 2 {
		t.Fatalf("decisions %+v", ds)
	}
	if d := ds[0]; d.Behavior != terret.BehaviorAllow || d.Source != terret.ByRule || d.Rule != "Bash" {
		t.Errorf("allowed: %+v", d)
	}
	if d := ds[1]; d.Behavior != terret.BehaviorDeny || d.Source != terret.ByRule || d.Rule != "Bash(rm *)" {
		t.Errorf("denied: %+v", d)
	}
	if a, d := f.hits(allow), f.hits(deny); a != 2 || d != 2 {
		t.Errorf("hits %d and %d, want 2 and 2", a, d)
	}
	for i, ev := range events {
		if ev.Expects != nil && events[i+1].Kind() != "permission.decision" {
			t.Errorf("after the request came %s: it was open in between", events[i+1].Kind())
		}
		if ev.Expects != nil && ev.Expects.ExpiresAt != nil {
			t.Error("a decided request expires")
		}
	}
	if f := last[terret.ToolFailure](t, events); !f.Denied || !strings.Contains(f.Error, "Bash(rm *)") {
		t.Errorf("the agent was told %q", f.Error)
	}
	f.close()
	checkLog(t, f.store, id)
}

// Rules of the session's options and of the turn's count too.
func TestRulesOfOptions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make all")}}}, func(c *engine.Config) { c.Unattended = true })
	for name, c := range map[string]struct {
		session terret.SessionOptions
		turn    terret.TurnOptions
		want    terret.Behavior
	}{
		"allow":        {terret.SessionOptions{Allow: []string{"Bash(make *)"}}, terret.TurnOptions{}, terret.BehaviorAllow},
		"auto-approve": {terret.SessionOptions{AutoApproveTools: []string{"Bash"}}, terret.TurnOptions{}, terret.BehaviorAllow},
		"deny beats":   {terret.SessionOptions{Allow: []string{"Bash"}, Deny: []string{"Bash(make *)"}}, terret.TurnOptions{}, terret.BehaviorDeny},
		"disallowed":   {terret.SessionOptions{Allow: []string{"Bash"}, DisallowedTools: []string{"Bash"}}, terret.TurnOptions{}, terret.BehaviorDeny},
		"turn denies":  {terret.SessionOptions{Allow: []string{"Bash"}}, terret.TurnOptions{DisallowedTools: []string{"Bash"}}, terret.BehaviorDeny},
		"turn allows":  {terret.SessionOptions{}, terret.TurnOptions{AutoApproveTools: []string{"Bash"}}, terret.BehaviorAllow},
		"turn beats":   {terret.SessionOptions{AutoApproveTools: []string{"Bash"}}, terret.TurnOptions{AutoApproveToolsOverride: []string{}}, terret.BehaviorDeny},
		"turn lifts":   {terret.SessionOptions{Allow: []string{"Bash"}, DisallowedTools: []string{"Bash"}}, terret.TurnOptions{DisallowedToolsOverride: []string{}}, terret.BehaviorAllow},
	} {
		id := f.session(func(s *terret.Session) { s.Options = c.session })
		p := text("go")
		p.Options = c.turn
		turn, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: p})
		if err != nil {
			t.Fatal(err)
		}
		if d := last[terret.PermissionDecision](t, f.ended(id, turn.ID)); d.Behavior != c.want {
			t.Errorf("%s: %s, %q", name, d.Behavior, d.Reason)
		}
	}
}

// A store whose rules cannot be read refuses: one of them might deny.
func TestUnreadableRules(t *testing.T) {
	t.Parallel()
	f, faults := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{ask("make")}}}))
	faults.setRules(errors.New("disk on fire"))
	d := decisionOn(t, f, f.session(withPolicy(terret.PolicyAutoApprove)))
	if d.Behavior != terret.BehaviorDeny || !strings.Contains(d.Reason, "disk on fire") {
		t.Errorf("%s because %q", d.Behavior, d.Reason)
	}
}

func TestQuestionsAndPlans(t *testing.T) {
	t.Parallel()
	q := mock.Step{Question: &terret.Question{ID: "q", Text: "which?", Options: []terret.Option{{Label: "red"}}}}
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{q}, {{Plan: "1. think"}}}})
	id := f.session()
	turn := f.prompt(id, "1")
	r := f.request(id, 1)
	if r.ExpiresAt != nil {
		t.Error("questions have no time limit")
	}
	wantKind(t, f.Decide(t.Context(), terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow}), terret.CodeInvalidRequest)
	f.decide(terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q": {"red", "blue"}}})
	if got := last[terret.TurnComplete](t, f.ended(id, turn.ID)).Text; got != "You answered: [red blue]" {
		t.Errorf("text %q", got)
	}
	turn = f.prompt(id, "2")
	f.decide(terret.Decision{RequestID: f.request(id, 2).RequestID, Behavior: terret.BehaviorApprove})
	if got := last[terret.TurnComplete](t, f.ended(id, turn.ID)).Text; got != "The plan: approve" {
		t.Errorf("text %q", got)
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	q := mock.Step{Question: &terret.Question{ID: "q", Text: "which?"}}
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make"), q, {Plan: "p"}}}}, func(c *engine.Config) { c.Unattended = true })
	behaviors := func(p terret.Policy) (out []terret.Behavior) {
		for _, ev := range f.run(f.session(withPolicy(p)), "go") {
			if d, ok := decisionOf(ev); ok {
				out = append(out, d.Behavior)
			}
		}
		return out
	}
	for p, want := range map[terret.Policy]string{terret.PolicyAsk: "[deny reject revise]", terret.PolicyAutoApprove: "[allow reject approve]"} {
		if got := behaviors(p); strings.Join([]string{"[" + string(got[0]), string(got[1]), string(got[2]) + "]"}, " ") != want {
			t.Errorf("%s: %v, want %s", p, got, want)
		}
	}
}

// Hook gates answer at once: rules decide before a tool, the permission gate asks
// the person, and the other hooks let pass. What no rule is about is left to the
// agent: it asks if it wants to, and then the policy has its say.
func TestHookGates(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	f.rule(terret.EffectDeny, "Bash(rm *)")
	id := f.session(withPolicy(terret.PolicyRules))
	turn := f.prompt(id, "go")
	a := p.agent(t)
	a.prompted(t)
	for _, c := range []struct {
		gate terret.Gate
		data terret.Data
		want terret.Behavior
	}{
		{terret.GatePreTool, terret.ToolPre{ToolID: "1", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"ls -l"}`)}, terret.BehaviorPassthrough},
		{terret.GatePreTool, terret.ToolPre{ToolID: "3", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"eval $x"}`)}, terret.BehaviorAsk},
		{terret.GatePreTool, terret.ToolPre{ToolID: "2", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"rm x"}`)}, terret.BehaviorDeny},
		{terret.GatePrompt, terret.HookEvent{Hook: "UserPromptSubmit"}, terret.BehaviorPassthrough},
		{terret.GateStop, terret.StopRequest{LastMessage: "bye"}, terret.BehaviorPassthrough},
		{terret.GateSubagentStop, terret.HookEvent{Hook: "SubagentStop"}, terret.BehaviorPassthrough},
		{terret.GateCompact, terret.HookEvent{Hook: "PreCompact"}, terret.BehaviorPassthrough},
	} {
		d, err := a.req.Host.Ask(t.Context(), terret.Ask{Key: string(c.gate) + string(c.want), Gate: c.gate, Event: terret.Event{Data: c.data}})
		if err != nil || d.Behavior != c.want {
			t.Errorf("%s: %s, %v", c.gate, d.Behavior, err)
		}
	}
	a.complete(t, turn.ID)
	f.ended(id, turn.ID)
	f.close()
	checkLog(t, f.store, id)
}

// The policies ask and deny-unless-allowed are about every use of a tool, also where the
// agent would not ask. What ask allows is left to the agent's own rules.
func TestPoliciesBindBeforeTools(t *testing.T) {
	t.Parallel()
	const pass, deny, person = terret.BehaviorPassthrough, terret.BehaviorDeny, terret.BehaviorAsk
	for _, c := range []struct {
		policy            terret.Policy
		mode              string
		ls, inside, todos terret.Behavior // and outside is as ls
	}{
		{terret.PolicyAsk, "", person, pass, pass},
		{terret.PolicyAsk, "plan", person, pass, pass},
		{terret.PolicyAsk, "acceptEdits", pass, pass, pass},
		{terret.PolicyAsk, "bypassPermissions", pass, pass, pass},
		{terret.PolicyDenyUnlessAllowed, "", deny, deny, pass},
		{terret.PolicyDenyUnlessAllowed, "bypassPermissions", deny, deny, pass},
		{terret.PolicyRules, "", pass, pass, pass},
		{terret.PolicyAutoApprove, "", pass, pass, pass},
	} {
		t.Run(string(c.policy)+" "+c.mode, func(t *testing.T) {
			t.Parallel()
			p := newPuppet()
			f := openFixture(t, ":memory:", p)
			f.rule(terret.EffectAllow, "Bash(git status)")
			id := f.session(withPolicy(c.policy), func(s *terret.Session) { s.PermissionMode = c.mode })
			turn := f.prompt(id, "go")
			a := p.agent(t)
			a.prompted(t)
			use := func(tool string, class terret.ToolClass, input string, want terret.Behavior) {
				t.Helper()
				data := terret.ToolPre{ToolID: input, Name: tool, Class: class, Input: terret.JSON(input)}
				d, err := a.req.Host.Ask(t.Context(), terret.Ask{Key: input, Gate: terret.GatePreTool, Event: terret.Event{Data: data}})
				if err != nil || d.Behavior != want {
					t.Errorf("%s %s: %s because %q, %v; want %s", tool, input, d.Behavior, d.Reason, err, want)
				}
			}
			use("Bash", terret.ClassExecute, `{"command":"ls -l"}`, c.ls)
			use("Bash", terret.ClassExecute, `{"command":"git status"}`, terret.BehaviorAllow)
			use("Read", terret.ClassRead, `{"file_path":"a.txt"}`, c.inside)
			use("Read", terret.ClassRead, `{"file_path":"/etc/passwd"}`, c.ls)
			edit := terret.BehaviorPassthrough
			if c.mode != "plan" {
				edit = c.ls
			}
			use("Write", terret.ClassEdit, `{"file_path":"b.txt"}`, edit)
			use("TodoWrite", terret.ClassThink, `{"todos":[]}`, c.todos)
			a.complete(t, turn.ID)
			f.ended(id, turn.ID)
		})
	}
}

// A session whose agent cannot be held to its policy says so when the agent starts.
func TestUnkeptPolicies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy    terret.Policy
		mode      string
		oversight terret.Oversight
		want      string
	}{
		{terret.PolicyAsk, "", terret.OversightAll, ""},
		{terret.PolicyAsk, "auto", terret.OversightAll, "permission mode auto"},
		{terret.PolicyAsk, "", terret.OversightAsked, "covers only what this agent asks about"},
		{terret.PolicyDenyUnlessAllowed, "", terret.OversightNone, "has no effect"},
		{terret.PolicyDenyUnlessAllowed, "auto", terret.OversightAll, ""},
		{terret.PolicyAutoApprove, "", terret.OversightNone, ""},
	} {
		p := newPuppet()
		p.caps.Oversight = c.oversight
		f := openFixture(t, ":memory:", p)
		id := f.session(withPolicy(c.policy), func(s *terret.Session) { s.PermissionMode = c.mode })
		turn := f.prompt(id, "go")
		a := p.agent(t)
		a.prompted(t)
		a.complete(t, turn.ID)
		var said string
		for _, w := range all[terret.DiagWarning](f.ended(id, turn.ID)) {
			said += w.Text
		}
		if !strings.Contains(said, c.want) || (c.want == "") != (said == "") {
			t.Errorf("%+v: said %q", c, said)
		}
	}
}

// A policy that is chosen later is applied in any case, and says what it does not cover:
// refusing it would leave the session with less.
func TestUnkeptChange(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	p.caps.Oversight = terret.OversightAsked
	f := openFixture(t, ":memory:", p)
	id := f.session(withPolicy(terret.PolicyAutoApprove))
	turn := f.prompt(id, "go")
	a := p.agent(t)
	a.prompted(t)
	a.complete(t, turn.ID)
	after := f.ended(id, turn.ID)
	ask := terret.PolicyAsk
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Policy: &ask}, "tester"); err != nil {
		t.Fatal(err)
	}
	events := f.until(id, after[len(after)-1].Seq, func(ev terret.Event) bool { return ev.Kind() == terret.KindDiagWarning })
	if w := all[terret.DiagWarning](events); !strings.Contains(w[0].Text, "covers only what this agent asks about") {
		t.Errorf("%+v", w)
	}
	if s, err := f.store.Session(t.Context(), id); err != nil || s.Policy != terret.PolicyAsk {
		t.Errorf("%s, %v", s.Policy, err)
	}
}

// Asking again with the same key, at the same time or later, is one request; another
// request with that key, or of another agent process, is not answered by it.
func TestSameKey(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session()
	turn := f.prompt(id, "go")
	a := p.agent(t)
	a.prompted(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			d, err := a.ask("7", "make")
			if err != nil || d.Behavior != terret.BehaviorAllow {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	f.allow(f.request(id, 1).RequestID)
	group.Wait()
	if d, err := a.ask("7", "make"); err != nil || d.Behavior != terret.BehaviorAllow {
		t.Errorf("later: %+v, %v", d, err)
	}
	if n := len(all[terret.PermissionRequest](f.log(id))); n != 1 {
		t.Errorf("%d requests", n)
	}
	answer := make(chan terret.Decision, 1)
	group.Go(func() {
		d, _ := a.ask("7", "make install")
		answer <- d
	})
	f.decide(terret.Decision{RequestID: f.request(id, 2).RequestID, Behavior: terret.BehaviorDeny})
	if d := <-answer; d.Behavior != terret.BehaviorDeny {
		t.Errorf("another input was answered with %s", d.Behavior)
	}
	a.complete(t, turn.ID)
	f.ended(id, turn.ID)
	group.Wait()
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	turn = f.prompt(id, "again")
	b := p.agent(t)
	b.prompted(t)
	group.Go(func() {
		d, _ := b.ask("7", "make")
		answer <- d
	})
	f.decide(terret.Decision{RequestID: f.request(id, 3).RequestID, Behavior: terret.BehaviorDeny})
	if d := <-answer; d.Behavior != terret.BehaviorDeny {
		t.Errorf("a new process was given the old answer: %s", d.Behavior)
	}
	b.complete(t, turn.ID)
	f.ended(id, turn.ID)
	group.Wait()
	f.close()
	checkLog(t, f.store, id)
}

// An agent that stops waiting leaves a decided request behind.
func TestAgentStopsWaiting(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session()
	turn := f.prompt(id, "go")
	a := p.agent(t)
	a.prompted(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan terret.Decision)
	go func() {
		d, err := a.req.Host.Ask(ctx, askFor("1", "make"))
		if err != nil {
			t.Error(err)
		}
		done <- d
	}()
	f.request(id, 1)
	cancel()
	if d := <-done; d.Source != terret.ByAgentExit || d.Behavior != terret.BehaviorDeny {
		t.Errorf("%+v", d)
	}
	if _, err := a.req.Host.Ask(ctx, askFor("2", "make")); !errors.Is(err, context.Canceled) {
		t.Errorf("asked with a dead context: %v", err)
	}
	a.complete(t, turn.ID)
	f.ended(id, turn.ID)
	f.close()
	checkLog(t, f.store, id)
}

// An approved plan is carried out under another policy than the one that forbids
// every change.
func TestApprovedPlanLeavesPlanPolicy(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]terret.Policy{"": terret.PolicyAsk, "default": terret.PolicyAsk, "acceptEdits": terret.PolicyAcceptEdits} {
		p := newPuppet()
		f := openFixture(t, ":memory:", p)
		id := f.session(func(s *terret.Session) { s.Policy = terret.PolicyPlan })
		turn := f.prompt(id, "go")
		a := p.agent(t)
		a.prompted(t)
		answer := make(chan error, 1)
		go func() {
			_, err := a.req.Host.Ask(t.Context(), terret.Ask{Key: "plan", Gate: terret.GatePlan, Event: terret.Event{Data: terret.PlanRequest{Plan: "do it"}}})
			answer <- err
		}()
		request := f.until(id, 0, isKind("plan.request"))
		d := terret.Decision{RequestID: request[len(request)-1].Expects.RequestID, Behavior: terret.BehaviorApprove, NextMode: mode}
		if err := f.Decide(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; err != nil {
			t.Fatal(err)
		}
		a.complete(t, turn.ID)
		f.ended(id, turn.ID)
		if s, err := f.store.Session(t.Context(), id); err != nil || s.Policy != want {
			t.Errorf("next mode %q: policy %s, %v, want %s", mode, s.Policy, err, want)
		}
		f.close()
	}
}
