package drivertest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// asking are scenarios in which somebody decides.
var asking = []scenario{
	{name: "tool allowed", needs: terret.CanPermissions, run: toolAllowed},
	{name: "tool denied", needs: terret.CanPermissions, run: toolDenied},
	{name: "difference before an edit", needs: terret.CanPermissions, run: diffBefore},
	{name: "denied and stopped", needs: terret.CanPermissions, run: deniedAndStopped},
	{name: "allowed for the session", needs: terret.CanPermissions, run: allowedForSession},
	{name: "edited input", needs: terret.CanEditInput, run: editedInput},
	{name: "several requests open", also: []terret.Capability{terret.CanPermissions}, cannot: asksOneByOne, run: severalOpen},
	{name: "late answer", needs: terret.CanPermissions, run: lateAnswer},
	{name: "answer from another process", needs: terret.CanPermissions, run: answerElsewhere},
	{name: "question", needs: terret.CanQuestions, cannot: noQuestions, run: question},
	{name: "question rejected", needs: terret.CanQuestions, cannot: noQuestions, run: questionRejected},
	{name: "plan approved", needs: terret.CanPlan, cannot: noPlans, run: planApproved},
	{name: "plan revised", needs: terret.CanPlan, cannot: noPlans, run: planRevised},
}

func allow(r terret.Event) terret.Decision {
	return terret.Decision{Gate: r.Expects.Gate, Behavior: terret.BehaviorAllow}
}

func deny(r terret.Event, why string) terret.Decision {
	return terret.Decision{Gate: r.Expects.Gate, Behavior: terret.BehaviorDeny, Reason: why}
}

// permission is a request about a tool.
func (f *fixture) permission(session, turn string, but ...terret.Event) (terret.Event, terret.PermissionRequest) {
	f.Helper()
	ev := f.asked(session, turn, but...)
	d, ok := ev.Data.(terret.PermissionRequest)
	if !ok {
		f.Fatalf("asked for %s", ev.Kind())
	}
	return ev, d
}

// told is what the model hears of the reason for a denial.
func (f *fixture) told(reason string) string {
	if f.target.Lacks.DenialReason {
		return ""
	}
	return reason
}

// refused holds that a turn in which something was denied went well, and ended with
// that text if the agent went on.
func (f *fixture) refused(events []terret.Event, want string) terret.TurnComplete {
	f.Helper()
	if f.target.Lacks.DenialGoesOn {
		return last[terret.TurnComplete](f, events)
	}
	return f.completed(events, want)
}

// byPerson holds that a person decided that.
func (f *fixture) byPerson(events []terret.Event, request terret.Event, want terret.Behavior) {
	f.Helper()
	if d := decisionFor(f, events, request.Expects.RequestID); d.Behavior != want || d.Source != terret.ByUser || d.By != tester {
		f.Errorf("decided: %+v", d)
	}
}

