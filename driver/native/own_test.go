package native_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

type counting struct {
	To   int    `json:"to" jsonschema:"the last number"`
	Word string `json:"word,omitempty"`
}

func counter() native.Tool {
	return native.NewTool("Count", "Counts.", func(ctx context.Context, in counting) (string, error) {
		switch in.Word {
		case "fail":
			return "", errors.New("cannot count")
		case "panic":
			panic("oh no")
		case "wait":
			<-ctx.Done()
		}
		return strings.Repeat("x", in.To), nil
	})
}

// TestOwnTools runs a tool of the program that embeds the agent: with input that fits the
// schema and such that does not, one that fails, and one that panics.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer:
      tools:
        - {name: Count, input: {to: 3}}
        - {name: Count, input: {to: three}}
        - {name: Count, input: {to: 1, more: 2}}
        - {name: Count, input: {to: 1, word: fail}}
        - {name: Count, input: {to: 1, word: panic}}
  - {answer: {text: Done.}}
`, func(s *setup) { s.native.Tools = []native.Tool{counter()} })
	id := f.session(claude, withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "go").ID
	asked := map[int64]bool{}
	for len(asked) < 3 {
		events := f.until(id, func(ev terret.Event) bool { return ev.Expects != nil && !asked[ev.Seq] })
		ev := events[len(events)-1]
		if d, ok := ev.Data.(terret.PermissionRequest); !ok || d.Tool != "Count" || d.Class != terret.ClassOther {
			t.Fatalf("%+v", ev.Data)
		}
		asked[ev.Seq] = true
		f.decide(ev, terret.Decision{Gate: terret.GatePermission, Behavior: terret.BehaviorAllow})
	}
	last[terret.TurnComplete](t, f.end(id, turn))
	said := spoken(got.nth(t, 1))
	wantWords(t, said[2], "result xxx result Count: the input does not fit the schema", `"more"`, "cannot count", "the tool Count panicked: oh no")
	for _, x := range got.nth(t, 0).Tools {
		if x.Name == "Count" && (x.Description != "Counts." || x.InputSchema["additionalProperties"] != false || len(x.InputSchema["properties"].(map[string]any)) != 2) {
			t.Errorf("%+v", x)
		}
	}
}

// TestOwnToolIsInterrupted is that an interrupt reaches the tool.
func TestOwnToolIsInterrupted(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `{steps: [{answer: {tools: [{name: Count, input: {to: 3, word: wait}}]}}]}`, func(s *setup) { s.native.Tools = []native.Tool{counter()} })
	id := f.session(claude)
	turn := f.prompt(id, "go").ID
	f.until(id, func(ev terret.Event) bool { _, ok := ev.Data.(terret.PermissionDecision); return ok })
	f.interrupt(id)
	if e := last[terret.TurnError](t, f.end(id, turn)).Error; e.Code != terret.CodeInterrupted {
		t.Errorf("%+v", e)
	}
}

// TestBadTools are tools that cannot be used: that is said when a session starts.
func TestBadTools(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, struct{}) (string, error) { return "", nil }
	for want, own := range map[string][]native.Tool{
		`"" cannot be the name`:          {native.NewTool("", "", nothing)},
		`"a b" cannot be the name`:       {native.NewTool("a b", "", nothing)},
		`"mcp__a__b" cannot be the name`: {native.NewTool("mcp__a__b", "", nothing)},
		"two tools with the name Bash":   {native.NewTool("Bash", "", nothing)},
		"two tools with the name Count":  {counter(), counter()},
		"Made was not made by NewTool":   {{Name: "Made"}},
		"it must be a struct or a map":   {native.NewTool("Say", "", func(context.Context, string) (string, error) { return "", nil })},
		"the tool Odd has no schema":     {native.NewTool("Odd", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })},
	} {
		f := newFixture(t, setup{native: native.Config{Tools: own}})
		if e := last[terret.TurnError](t, f.run(f.session(), "hi")).Error; e.Code != terret.CodeInvalidRequest || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %+v", want, e)
		}
	}
}
