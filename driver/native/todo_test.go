package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// TestTodos has the model keep a list, which people see, and which outlives both a
// compaction and the agent.
func TestTodos(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - match: {user: begin}
    answer:
      tools:
        - {name: TodoWrite, input: {todos: [{content: look, status: completed}, {content: mend, status: in_progress}, {content: test, status: pending}]}}
  - {match: {tool_result: kept}, answer: {tools: [{name: TodoWrite, input: {todos: [{content: x, status: odd}]}}]}}
  - {match: {tool_result: status of item 1}, answer: {tools: [{name: TodoWrite, input: {todos: [{content: " ", status: pending}]}}]}}
  - {match: {tool_result: content of item 1}, answer: {tools: [{name: TodoWrite, input: {todo: []}}]}}
  - {match: {tool_result: cannot read the input}, answer: {text: begun}}
  - {match: {user: "/Summarize our conversation/"}, answer: {text: We began.}}
  - {match: {user: "/Summarize our conversation/"}, answer: {text: We began again.}}
  - {match: {user: on}, answer: {text: fine}}
`)
	id, ctx := f.session(claude), t.Context()
	events := f.run(id, "begin")
	want := []terret.PlanUpdate{{Entries: []terret.PlanEntry{{Text: "look", Status: "completed"}, {Text: "mend", Status: "in_progress"}, {Text: "test", Status: "pending"}}}}
	if diff := cmp.Diff(want, all[terret.PlanUpdate](events)); diff != "" {
		t.Error(diff)
	}
	for range 2 { // the second time, the call that wrote the list is gone
		turn, err := f.Compact(ctx, engine.CompactRequest{Session: id, By: "tester"})
		if err != nil {
			t.Fatal(err)
		}
		summary := last[terret.CompactPost](t, f.end(id, turn.ID)).Summary
		if !strings.HasSuffix(summary, "Still to do, by the list in TodoWrite:\n- mend (in_progress)\n- test (pending)") {
			t.Errorf("the summary is %q", summary)
		}
		if err := f.CloseSession(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	f.says(id, "on")
	if heard := strings.Join(spoken(got.nth(t, len(got.list())-1)), "\n"); !strings.Contains(heard, "- mend (in_progress)") || strings.Contains(heard, "- look") {
		t.Errorf("the model heard %s", heard)
	}
}

// TestFetchAsks has the model fetch from this machine: a person sees which host, and even
// one who allows it reaches nothing private. In plan mode it may read the web.
func TestFetchAsks(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "plan"} {
		f, _ := simulated(t, `
steps:
  - {match: {user: look}, answer: {tools: [{name: WebFetch, input: {url: "http://127.0.0.1:1/secret"}}]}}
  - {match: {tool_result: not an address of the public internet}, answer: {text: No.}}
`)
		id := f.session(claude, func(s *terret.Session) { s.Policy, s.PermissionMode = terret.PolicyAsk, mode })
		turn := f.prompt(id, "look")
		ask := f.asked(id, turn.ID)
		if d, ok := ask.Data.(terret.PermissionRequest); !ok || d.Class != terret.ClassFetch || d.Title != "Fetch http://127.0.0.1:1/secret" {
			t.Errorf("%+v", ask.Data)
		}
		f.decide(ask, terret.Decision{Behavior: terret.BehaviorAllow})
		if end := last[terret.TurnComplete](t, f.end(id, turn.ID)); end.Text != "No." {
			t.Errorf("%+v", end)
		}
	}
}
