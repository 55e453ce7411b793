package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

func TestSteer(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Ask, input: {question: why?}}]}}
  - {match: {user: use blue}, answer: {text: "Blue it is.", hold: end}}
  - {match: {user: or green}, answer: {text: Green.}}
`)
	id := f.session(claude)
	turn := f.prompt(id, "begin")
	request := f.asked(id, turn.ID)
	steer := func(words string) error {
		_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text(words), When: engine.WhenSteer, By: "tester"})
		return err
	}
	if err := steer("use blue"); err != nil {
		t.Fatal(err)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"answer": {"because"}}})
	f.until(id, func(ev terret.Event) bool { // the last answer has begun
		d, ok := ev.Data.(terret.MessageDelta)
		return ok && strings.Contains(d.Text, "Blue")
	})
	if err := steer("or green"); err != nil {
		t.Fatal(err)
	}
	got.release("end")
	if end := last[terret.TurnComplete](t, f.end(id, turn.ID)); end.Text != "Green." || end.NumSteps != 3 {
		t.Errorf("%+v", end)
	}
	want := []string{"user begin", `assistant call Ask{"question":"why?"}`, "user result because use blue", "assistant Blue it is.", "user or green"}
	if diff := cmp.Diff(want, spoken(got.nth(t, 2))); diff != "" {
		t.Error(diff)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: two}, answer: {text: second}}
  - {match: {user: "/(?s)Summarize our conversation.*Mind the gap/"}, answer: {text: We counted to two., usage: {input: 50, output: 5}}}
  - {match: {user: three}, answer: {text: third}}
  - {match: {user: four}, answer: {text: fourth}}
`)
	id, ctx := f.session(claude), t.Context()
	turn, err := f.Compact(ctx, engine.CompactRequest{Session: id, By: "tester"})
	if err == nil {
		if e := last[terret.TurnError](t, f.end(id, turn.ID)).Error; e.Code != terret.CodeConflict {
			t.Errorf("of nothing: %+v", e)
		}
	}
	f.says(id, "one")
	f.says(id, "two")
	if turn, err = f.Compact(ctx, engine.CompactRequest{Session: id, By: "tester", Instructions: "Mind the gap."}); err != nil {
		t.Fatal(err)
	}
	events := f.end(id, turn.ID)
	last[terret.TurnComplete](t, events)
	if d := last[terret.CompactPost](t, events); d.Summary != "We counted to two." || d.TokensAfter != 5 || d.TokensBefore == 0 {
		t.Errorf("%+v", d)
	}
	const asked = "user Summarize our conversation so far. You will go on with nothing but this summary."
	f.says(id, "three")
	if diff := cmp.Diff([]string{asked, "assistant We counted to two.", "user three"}, spoken(got.nth(t, 3))); diff != "" {
		t.Error(diff)
	}
	if err := f.CloseSession(ctx, id, ""); err != nil {
		t.Fatal(err)
	}
	f.says(id, "four")
	want := []string{asked, "assistant We counted to two.", "user three", "assistant third", "user four"}
	if diff := cmp.Diff(want, spoken(got.nth(t, 4))); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
}

func TestDemoCompacts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	f.says(id, "create a.txt containing x")
	for _, more := range []string{"list files", "read a.txt"} {
		f.says(id, more)
		turn, err := f.Compact(t.Context(), engine.CompactRequest{Session: id, By: "tester"})
		if err != nil {
			t.Fatal(err)
		}
		wantWords(t, last[terret.CompactPost](t, f.end(id, turn.ID)).Summary, "- create a.txt containing x", "- "+more)
	}
	wantWords(t, f.says(id, "list files"), "a.txt")
}

// TestTooLong has an API that says that the conversation is too long: it is compacted,
// and the turn goes on.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]func(*terret.Session){"messages": claude, "chat": gpt} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: two}, answer: {error: {status: 400, message: "prompt is too long: 300000 tokens > 200000 maximum"}}}
  - {match: {user: Summarize our conversation}, answer: {error: {status: 400, message: "prompt is too long, still"}}}
  - {match: {user: Summarize our conversation}, answer: {text: "We counted, and two is wanted."}}
  - {match: {user: Go on with the task}, answer: {text: second}}
`)
			id := f.session(model)
			f.says(id, "one")
			events := f.run(id, "two")
			if end := last[terret.TurnComplete](t, events); end.Text != "second" {
				t.Errorf("%+v", end)
			}
			if d := last[terret.CompactPre](t, events); d.Trigger != "auto" {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	schema := terret.JSON(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`)
	for name, c := range map[string]struct {
		steps string
		want  string // empty: there is none
		said  string // the text then
	}{
		"at once":    {`[{answer: {tools: [{name: StructuredOutput, input: {count: 3}}]}}]`, `{"count":3}`, ""},
		"mended":     {`[{answer: {tools: [{name: StructuredOutput, input: {count: three}}]}}, {match: {tool_result: does not fit the schema}, answer: {tools: [{name: StructuredOutput, input: {count: 3}}]}}]`, `{"count":3}`, ""},
		"forgotten":  {`[{answer: {text: Three.}}, {match: {user: by calling the tool StructuredOutput}, answer: {tools: [{name: StructuredOutput, input: {count: 3}}]}}]`, `{"count":3}`, ""},
		"refused":    {`[{answer: {text: Three.}, repeat: 3}]`, "", "Three."},
		"never fits": {`[{answer: {tools: [{name: StructuredOutput, input: {count: three}}]}}, {answer: {tools: [{name: StructuredOutput, input: {number: 3}}]}, repeat: 4}]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := simulated(t, "steps: "+c.steps)
			id := f.session(claude, withOptions(terret.SessionOptions{OutputSchema: schema}))
			events := f.run(id, "how many")
			if c.want == "" {
				if e := last[terret.TurnError](t, events); e.Error.Code != terret.CodeMaxStructured || e.Text != c.said {
					t.Errorf("%+v", e)
				}
				return
			}
			if end := last[terret.TurnComplete](t, events); string(end.Structured) != c.want || end.StopReason != "end_turn" {
				t.Errorf("%+v", end)
			}
		})
	}
	f, _ := simulated(t, "steps: [{answer: {text: never}}]")
	for _, bad := range []string{`{"type":7}`, `{"type":"array"}`, `{"type":"object","properties":{"a":{"$ref":"http://example.org/x"}}}`} {
		id := f.session(claude, withOptions(terret.SessionOptions{OutputSchema: terret.JSON(bad)}))
		if e := last[terret.TurnError](t, f.run(id, "go")).Error; e.Code != terret.CodeInvalidRequest || e.Field != "output_schema" {
			t.Errorf("%s: %+v", bad, e)
		}
	}
}
