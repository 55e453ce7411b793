package native_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

func isKind(k terret.Kind) func(terret.Event) bool {
	return func(ev terret.Event) bool { return ev.Kind() == k }
}

func TestInterruptInText(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - match: {user: talk}
    answer: {text: "and so on ", times: 100000, delay: 1ms}
  - match: {user: and now}
    answer: {text: fine}
`)
	id := f.session(claude)
	turn := f.prompt(id, "talk")
	f.until(id, isKind("message.delta"))
	f.interrupt(id)
	events := f.end(id, turn.ID)
	e := last[terret.TurnError](t, events)
	if e.Error.Code != terret.CodeInterrupted || !strings.HasPrefix(e.Text, "and ") {
		t.Errorf("%+v", e.Error)
	}
	if e.Usage.Input == 0 { // what is billed is told, also of what broke off
		t.Errorf("usage %+v", e.Usage)
	}
	if len(all[terret.MessageComplete](events)) > 0 {
		t.Error("an answer that broke off is not complete")
	}
	f.says(id, "and now")
	var roles []string
	for _, m := range got.nth(t, 1).Messages {
		roles = append(roles, m.Role+" "+m.Content[0].Text)
	}
	if diff := cmp.Diff([]string{"user talk", "assistant [There is no answer: the turn ended before it.]", "user and now"}, roles); diff != "" {
		t.Error(diff)
	}
}

func TestInterruptInDemoText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session()
	turn := f.prompt(id, "hello"+strings.Repeat(", then hello", 200))
	f.until(id, isKind("message.delta"))
	f.interrupt(id)
	if e := last[terret.TurnError](t, f.end(id, turn.ID)); e.Error.Code != terret.CodeInterrupted || !strings.HasPrefix(e.Text, "Hello") {
		t.Errorf("%+v", e)
	}
}

// TestInterruptInRequest interrupts while a person is asked: that is no denial, and
// the model is not called again.
func TestInterruptInRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	for _, words := range []string{"run: echo x > a.txt", "ask me", "make a plan"} {
		id := f.session(withPolicy(terret.PolicyAsk))
		turn := f.prompt(id, words)
		f.asked(id, turn.ID)
		f.interrupt(id)
		events := f.end(id, turn.ID)
		e := last[terret.TurnError](t, events)
		if e.Error.Code != terret.CodeInterrupted || len(e.Denials) > 0 {
			t.Errorf("%s: %+v", words, e)
		}
		if fail := last[terret.ToolFailure](t, events); fail.Denied || !fail.Interrupted {
			t.Errorf("%s: %+v", words, fail)
		}
		if n := len(all[terret.MessageComplete](events)); n != 2 {
			t.Errorf("%s: %d messages: %v", words, n, kindsOf(events))
		}
		if f.file("a.txt") != "(no file)" {
			t.Error("it ran")
		}
		wantWords(t, f.says(id, "list files"), "no files match")
	}
}

// TestInterruptInCall breaks off an answer in which a call was announced.
func TestInterruptInCall(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - answer:
      delay: 1s
      chunk: 1
      tools: [{name: Bash, input: {command: echo a very long command}}]
`)
	id := f.session(claude)
	turn := f.prompt(id, "go")
	f.until(id, isKind("tool.start"))
	f.interrupt(id)
	events := f.end(id, turn.ID)
	start, fail := last[terret.ToolStart](t, events), last[terret.ToolFailure](t, events)
	if fail.ToolID != start.ToolID || !fail.Interrupted {
		t.Errorf("%+v, %+v", start, fail)
	}
	if len(all[terret.ToolPre](events)) > 0 {
		t.Error("it was used")
	}
}

// TestSteeredThenInterrupted holds that the model hears what was said in a turn that ended
// before it could: the log says that it was told.
func TestSteeredThenInterrupted(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: begin}, answer: {tools: [{name: Bash, input: {command: "touch begun; sleep 1000"}}]}}
  - {match: {user: next}, answer: {text: Well.}}
