package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestThinking is that thoughts are shown as they come, and sent back with their
// signature: with the results of tools, and by an agent that is opened anew. Another
// model does not get them.
func TestThinking(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {thinking: hmm let me see, signature: c2lnbg, tools: [{name: Bash, input: {command: echo hi}}]}}
  - {match: {tool_result: hi}, answer: {text: Four.}}
  - {match: {user: two}, answer: {text: Five.}}
  - {match: {user: three}, answer: {text: Six.}}
`)
	id := f.session(claude)
	events := f.run(id, "one")
	var thought strings.Builder
	for _, d := range all[terret.ReasoningDelta](events) {
		thought.WriteString(d.Text)
	}
	m := all[terret.MessageComplete](events)[0]
	if thought.String() != "hmm let me see" || len(m.Blocks) != 2 || m.Blocks[0].Type != terret.BlockThinking || m.Blocks[0].Text != thought.String() {
		t.Errorf("%q, %+v", thought.String(), m)
	}
	if end := last[terret.TurnComplete](t, events); end.Text != "Four." {
		t.Errorf("%+v", end)
	}
	want := []string{"user one", `assistant thought hmm let me see signed c2lnbg call Bash{"command":"echo hi"}`, "user result hi\n"}
	if diff := cmp.Diff(want, spoken(got.nth(t, 1))); diff != "" {
		t.Error(diff)
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.says(id, "two")
	want = append(want, "assistant Four.", "user two")
	if diff := cmp.Diff(want, spoken(got.nth(t, 2))); diff != "" {
		t.Error(diff)
	}
	p := text("three")
	p.Options.Model = "anthropic/claude-other"
	f.end(id, f.promptWith(id, p).ID)
	if said := strings.Join(spoken(got.nth(t, 3)), "\n"); strings.Contains(said, "hmm") || !strings.Contains(said, "call Bash") {
		t.Error(said)
	}
}

// TestHowToThink is what models are asked, by what is known about them.
func TestHowToThink(t *testing.T) {
	t.Parallel()
	prices := withPrices(t, `{"models": {"anthropic/old": {"thinking": "budget"}, "anthropic/oldest": {"thinking": "none"}}}`)
	for _, c := range []struct {
		model, effort string
		want, output  map[string]any
		max           int
	}{
		{"anthropic/new", "", map[string]any{"type": "adaptive", "display": "summarized"}, nil, 16_000},
		{"anthropic/new", "high", map[string]any{"type": "adaptive", "display": "summarized"}, map[string]any{"effort": "high"}, 16_000},
		{"anthropic/old", "", map[string]any{"type": "enabled", "budget_tokens": 10_000.0}, nil, 26_000},
		{"anthropic/old", "low", map[string]any{"type": "enabled", "budget_tokens": 4000.0}, nil, 20_000},
		{"anthropic/old", "none", nil, nil, 16_000},
		{"anthropic/oldest", "high", nil, nil, 16_000},
	} {
		f, got := simulated(t, "steps: [{answer: {text: ok}}]", prices)
		f.says(f.session(func(s *terret.Session) { s.Model, s.Options.Effort = c.model, c.effort }), "hi")
		w := got.nth(t, 0)
		if diff := cmp.Diff(c.want, w.Thinking) + cmp.Diff(c.output, w.Output); diff != "" || w.MaxTokens != c.max {
			t.Errorf("%s %s: %d tokens, %s", c.model, c.effort, w.MaxTokens, diff)
		}
	}
}

// TestCannotThink is a model that refuses to think: it is asked again, and not to think
// from then on.
func TestCannotThink(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {answer: {error: {status: 400, type: invalid_request_error, message: adaptive thinking is not supported on this model}}}
  - {match: {user: one}, answer: {text: One.}}
  - {match: {user: two}, answer: {text: Two.}}
`)
	id := f.session(claude)
	if one, two := f.says(id, "one"), f.says(id, "two"); one != "One." || two != "Two." {
		t.Error(one, two)
	}
	for i, asked := range []bool{true, false, false} {
		if w := got.nth(t, i); (w.Thinking != nil) != asked {
			t.Errorf("request %d: %v", i, w.Thinking)
		}
	}
}

// TestThinkInMidCall is that a model with a budget, which must have thought about a call
// to think about its result, is not asked to.
func TestThinkInMidCall(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {tools: [{name: Bash, input: {command: echo hi}}]}}
  - {match: {tool_result: hi}, answer: {thinking: hm, tools: [{name: Bash, input: {command: echo ho}}]}}
  - {match: {tool_result: ho}, answer: {text: Done.}}
`, withPrices(t, `{"models": {"anthropic/claude-test": {"thinking": "budget"}}}`))
	f.says(f.session(claude), "one")
	for i, asked := range []bool{true, false, true} {
		if w := got.nth(t, i); (w.Thinking != nil) != asked {
			t.Errorf("request %d: %v", i, w.Thinking)
		}
	}
}

// TestCacheMarks is that each step marks the end of the conversation, and where the last
// one did.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {tools: [{name: Bash, input: {command: echo hi}}]}}
  - {match: {tool_result: hi}, answer: {tools: [{name: Bash, input: {command: echo ho}}]}}
  - {match: {tool_result: ho}, answer: {text: Done.}}
`)
	f.says(f.session(claude), "one")
	for i, want := range []string{"*", "*.*", "..*.*"} {
		marks := ""
		for _, m := range got.nth(t, i).Messages {
			mark := "."
			for _, b := range m.Content {
				if b.CacheControl != nil {
					mark = "*"
				}
			}
			marks += mark
		}
		if marks != want {
			t.Errorf("request %d is marked %s, not %s", i, marks, want)
		}
	}
}
