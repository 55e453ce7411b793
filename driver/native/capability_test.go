package native_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
)

// proofs names the test that shows that a declared capability is true. One that is
// declared and not here fails, and so does one that is here and not declared.
var proofs = map[terret.Capability]func(*testing.T){
	terret.CanPermissions:  TestPersonDecides,
	terret.CanQuestions:    TestQuestion,
	terret.CanStream:       TestOrderOfEvents,
	terret.CanMultiTurn:    TestSecondTurnRemembers,
	terret.CanReconnect:    TestResume,
	terret.CanInterrupt:    TestInterruptInText,
	terret.CanEditInput:    TestEditedInputRuns,
	terret.CanSystemPrompt: TestWhatTheModelIsSent,
	terret.CanPlan:         TestPlanMode,
	terret.CanSelectModel:  TestModelOfOneTurn,
	terret.CanAttachments:  TestAttachments,
	terret.CanQueue:        TestQueuedPromptsRunInOrder,
	terret.CanUndo:         TestUndoConversation,
	terret.CanRedo:         TestUndoConversation,
	terret.CanSteer:        TestSteer,
	terret.CanCompact:      TestCompact,

	terret.CanStructuredOutput: TestStructuredOutput,
	terret.CanMCP:              TestMCP,
	terret.CanCost:             TestCost,
	terret.CanBudget:           TestBudget,
	terret.CanFork:             TestFork,
	terret.CanForkAt:           TestFork,
	terret.CanCommands:         TestCommands,
	terret.CanHooks:            TestHooks,
	terret.CanSubagents:        TestSubagents,
}

func TestCapabilitiesAreTrue(t *testing.T) {
	t.Parallel()
	a, err := bare(t, newHost(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := terret.CapabilitiesOf(a)
	for _, name := range terret.AllCapabilities() {
		if _, proven := proofs[name]; proven != c.Has(name) {
			t.Errorf("%s is declared: %v, proven: %v", name, c.Has(name), proven)
		}
	}
	if c.Oversight != terret.OversightAll { // TestOrderOfEvents, TestOnlyAllowAllows
		t.Errorf("oversight %s", c.Oversight)
	}
	for _, name := range []terret.Capability{terret.CanOneShot, terret.CanPrewarm, terret.CanReasoning} {
		if ability := c.Abilities[name]; ability.OK || ability.Reason == "" {
			t.Errorf("%s: %+v", name, ability)
		}
	}
	probe, err := native.New(native.Config{}).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Capabilities(), probe.Capabilities); diff != "" {
		t.Error(diff)
	}
}

func TestUndoAndRedo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{config: func(c *engine.Config) { c.Home = t.TempDir() }})
	id := f.session()
	f.run(id, "create a.txt containing x")
	if _, err := f.Undo(t.Context(), id, "tester", false); err != nil {
		t.Fatal(err)
	}
	if got := f.file("a.txt"); got != "(no file)" {
		t.Errorf("after undo a.txt holds %q", got)
	}
	if _, err := f.Redo(t.Context(), id, "tester", false); err != nil {
		t.Fatal(err)
	}
	if got := f.file("a.txt"); got != "x\n" {
		t.Errorf("after redo a.txt holds %q", got)
	}
}

// TestUndoConversation goes back and forward: what was undone is not sent to the
// model any more, also by an agent that is opened anew, and what was redone is.
func TestUndoConversation(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: two}, answer: {text: second}}
  - {match: {user: three}, answer: {text: third}}
  - {match: {user: four}, answer: {text: fourth}}
  - {match: {user: five}, answer: {text: fifth}}