`)
	id := f.session(claude)
	turn := f.prompt(id, "begin")
	f.until(id, isKind("tool.pre"))
	_, err := f.Prompt(t.Context(), engine.PromptRequest{
		Session: id, When: engine.WhenSteer, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("mind the gap")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.interrupt(id)
	f.end(id, turn.ID)
	f.says(id, "next")
	if said := spoken(got.nth(t, 1)); !strings.Contains(strings.Join(said, "\n"), "mind the gap") {
		t.Errorf("%q", said)
	}
}

func TestInterruptWhileRetrying(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, "steps: [{answer: {error: {status: 500}}, repeat: forever}]", func(s *setup) {
		s.native.Backoff = func(int, time.Duration) time.Duration { return time.Hour }
	})
	id := f.session(claude)
	turn := f.prompt(id, "go")
	f.until(id, isKind("retry"))
	f.interrupt(id)
	if e := last[terret.TurnError](t, f.end(id, turn.ID)); e.Error.Code != terret.CodeInterrupted {
		t.Errorf("%+v", e)
	}
	if n := len(got.list()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestSecondTurnRemembers(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: two}, answer: {text: second}}
`)
	id := f.session(claude)
	f.says(id, "one")
	f.says(id, "two")
	if diff := cmp.Diff([]string{"user one", "assistant first", "user two"}, spoken(got.nth(t, 1))); diff != "" {
		t.Error(diff)
	}
}

// spoken is a request in short.
func spoken(w wire) []string {
	var out []string
	for _, m := range w.Messages {
		line := m.Role
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				line += " call " + b.Name + string(b.Input)
			case "tool_result":
				line += " result " + b.Content[0].Text
			case "thinking":
				line += " thought " + *b.Thinking + " signed " + b.Signature
			default:
				line += " " + b.Text
			}
		}
		out = append(out, line)
	}
	return out
}

// TestResume closes the engine in various states of a conversation, and goes on with
// another one on the same store.
func TestResume(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terret.db")
	scenario := `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: two}, answer: {tools: [{name: Bash, input: {command: echo hi}}]}}
  - {match: {tool_result: hi}, answer: {text: second}}
  - {match: {user: three}, answer: {tools: [{name: Ask, input: {question: why?}}]}}
`
	f, _ := simulated(t, scenario, func(s *setup) { s.path = path })
	id := f.session(claude)
	f.says(id, "one")
	f.says(id, "two")
	turn := f.prompt(id, "three")
	f.asked(id, turn.ID)
	f.close() // in an open request

	f, got := simulated(t, `
steps:
  - {match: {user: four}, answer: {text: fourth}}
  - {match: {user: five}, answer: {text: fifth}}
`, func(s *setup) { s.path = path })
	f.says(id, "four")
	f.says(id, "five")
	want := []string{
		"user one", "assistant first", `user two`, `assistant call Bash{"command":"echo hi"}`, "user result hi\n", "assistant second",
		"user three", `assistant call Ask{"question":"why?"}`, "user result The turn was interrupted before this tool had run to its end. four",
	}
	if diff := cmp.Diff(want, spoken(got.nth(t, 0))); diff != "" {
		t.Error(diff)
	}
	// What is in memory is what would be read from the log.
	want = append(want, "assistant fourth", "user five")
	if diff := cmp.Diff(want, spoken(got.nth(t, 1))); diff != "" {
		t.Error(diff)
	}
	var sources []string
	for _, s := range all[terret.SessionStart](f.until(id, isKind("turn.complete"))) {
		sources = append(sources, s.Source)
	}
	if len(sources) == 0 || sources[0] != "new" {
		t.Errorf("%v", sources)
	}
}

// TestResumeDemo does the same without a network.
func TestResumeDemo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terret.db")
	f := newFixture(t, setup{path: path})
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "run: date")
	f.asked(id, turn.ID)
	f.close()
	f = newFixture(t, setup{path: path})
	wantWords(t, f.says(id, "list files"), "no files match")
	var resumed bool
	f.until(id, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.SessionStart)
		resumed = resumed || ok && d.Source == "resume"
		return resumed
	})
}

func TestQueuedPromptsRunInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(withPolicy(terret.PolicyAsk))
	first := f.prompt(id, "ask me")
	request := f.asked(id, first.ID)
	second, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("list files"), When: engine.WhenQueue})
	if err != nil {
		t.Fatal(err)
	}
	f.decide(request, terret.Decision{Behavior: terret.BehaviorReject})
	last[terret.TurnComplete](t, f.end(id, second.ID))
}
