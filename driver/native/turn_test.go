package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

func TestTurnDoesWhatIsAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	wantWords(t, f.says(id, "create a.txt containing one two."), "Created a.txt (9 bytes).")
	if got := f.file("a.txt"); got != "one two.\n" {
		t.Errorf("a.txt holds %q", got)
	}
	wantWords(t, f.says(id, "list files"), "a.txt")
	wantWords(t, f.says(id, "read a.txt"), "one two.")
	wantWords(t, f.says(id, "search for two"), "a.txt:1:one two.")
	wantWords(t, f.says(id, "replace two with three in a.txt, then run: cat a.txt"), "one three.")
	wantWords(t, f.says(id, "Sing a song"), "I understand", "`list files`")
	if got := f.file("a.txt"); got != "one three.\n" {
		t.Errorf("a.txt holds %q", got)
	}
}

func TestOrderOfEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	events := f.run(id, "create a.txt containing x, then read a.txt, then run: exit 3")
	want := "turn.start " +
		"tool.start message.complete tool.pre permission.request permission.decision tool.post file.changed message.complete " +
		"tool.start message.complete tool.pre hook.decision tool.post message.complete " +
		"tool.start message.complete tool.pre permission.request permission.decision tool.failure message.complete " +
		"message.complete turn.complete"
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(story(events))); diff != "" {
		t.Error(diff)
	}
	end := last[terret.TurnComplete](t, events)
	if end.NumSteps != 4 || end.StopReason != "end_turn" || end.Usage.Output == 0 || end.CostUSD != 0 || len(end.Denials) > 0 {
		t.Errorf("%+v", end)
	}
	streamed := map[string]string{}
	for _, d := range all[terret.MessageDelta](events) {
		streamed[d.MessageID] += d.Text
	}
	for _, m := range all[terret.MessageComplete](events) {
		if m.Role == terret.RoleAssistant && streamed[m.MessageID] != terret.TextOf(m.Blocks) {
			t.Errorf("streamed %q of %q", streamed[m.MessageID], terret.TextOf(m.Blocks))
		}
	}
	if got := last[terret.FileChanged](t, events); got.Path != filepath.Join(f.dir, "a.txt") || got.Change != "created" {
		t.Errorf("%+v", got)
	}
	input := ""
	for _, d := range all[terret.ToolDelta](events) {
		input += d.PartialInput
	}
	wantWords(t, input, `"file_path":"a.txt"`, `"command":"exit 3"`)
}

func TestPartialOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id, off := f.session(), false
	p := text("list files")
	p.Options.Partial = &off
	events := f.end(id, f.promptWith(id, p).ID)
	if n := len(all[terret.MessageDelta](events)) + len(all[terret.ToolDelta](events)); n > 0 {
		t.Errorf("%d deltas", n)
	}
	last[terret.TurnComplete](t, events)
}

func TestDenied(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	for name, c := range map[string]struct {
		session func(*terret.Session)
		words   string
	}{
		"by rule":   {withOptions(terret.SessionOptions{Deny: []string{"Write"}}), "Rule Write denies"},
		"by policy": {withPolicy(terret.PolicyPlan), "policy plan denies"},
	} {
		id := f.session(c.session)
		events := f.run(id, "create denied.txt containing x, then list files")
		end := last[terret.TurnComplete](t, events)
		fail := last[terret.ToolFailure](t, events)
		if !fail.Denied || len(end.Denials) != 1 || end.Denials[0].Tool != "Write" || f.file("denied.txt") != "(no file)" {
			t.Errorf("%s: %+v, %+v", name, fail, end)
		}
		wantWords(t, fail.Error, "denied: ", c.words)
		first := all[terret.MessageComplete](events)[2] // after the call and its result
		wantWords(t, terret.TextOf(first.Blocks), "That did not work: denied", "I will list the files.")
	}
}