`)
	id, ctx := f.session(claude), t.Context()
	sent := func(n int, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, spoken(got.nth(t, n))); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", n, diff)
		}
	}
	travel := func(how func(context.Context, string, string, bool) (engine.Rewound, error)) {
		t.Helper()
		if r, err := how(ctx, id, "tester", false); err != nil || !r.Conversation {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	restart := func() {
		t.Helper()
		if err := f.CloseSession(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	f.says(id, "one")
	f.says(id, "two")
	travel(f.Undo)
	f.says(id, "three")
	sent(2, "user one", "assistant first", "user three")
	travel(f.Undo)
	restart()
	f.says(id, "four")
	sent(3, "user one", "assistant first", "user four")
	travel(f.Undo)
	travel(f.Undo)
	restart()
	travel(f.Redo)
	restart()
	travel(f.Redo)
	if _, err := f.Redo(ctx, id, "tester", false); err == nil {
		t.Error("there is always something to redo")
	}
	f.says(id, "five")
	sent(4, "user one", "assistant first", "user four", "assistant fourth", "user five")
}

// TestRewindRefuses has what cannot be taken back.
func TestRewindRefuses(t *testing.T) {
	t.Parallel()
	a, err := bare(t, newHost(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := a.(terret.Rewinder)
	wantKind(t, r.Rewind(t.Context(), "msg_x"), terret.CodeNotFound)
	wantKind(t, r.Rewind(t.Context(), ""), terret.CodeNotFound)
	wantKind(t, r.Forward(t.Context()), terret.CodeConflict)
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKind(t, r.Rewind(t.Context(), "msg_x"), terret.CodeSessionClosed)
	wantKind(t, r.Forward(t.Context()), terret.CodeSessionClosed)
}

// TestAskedForWhatIsMissing has sessions that ask for what the agent cannot do: that
// is said, not passed over.
func TestAskedForWhatIsMissing(t *testing.T) {
	t.Parallel()
	key := map[string]string{"ANTHROPIC_API_KEY": canary}
	for name, in := range map[string]terret.Settings{
		"budget": {MaxCostUSD: terret.USD},
	} {
		_, err := bareWith(t, newHost(), key, in, claude)
		wantKind(t, err, terret.CodeUnsupported)
		if err != nil {
			wantWords(t, err.Error(), name)
		}
	}
	// The demo model costs nothing, so that a budget is kept.
	a, err := bareWith(t, newHost(), key, terret.Settings{MaxCostUSD: terret.USD})
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, a.(terret.ModelSetter).SetModel(t.Context(), "anthropic/x"), terret.CodeUnsupported)
}

func TestProbeAndModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env      map[string]string
		auth     string
		fallback string
		models   int
	}{
		{nil, "missing", "demo", 1},
		{map[string]string{"ANTHROPIC_API_KEY": " \n"}, "missing", "demo", 1},
		{map[string]string{"ANTHROPIC_API_KEY": canary}, "ok", "anthropic/claude-sonnet-4-5", 14},
		{map[string]string{"ANTHROPIC_AUTH_TOKEN": canary}, "ok", "anthropic/claude-sonnet-4-5", 14},
	} {
		d := native.New(native.Config{Getenv: func(name string) string { return c.env[name] }})
		p, err := d.Probe(t.Context())
		if err != nil || p.Agent != "native" || !p.Found || p.Auth != c.auth || (p.Fix == "") != (c.auth == "ok") {
			t.Errorf("%v: %+v, %v", c.env, p, err)
		}
		models, err := d.Models(t.Context())
		if err != nil || len(models) != c.models || d.DefaultModel() != c.fallback {
			t.Errorf("%v: %+v, %v, %s", c.env, models, err, d.DefaultModel())
		}
	}
	h := newHost()
	a, err := bare(t, h, nil, func(s *terret.Session) { s.Model = "" })
	if err != nil {
		t.Fatal(err)
	}
	if start := last[terret.SessionStart](t, h.list()); start.Model != "demo" || start.Source != "new" || !filepath.IsAbs(start.Cwd) {
		t.Errorf("%+v", start)
	}
	if models, err := a.(terret.ModelLister).Models(t.Context()); err != nil || len(models) != 1 {
		t.Errorf("%v, %v", models, err)
	}
}
