package native_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestStuck has a model that makes the same failing call again and again: a person is
// asked, and what they say counts.
func TestStuck(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"Stop": "", "Go on": "Stuck again.", "use Read instead": "I will."} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			after := "{answer: {text: Stuck again.}}"
			switch want {
			case "":
				after = "{repeat: forever, answer: {text: never}}"
			case "I will.":
				after = "{match: {user: use Read}, answer: {text: I will.}}"
			}
			f, _ := simulated(t, `
steps:
  - {repeat: 4, answer: {tools: [{name: Bash, input: {command: "false"}}]}}
  - `+after)
			id := f.session(claude)
			turn := f.prompt(id, "go").ID
			events := f.until(id, func(ev terret.Event) bool { _, ok := ev.Data.(terret.QuestionRequest); return ok || ended(turn)(ev) })
			ev := events[len(events)-1]
			if q, ok := ev.Data.(terret.QuestionRequest); !ok || !strings.Contains(q.Questions[0].Text, "The model called Bash in the same way 4 times") {
				t.Fatalf("%+v", ev.Data)
			}
			f.decide(ev, terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"answer": {answer}}})
			events = f.end(id, turn)
			if want == "" {
				if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeModelError || !strings.Contains(e.Message, "4 times") {
					t.Errorf("%+v", e)
				}
				return
			}
			if end := last[terret.TurnComplete](t, events); end.Text != want {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestNotStuck has calls that fail, but not all in the same way.
func TestNotStuck(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {repeat: 3, answer: {tools: [{name: Bash, input: {command: "false"}}]}}
  - {answer: {tools: [{name: Bash, input: {command: "exit 2"}}]}}
  - {repeat: 3, answer: {tools: [{name: Bash, input: {command: "false"}}]}}
  - {repeat: 5, answer: {tools: [{name: Bash, input: {command: "true"}}]}}
  - {answer: {text: Done.}}
`)
	events := f.run(f.session(claude, withOptions(terret.SessionOptions{Timeouts: map[terret.Gate]int{terret.GateQuestion: 1}})), "go")
	if end := last[terret.TurnComplete](t, events); end.Text != "Done." {
		t.Errorf("%+v", end)
	}
}

// TestFallback is that another model answers for the rest of the turn, if the one that was
// asked for is overloaded for too long, or does not exist.
func TestFallback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble string
		retries int
	}{
		"overloaded": {"{repeat: 3, answer: {error: {status: 529}}}", 2},
		"missing":    {"{answer: {error: {status: 404, type: not_found_error, message: no such model}}}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, got := simulated(t, "steps:\n  - "+c.trouble+`
  - {answer: {tools: [{name: Bash, input: {command: echo hi}}]}}
  - {answer: {text: Done.}}
  - {match: {user: more}, answer: {text: More.}}
`)
			id := f.session(claude, withOptions(terret.SessionOptions{FallbackModel: "openai/gpt-test"}))
			events := f.run(id, "go")
			if end := last[terret.TurnComplete](t, events); end.Text != "Done." {
				t.Errorf("%+v", end)
			}
			d := last[terret.ModelFallback](t, events)
			if d.From != "anthropic/claude-test" || d.To != "openai/gpt-test" || d.Why == "" || len(all[terret.Retry](events)) != c.retries {
				t.Errorf("%+v, %+v", d, all[terret.Retry](events))
			}
			f.says(id, "more")
			var models []string
			for _, r := range got.list() {
				models = append(models, r.Request.Model)
			}
			if n := len(models); models[n-1] != "claude-test" || models[n-2] != "gpt-test" || models[n-3] != "gpt-test" || models[n-4] != "claude-test" {
				t.Error(models)
			}
		})
	}
}
