package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestSubagents has two subagents that wait for each other: one with a model and tools of
// its own, one as it comes. The turn's usage has theirs in it; the agent remembers only
// what they reported.
func TestSubagents(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - match: {first: main, user: main}
    anywhere: true
    answer:
      tools:
        - {name: Task, input: {description: one, prompt: left hand, subagent_type: lefty}}
        - {name: Task, input: {description: two, prompt: right hand}}
      usage: {input: 100, output: 10}
  - {match: {first: left hand, user: left hand}, anywhere: true, answer: {tools: [{name: Bash, input: {command: "mkfifo {{tmp}}/a {{tmp}}/b 2>/dev/null; echo 1 > {{tmp}}/a; cat {{tmp}}/b; echo first"}}], usage: {input: 100, output: 10}}}
  - {match: {first: right hand, user: right hand}, anywhere: true, answer: {tools: [{name: Bash, input: {command: "until [ -p {{tmp}}/b ]; do sleep 0.01; done; cat {{tmp}}/a; echo 2 > {{tmp}}/b; echo second"}}], usage: {input: 100, output: 10}}}
  - {match: {first: left hand, tool_result: first}, anywhere: true, answer: {text: "left: 2", usage: {input: 100, output: 10}}}
  - {match: {first: right hand, tool_result: second}, anywhere: true, answer: {text: "right: 1", usage: {input: 100, output: 10}}}
  - {match: {first: main, tool_result: "right: 1"}, anywhere: true, answer: {text: Both., usage: {input: 100, output: 10}}}
  - {match: {first: main, user: again}, anywhere: true, answer: {text: Again.}}
`, withPrices(t, costly))
	id := f.session(claude, withOptions(terret.SessionOptions{
		Agents: terret.JSON(`{"lefty": {"description": "for left hands", "prompt": "You are left-handed.", "tools": ["Bash"], "model": "openai/gpt-test"}}`),
	}))
	events := f.run(id, "main")
	end := last[terret.TurnComplete](t, events)
	if end.Text != "Both." || end.Usage.Input != 600 || end.Usage.Output != 60 || end.CostUSD.String() != "0.012" || end.NumSteps != 2 {
		t.Errorf("%+v", end)
	}
	starts, stops := all[terret.SubagentStart](events), all[terret.SubagentStop](events)
	if len(starts) != 2 || len(stops) != 2 {
		t.Fatalf("%+v, %+v", starts, stops)
	}
	for _, ev := range events {
		d, ok := ev.Data.(terret.SubagentStop)
		if !ok {
			continue
		}
		i := slices.IndexFunc(starts, func(s terret.SubagentStart) bool { return s.ID == d.ID })
		if i < 0 || ev.Actor != terret.SubActor(d.ID) || ev.ParentTool == "" || d.Usage.Input != 200 ||
			d.Result != map[string]string{"left hand": "left: 2", "right hand": "right: 1"}[starts[i].Prompt] {
			t.Errorf("%+v", ev)
		}
	}
	for _, r := range got.list() {
		var tools []string
		for _, x := range r.Request.Tools {
			tools = append(tools, x.Name)
		}
		switch first := r.Request.Messages[0].Blocks[0].Text; first {
		case "left hand":
			if r.Request.Model != "gpt-test" || !cmp.Equal(tools, []string{"Bash"}) || !strings.Contains(r.Request.System, "You are left-handed.") {
				t.Errorf("%s: %v, %s", r.Request.Model, tools, r.Request.System)
			}
		case "right hand":
			if r.Request.Model != "claude-test" || slices.Contains(tools, "Task") || slices.Contains(tools, "Ask") || !slices.Contains(tools, "Read") {
				t.Errorf("%s: %v", r.Request.Model, tools)
			}
		}
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.says(id, "again")
	said := spoken(got.nth(t, len(got.list())-1))
	if len(said) != 5 || said[2] != "user result left: 2 result right: 1" {
		t.Errorf("%q", said)
	}
}

// TestTaskFails has subagents that cannot be started, fail, or may not.
func TestTaskFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, step, want string
	}{
		"no prompt":     {`{description: x, prompt: " "}`, "", "the prompt is empty"},
		"no such kind":  {`{description: x, prompt: look, subagent_type: nobody}`, "", "there is no subagent_type nobody; there are general"},
		"no such model": {`{description: x, prompt: look, model: nowhere/x}`, "", "there is no model"},
		"an error":      {`{description: x, prompt: look}`, `{match: {first: look}, anywhere: true, answer: {error: {status: 400, message: "no way"}}}`, "The subagent failed: the API failed: no way"},
		"denied":        {`{description: x, prompt: look}`, "", "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := ""
			if c.step != "" {
				step = "  - " + c.step + "\n"
			}
			f, _ := simulated(t, "steps:\n"+step+`
  - {match: {first: main, user: main}, anywhere: true, answer: {tools: [{name: Task, input: `+c.input+`}]}}
  - {match: {first: main}, anywhere: true, answer: {text: Well.}}
`)
			o := terret.SessionOptions{}
			if name == "denied" {
				o.Deny = []string{"Task"}
			}
			events := f.run(f.session(claude, withOptions(o)), "main")
			if d := last[terret.ToolFailure](t, events); !strings.Contains(d.Error, c.want) || d.Denied != (name == "denied") {
				t.Errorf("%+v", d)
			}
			if end := last[terret.TurnComplete](t, events); end.Text != "Well." || len(all[terret.SubagentStart](events)) != len(all[terret.SubagentStop](events)) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestInterruptedSubagent is that nothing of a subagent outlives the turn.
func TestInterruptedSubagent(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {match: {first: main}, anywhere: true, answer: {tools: [{name: Task, input: {description: x, prompt: look}}]}}
  - {match: {first: look}, anywhere: true, answer: {tools: [{name: Bash, input: {command: "touch begun; sleep 1000"}}]}}
`)
	id := f.session(claude)
	turn := f.prompt(id, "main").ID
	f.until(id, func(ev terret.Event) bool { _, ok := ev.Data.(terret.PermissionDecision); return ok })
	f.interrupt(id)
	events := f.end(id, turn)
	if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeInterrupted {
		t.Errorf("%+v", e)
	}
	last[terret.SubagentStop](t, events)
}

// TestHelpersFromFiles is that kinds of subagents come from the user's folder, and from a
// trusted project.
func TestHelpersFromFiles(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	put(t, user, map[string]string{"agents/mine.md": "---\ndescription: my own\n---\nDo.", "agents/broken.md": "---\n"})
	for _, trusted := range []bool{true, false} {
		f, got := simulated(t, `{steps: [{answer: {text: ok}}]}`, trusting(user, trusted))
		put(t, f.dir, map[string]string{".claude/agents/theirs.md": "---\nname: reviewer\ndescription: reviews\ntools: Read, Grep\nmodel: sonnet\n---\nReview."})
		f.says(f.session(claude), "hi")
		w := got.nth(t, 0)
		about := w.Tools[slices.IndexFunc(w.Tools, func(x struct {
			Name        string
			Description string
			InputSchema map[string]any `json:"input_schema"`
		},
		) bool {
			return x.Name == "Task"
		})].Description
		if !strings.Contains(about, "mine: my own") || strings.Contains(about, "reviewer: reviews") != trusted || strings.Contains(about, "broken") {
			t.Error(about)
		}
	}
}