func toolAllowed(f *fixture) {
	f.play(step{User: "make it", Calls: []Call{f.target.Tools.Shell("touch made.txt && echo it is made")}}, step{Result: "it is made", Text: "Made."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, request := f.permission(id, turn)
	if request.Tool != f.target.Tools.Shell("").Name || request.Class != terret.ClassExecute || request.ToolID == "" || request.Title == "" ||
		!strings.Contains(string(request.Input), "touch made.txt") || request.InputHash != terret.InputHash(request.Input) {
		f.Errorf("%+v", request)
	}
	f.holds("made.txt", "(no file)")
	f.decide(ev, allow(ev))
	events := f.end(id, turn)
	f.completed(events, "Made.")
	f.holds("made.txt", "")
	f.byPerson(events, ev, terret.BehaviorAllow)
	if post := last[terret.ToolPost](f, events); post.ToolID != request.ToolID {
		f.Errorf("asked for %s, ran %s", request.ToolID, post.ToolID)
	}
	r, err := f.seats[0].store.Request(f.Context(), ev.Expects.RequestID)
	if err != nil || !r.Delivered {
		f.Errorf("the agent was not told: %+v, %v", r, err)
	}
}

func toolDenied(f *fixture) {
	f.play(step{User: "make it", Calls: []Call{f.target.Tools.Write(f.at("made.txt"), "x")}}, step{Result: f.told("not on a Sunday"), Text: "Then not."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, request := f.permission(id, turn)
	if request.Class != terret.ClassEdit {
		f.Errorf("%+v", request)
	}
	f.decide(ev, deny(ev, "not on a Sunday"))
	events := f.end(id, turn)
	end := f.refused(events, "Then not.")
	f.holds("made.txt", "(no file)")
	f.byPerson(events, ev, terret.BehaviorDeny)
	failure := last[terret.ToolFailure](f, events)
	if !failure.Denied || failure.ToolID != request.ToolID || !strings.Contains(failure.Error, "not on a Sunday") {
		f.Errorf("%+v", failure)
	}
	if len(end.Denials) != 1 || end.Denials[0].ToolID != request.ToolID {
		f.Errorf("the turn tells of %+v", end.Denials)
	}
}

// diffBefore is that people see what an edit would change before they allow it.
func diffBefore(f *fixture) {
	tools := f.target.Tools
	f.write("old.txt", "one\ntwo\nthree\n")
	steps := []step{
		{User: "change", Calls: []Call{tools.Read(f.at("old.txt"))}},
		{Calls: []Call{tools.Edit(f.at("old.txt"), "two", "zwei")}},
		{Calls: []Call{tools.Write(f.at("new.txt"), "fresh\n")}},
		{Text: "Changed."},
	}
	if readsByShell(f.target) != "" {
		steps = steps[1:] // it need not read what it changes, and would ask
	}
	f.play(steps...)
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "change it")
	edit, request := f.permission(id, turn)
	var look terret.Event
	if request.Class != terret.ClassEdit { // some agents ask before they read, too
		look = edit
		f.decide(look, allow(look))
		edit, request = f.permission(id, turn, look)
	}
	if !strings.Contains(request.Diff, "\n-two\n+zwei\n") {
		f.Errorf("the difference of the edit is %q", request.Diff)
	}
	f.decide(edit, allow(edit))
	write, request := f.permission(id, turn, look, edit)
	if !strings.Contains(request.Diff, "\n+fresh\n") {
		f.Errorf("the difference of the new file is %q", request.Diff)
	}
	f.decide(write, allow(write))
	f.completed(f.end(id, turn), "Changed.")
	f.holds("old.txt", "one\nzwei\nthree")
}

// tooLate adds an answer for agents that ask the model once more after their turn was
// stopped.
func (f *fixture) tooLate(steps ...step) []step {
	if f.target.Lacks.DenialStops {
		steps = append(steps, step{Result: "aborted", Text: "Too late.", Repeat: true, Anywhere: true})
	}
	return steps
}

// deniedAndStopped is a denial after which the agent may not go on.
func deniedAndStopped(f *fixture) {
	f.play(f.tooLate(step{User: "make it", Calls: []Call{f.target.Tools.Shell("touch made.txt")}}, step{User: "go on", Text: "Gone on."})...)
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, _ := f.permission(id, turn)
	d := deny(ev, "stop it")
	d.Interrupt = true
	f.decide(ev, d)
	f.failed(f.end(id, turn), terret.CodeInterrupted)
	f.holds("made.txt", "(no file)")
	f.says(id, "go on", "Gone on.")
}

func allowedForSession(f *fixture) {
	count := []Call{f.target.Tools.Shell("echo x >> count.txt")}
	f.play(
		step{User: "make it", Calls: count}, step{Calls: count}, step{Text: "Both."},
		step{User: "once more", Calls: count}, step{Text: "Again."},
	)
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, _ := f.permission(id, turn)
	d := allow(ev)
	d.Scope = terret.ScopeSession
	f.decide(ev, d)
	f.completed(f.end(id, turn), "Both.")
	f.says(id, "once more", "Again.")
	f.holds("count.txt", "x\nx\nx")
}

func editedInput(f *fixture) {
	f.play(step{User: "make it", Calls: []Call{f.target.Tools.Shell("touch wrong.txt")}}, step{Text: "Made."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, _ := f.permission(id, turn)
	input, err := json.Marshal(f.target.Tools.Shell("touch right.txt").Input)
	if err != nil {
		f.Fatalf("%v", err)
	}
	d := allow(ev)
	d.UpdatedInput = input
	f.decide(ev, d)
	f.completed(f.end(id, turn), "Made.")
	f.holds("wrong.txt", "(no file)")
	f.holds("right.txt", "")
}

func asksOneByOne(t Target) string { return t.Lacks.SeveralAsks }

// severalOpen answers the second request first. Only what changes nothing runs at
// the same time in all agents, and only what is elsewhere is asked for.
func severalOpen(f *fixture) {
	outside := filepath.Join(filepath.Dir(f.dir), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		f.Fatalf("%v", err)
	}
	f.write("../outside/a.txt", "alpha")
	f.write("../outside/b.txt", "beta")
	read := f.target.Tools.Read
	f.play(step{User: "read both", Calls: []Call{read(filepath.Join(outside, "a.txt")), read(filepath.Join(outside, "b.txt"))}}, step{Text: "One of them."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "read both")
	one, _ := f.permission(id, turn)
	two, second := f.permission(id, turn, one)
	f.decide(two, allow(two))
	f.decide(one, deny(one, "not that"))
	events := f.end(id, turn)
	f.refused(events, "One of them.")
	allowed, denied := "alpha", "beta"
	if strings.Contains(string(second.Input), "b.txt") {
		allowed, denied = denied, allowed
	}
	if !f.target.Lacks.DenialGoesOn {
		f.heard(allowed, f.told("not that"))
	}
	if strings.Contains(f.model.last().User, denied) {
		f.Errorf("it was read all the same")
	}
	f.byPerson(events, one, terret.BehaviorDeny)
	f.byPerson(events, two, terret.BehaviorAllow)
}

// lateAnswer is one that comes after the time is over.
func lateAnswer(f *fixture) {
	f.config = func(c *engine.Config) { c.Timeouts = map[terret.Gate]time.Duration{terret.GatePermission: time.Second} }
	f.play(step{User: "make it", Calls: []Call{f.target.Tools.Shell("touch made.txt")}}, step{Text: "Nobody answered."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, _ := f.permission(id, turn)
	events := f.end(id, turn)
	f.refused(events, "Nobody answered.")
	d := allow(ev)
	d.RequestID, d.By = ev.Expects.RequestID, tester
	if err := f.e.Decide(f.Context(), d); !errors.Is(err, terret.ErrAlreadyDecided) {
		f.Errorf("the late answer: %v", err)
	}
	if d := decisionFor(f, events, ev.Expects.RequestID); d.Source != terret.ByTimeout || d.Behavior != terret.BehaviorDeny {
		f.Errorf("decided: %+v", d)
	}
	f.holds("made.txt", "(no file)")
}

// answerElsewhere is given to a second engine on the same store.
func answerElsewhere(f *fixture) {
	f.play(step{User: "make it", Calls: []Call{f.target.Tools.Shell("touch made.txt")}}, step{Text: "Made."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make it")
	ev, _ := f.permission(id, turn)
	d := allow(ev)
	d.RequestID, d.By = ev.Expects.RequestID, tester
	if err := f.open().engine.Decide(f.Context(), d); err != nil {
		f.Fatalf("decide: %v", err)
	}
	events := f.end(id, turn)
	f.completed(events, "Made.")
	f.byPerson(events, ev, terret.BehaviorAllow)
	f.holds("made.txt", "")
}

func noQuestions(t Target) string {
	if t.Tools.Ask == nil {
		return "it does not ask questions"
	}
	return ""
}

// waitsWith holds that a request names the call that waits for it, if the agent tells of
// that call.
func (f *fixture) waitsWith(events []terret.Event, id, tool string) {
	f.Helper()
	want := ""
	for _, d := range all[terret.ToolPre](events) {
		if d.Name == tool {
			want = d.ToolID
		}
	}
	if id != want {
		f.Errorf("the request names the call %q, want %q", id, want)
	}
}

// questioned waits for the question, which is checked.
func (f *fixture) questioned(session, turn string) (terret.Event, terret.Question) {
	f.Helper()
	ev := f.asked(session, turn)
	d, ok := ev.Data.(terret.QuestionRequest)
	if !ok || len(d.Questions) != 1 {
		f.Fatalf("asked: %+v", ev)
	}
	q := d.Questions[0]
	if q.Text != "Which colour?" || len(q.Options) != 2 || q.Options[1].Label != "Blue" {
		f.Errorf("%+v", q)
	}
	return ev, q
}

func question(f *fixture) {
	f.play(step{User: "paint", Calls: []Call{f.target.Tools.Ask("Which colour?", "Red", "Blue")}}, step{Result: "Blue", Text: "Blue it is."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "paint")
	ev, q := f.questioned(id, turn)
	f.decide(ev, terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{q.ID: {"Blue"}}})
	events := f.end(id, turn)
	f.completed(events, "Blue it is.")
	f.byPerson(events, ev, terret.BehaviorAnswer)
	asked, _ := ev.Data.(terret.QuestionRequest)
	f.waitsWith(events, asked.ToolID, f.target.Tools.Ask("").Name)
}

func questionRejected(f *fixture) {
	f.play(step{User: "paint", Calls: []Call{f.target.Tools.Ask("Which colour?", "Red", "Blue")}}, step{Text: "No colour then."})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "paint")
	ev, _ := f.questioned(id, turn)
	f.decide(ev, terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorReject, Reason: "you decide"})
	f.refused(f.end(id, turn), "No colour then.")
	f.heard(f.told("you decide"))
}

func noPlans(t Target) string {
	if t.Tools.Plan == nil && t.PlanText == nil {
		return "it does not plan"
	}
	return ""
}

func (f *fixture) planned(session, turn string, but ...terret.Event) terret.Event {
	f.Helper()
	ev := f.asked(session, turn, but...)
	if d, ok := ev.Data.(terret.PlanRequest); !ok || !strings.Contains(d.Plan, "Write a file") {
		f.Fatalf("asked: %+v", ev)
	}
	return ev
}

// planSteps is a model that plans.
func planSteps(t Target) []step {
	const plan = "Write a file."
	if t.PlanText != nil {
		return []step{{User: "plan", Text: t.PlanText(plan)}}
	}
	if t.PlanFile == "" {
		return []step{{User: "plan", Calls: []Call{t.Tools.Plan(plan)}}}
	}
	return []step{
		{User: "plan", Reminder: t.PlanFile, Calls: []Call{t.Tools.Write("{{plan_file}}", plan)}},
		{Calls: []Call{t.Tools.Plan(plan)}},
	}
}

func planning(t Target) func(*terret.Session) {
	return func(s *terret.Session) { s.Policy, s.PermissionMode = terret.PolicyAsk, t.PlanMode }
}

// planApproved is that nothing is changed before the plan is approved, and that it
// is carried out in the same turn.
func planApproved(f *fixture) {
	tools := f.target.Tools
	f.play(slices.Concat(planSteps(f.target), []step{
		{Calls: []Call{tools.Write(f.at("made.txt"), "x")}}, {Text: "Carried out."},
	})...)
	id := f.session(planning(f.target))
	turn := f.prompt(id, "plan it")
	ev := f.planned(id, turn)
	f.holds("made.txt", "(no file)")
	f.decide(ev, terret.Decision{Gate: terret.GatePlan, Behavior: terret.BehaviorApprove})
	write, _ := f.permission(id, turn, ev)
	f.decide(write, allow(write))
	events := f.end(id, turn)
	f.completed(events, "Carried out.")
	f.byPerson(events, ev, terret.BehaviorApprove)
	if asked, _ := ev.Data.(terret.PlanRequest); tools.Plan != nil {
		f.waitsWith(events, asked.ToolID, tools.Plan("").Name)
	}
	f.holds("made.txt", "x")
	s, err := f.seats[0].store.Session(f.Context(), id)
	if err != nil || s.PermissionMode == f.target.PlanMode {
		f.Errorf("the permission mode is still %s (%v)", s.PermissionMode, err)
	}
}

func planRevised(f *fixture) {
	again := step{Result: f.told("a smaller file"), Text: "I will think again."}
	if f.target.PlanText != nil {
		again = step{User: "a smaller file", Text: "I will think again."}
	}
	f.play(append(planSteps(f.target), again)...)
	id := f.session(planning(f.target))
	turn := f.prompt(id, "plan it")
	ev := f.planned(id, turn)
	f.decide(ev, terret.Decision{Gate: terret.GatePlan, Behavior: terret.BehaviorRevise, Reason: "a smaller file"})
	if f.target.Lacks.PlanGoesOn {
		last[terret.TurnComplete](f, f.end(id, turn))
	} else {
		f.refused(f.end(id, turn), "I will think again.")
	}
	s, err := f.seats[0].store.Session(f.Context(), id)
	if err != nil || s.PermissionMode != f.target.PlanMode {
		f.Errorf("the permission mode is %s (%v)", s.PermissionMode, err)
	}
}