func TestPersonDecides(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	ask := f.session(withPolicy(terret.PolicyAsk))

	turn := f.prompt(ask, "create a.txt containing x")
	request := f.asked(ask, turn.ID)
	data := request.Data.(terret.PermissionRequest)
	if data.Tool != "Write" || data.Class != terret.ClassEdit || data.Title != "Write a.txt" || !strings.Contains(data.Diff, "+x") {
		t.Errorf("%+v", data)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorAllow})
	f.end(ask, turn.ID)
	if got := f.file("a.txt"); got != "x\n" {
		t.Errorf("a.txt holds %q", got)
	}

	turn = f.prompt(ask, "run: echo unwanted > b.txt")
	f.decide(f.asked(ask, turn.ID), terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not today"})
	events := f.end(ask, turn.ID)
	wantWords(t, last[terret.TurnComplete](t, events).Text, "That did not work: denied: not today")
	if f.file("b.txt") != "(no file)" {
		t.Error("it ran")
	}
}

func TestEditedInputRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "create a.txt containing x")
	f.decide(f.asked(id, turn.ID), terret.Decision{
		Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"file_path":"b.txt","content":"other"}`),
	})
	events := f.end(id, turn.ID)
	if f.file("a.txt") != "(no file)" || f.file("b.txt") != "other" {
		t.Errorf("a.txt %q, b.txt %q", f.file("a.txt"), f.file("b.txt"))
	}
	// The model must know that it was not what it asked for.
	wantWords(t, terret.TextOf(last[terret.ToolPost](t, events).Content), "input was changed", "b.txt", "Created b.txt")

	turn = f.prompt(id, "create c.txt containing x")
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"nonsense":1}`)})
	wantWords(t, last[terret.ToolFailure](t, f.end(id, turn.ID)).Error, "nonsense")
}

func TestDenyAndStop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "run: echo x > a.txt, then list files")
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorDeny, Interrupt: true})
	events := f.end(id, turn.ID)
	if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeInterrupted || e.Message == "" {
		t.Errorf("%+v", e)
	}
	if f.file("a.txt") != "(no file)" || len(all[terret.ToolPre](events)) != 1 {
		t.Error("it went on")
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	turn := f.prompt(id, "ask me")
	request := f.asked(id, turn.ID)
	q := request.Data.(terret.QuestionRequest).Questions
	if len(q) != 1 || len(q[0].Options) != 2 || q[0].Header != "Colour" {
		t.Errorf("%+v", q)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{q[0].ID: {"red", "teal"}}})
	wantWords(t, last[terret.TurnComplete](t, f.end(id, turn.ID)).Text, "You chose red, teal.")

	turn = f.prompt(id, "ask me") // clients that key answers otherwise
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"Which colour do you like best?": {"blue"}}})
	wantWords(t, last[terret.TurnComplete](t, f.end(id, turn.ID)).Text, "You chose blue.")

	turn = f.prompt(id, "ask me")
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorReject, Reason: "busy"})
	end := last[terret.TurnComplete](t, f.end(id, turn.ID))
	wantWords(t, end.Text, "That did not work: the question was not answered: busy")
	if len(end.Denials) > 0 {
		t.Errorf("a question is no denial: %+v", end.Denials)
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{config: func(c *engine.Config) { c.Unattended = true }})
	id := f.session(withPolicy(terret.PolicyAsk))
	wantWords(t, f.says(id, "ask me"), "nobody to ask")
	wantWords(t, f.says(id, "run: date"), "denied: nobody to ask")
}

func TestPlan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "make a plan")
	request := f.asked(id, turn.ID)
	wantWords(t, request.Data.(terret.PlanRequest).Plan, "1. Look at the files")
	f.decide(request, terret.Decision{Behavior: terret.BehaviorApprove})
	wantWords(t, last[terret.TurnComplete](t, f.end(id, turn.ID)).Text, "The plan is approved.")

	turn = f.prompt(id, "make a plan")
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorRevise, Reason: "more tests"})
	wantWords(t, last[terret.TurnComplete](t, f.end(id, turn.ID)).Text, "The plan was not approved: more tests")
}

// TestPlanMode holds what capability plan_mode says: the agent changes nothing
// before a plan is approved, whatever the policy allows.
func TestPlanMode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	f.write("a.txt", "x\n")
	id := f.session(withPolicy(terret.PolicyRules), withOptions(terret.SessionOptions{Allow: []string{"Write", "Bash"}}), func(s *terret.Session) { s.PermissionMode = "plan" })
	events := f.run(id, "create b.txt containing x, then run: touch c.txt, then read a.txt")
	if denied := all[terret.PermissionDenied](events); len(denied) != 2 || denied[0].Tool != "Write" || denied[1].Tool != "Bash" {
		t.Errorf("%+v", denied)
	}
	if f.file("b.txt") != "(no file)" || f.file("c.txt") != "(no file)" {
		t.Error("something changed")
	}
	last[terret.ToolPost](t, events) // of reading
	if n := len(last[terret.TurnComplete](t, events).Denials); n != 2 {
		t.Errorf("%d denials", n)
	}

	turn := f.prompt(id, "make a plan, then create b.txt containing x")
	f.decide(f.asked(id, turn.ID), terret.Decision{Behavior: terret.BehaviorApprove, NextMode: "acceptEdits"})
	events = f.end(id, turn.ID)
	if mode := last[terret.SessionUpdated](t, events).PermissionMode; mode == nil || *mode != "acceptEdits" {
		t.Errorf("mode %v", mode)
	}
	if got := f.file("b.txt"); got != "x\n" {
		t.Errorf("b.txt holds %q", got)
	}

	// For one turn only.
	p := text("run: touch d.txt")
	p.Options.PermissionMode = "plan"
	f.end(id, f.promptWith(id, p).ID)
	if f.file("d.txt") != "(no file)" {
		t.Error("d.txt is there")
	}
	f.run(id, "run: touch d.txt")
	if f.file("d.txt") != "" {
		t.Error("d.txt is not there")
	}

	// Set in the middle of the session.
	mode := "plan"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{PermissionMode: &mode}, "tester"); err != nil {
		t.Fatal(err)
	}
	f.run(id, "run: touch e.txt")
	if f.file("e.txt") != "(no file)" {
		t.Error("e.txt is there")
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	events := f.run(id, "fail")
	if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeModelError || e.Retryable {
		t.Errorf("%+v", e)
	}
	if len(all[terret.Retry](events)) > 0 {
		t.Error("it was tried again")
	}
	wantWords(t, f.says(id, "list files"), "[no files match]") // the session goes on
}

func TestMaxTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(withOptions(terret.SessionOptions{MaxTurns: 2}))
	const three = "list files, then list files, then list files"
	e := last[terret.TurnError](t, f.run(id, three))
	if e.Error.Code != terret.CodeMaxTurns {
		t.Errorf("%+v", e)
	}
	p := text(three)
	p.Options.MaxTurns = 4
	last[terret.TurnComplete](t, f.end(id, f.promptWith(id, p).ID))
}

func TestReadingInsideIsNotAskedButDeniedByRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	f.write("open.txt", "public\n")
	f.write("secret.txt", "private\n")
	id := f.session(withPolicy(terret.PolicyAsk), withOptions(terret.SessionOptions{Deny: []string{"Read(secret.txt)"}}))
	events := f.run(id, "read open.txt, then read secret.txt")
	if n := len(all[terret.PermissionRequest](events)); n > 0 {
		t.Errorf("%d permission requests", n)
	}
	wantWords(t, terret.TextOf(last[terret.ToolPost](t, events).Content), "public")
	if d := last[terret.ToolFailure](t, events); !d.Denied || !strings.Contains(d.Error, "Rule Read(secret.txt) denies") {
		t.Errorf("%+v", d)
	}
	// Where a rule leaves open whether it denies, a person is asked.
	turn := f.prompt(id, "search for private")
	request := f.asked(id, turn.ID)
	if request.Data.(terret.PermissionRequest).Tool != "Grep" {
		t.Errorf("%+v", request)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorDeny})
	if text := last[terret.TurnComplete](t, f.end(id, turn.ID)).Text; strings.Contains(text, "secret.txt") {
		t.Errorf("%q", text)
	}
}

func TestOutsideIsAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	outside := filepath.Join(t.TempDir(), "far.txt")
	if err := os.WriteFile(outside, []byte("far away\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "read "+outside)
	request := f.asked(id, turn.ID)
	if request.Kind() != "permission.request" {
		t.Errorf("%+v", request)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorAllow})
	wantWords(t, last[terret.TurnComplete](t, f.end(id, turn.ID)).Text, "far away")

	added := f.session(withPolicy(terret.PolicyAsk), withOptions(terret.SessionOptions{AddDirs: []string{filepath.Dir(outside)}}))
	wantWords(t, f.says(added, "read "+outside), "far away") // not asked
}
