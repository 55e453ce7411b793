package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/terret-dev/terret/test/sim"
)

func player(t testing.TB, text string) *sim.Player {
	t.Helper()
	p, err := sim.NewPlayer(parse(t, text), map[string]string{"dir": "/a.b"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func says(role string, blocks ...sim.Block) sim.Message {
	return sim.Message{Role: role, Blocks: blocks}
}

func textBlock(s string) sim.Block   { return sim.Block{Type: sim.BlockText, Text: s} }
func resultBlock(s string) sim.Block { return sim.Block{Type: sim.BlockToolResult, ID: "t", Text: s} }

// request has a tool, so that it is no side call.
func request(messages ...sim.Message) sim.Request {
	return sim.Request{Model: "m", Messages: messages, Tools: []sim.Tool{{Name: "Bash"}}}
}

func ask(s string) sim.Request { return request(says("user", textBlock(s))) }

// answer is the text of the answer, or its error.
func answer(t testing.TB, p *sim.Player, r sim.Request) string {
	t.Helper()
	reply, err := p.Answer(t.Context(), r)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for ev, err := range reply.Events(t.Context()) {
		if err != nil {
			return out.String() + " ! " + err.Error()
		}
		out.WriteString(ev.Text)
	}
	return out.String()
}

func TestMatching(t *testing.T) {
	t.Parallel()
	reminder := "<system-reminder>\nsecret word\n</system-reminder>"
	for _, c := range []struct {
		name, match string
		request     sim.Request
		want        bool
	}{
		{"a part", "user: ell", ask("hello"), true},
		{"no part", "user: elk", ask("hello"), false},
		{"a regexp", "user: /^h.*o$/", ask("hello"), true},
		{"a variable is literal", "user: '/^{{dir}}$/'", ask("/aXb"), false},
		{"a variable", "user: '/^{{dir}}$/'", ask("/a.b"), true},
		{"each text by itself", "user: /^hello$/", request(says("user", textBlock("hello"), textBlock("context"))), true},
		{"over all texts", `user: '/(?s)hello.*context/'`, request(says("user", textBlock("hello"), textBlock("context"))), true},
		{"a message after the user's", "user: /^hello$/", request(says("user", textBlock("hello")), says("user", textBlock("context")), says("system", textBlock("x"))), true},
		{"reminders are not seen", "user: secret", request(says("user", textBlock("hello"), textBlock(reminder))), false},
		{"around a reminder", "user: /^hello$/", request(says("user", textBlock(reminder+"hello"+reminder))), true},
		{"an open reminder stays", "user: secret", ask("<system-reminder> secret"), true},
		{"not what was said before", "user: hello", request(says("user", textBlock("hello")), says("assistant", textBlock("hi")), says("user", textBlock("bye"))), false},
		{"a tool result", "tool_result: made", request(says("user", textBlock("go")), says("assistant"), says("user", resultBlock("made it"))), true},
		{"one of two tool results", "tool_result: /^b$/", request(says("user", resultBlock("a"), resultBlock("b"))), true},
		{"a text is no tool result", "tool_result: made", ask("made"), false},
		{"a tool result is no text", "user: made", request(says("user", resultBlock("made"))), false},
		{"an empty tool result", "tool_result: /^$/", request(says("user", resultBlock(""))), true},
		{"both", "user: also, tool_result: made", request(says("user", resultBlock("made"), textBlock("also"))), true},
		{"the first text", "first: go", request(says("user", textBlock(reminder)), says("user", textBlock("go")), says("assistant"), says("user", textBlock("x"))), true},
		{"the model", "model: /^m$/", ask("x"), true},
		{"the system prompt", "system: You", sim.Request{System: "You are", Tools: []sim.Tool{{}}}, true},
		{"any", "any: true", request(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := player(t, "steps:\n  - answer: {text: yes}\n    match: {"+c.match+"}\n")
			if got := answer(t, p, c.request); (got == "yes") != c.want {
				t.Errorf("got %s", got)
			}
			if got := len(p.Unmatched()) == 0; got != c.want {
				t.Errorf("unmatched %v", p.Unmatched())
			}
		})
	}
}

func TestStepsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	p := player(t, `
steps:
  - {match: {user: joke}, anywhere: true, repeat: 2, answer: {text: ha}}
  - {name: one, match: {user: a}, answer: {text: first}}
  - {match: {user: b}, repeat: 2, answer: {text: second}}
  - {match: {user: z}, anywhere: true, answer: {text: last}}
`)
	for _, c := range [][2]string{
		{"z", "last"},
		{"joke", "ha"},
		{"b", "no step"},
		{"a joke", "ha"},
		{"a joke", "first"},
		{"b", "second"},
		{"b", "second"},
		{"b", "no step"},
	} {
		got := answer(t, p, ask(c[0]))
		if got != c[1] && !strings.Contains(got, c[1]) {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
	}
	want := []string{
		`sim: no step of test.yaml answers request 3: it came with the user's text "b" for model "m"; expected step 1 (test.yaml:3:5): the user's text contains "joke", or step 2 "one" (test.yaml:4:5): the user's text contains "a"`,
		`sim: no step of test.yaml answers request 8: it came with the user's text "b" for model "m"; all steps are used up`,
	}
	if diff := cmp.Diff(want, p.Unmatched()); diff != "" {
		t.Error(diff)
	}
}

func TestUnmatchedIsA400(t *testing.T) {
	t.Parallel()
	p := player(t, "steps:\n  - {match: {user: a}, answer: {text: x}}\n")
	_, err := p.Answer(t.Context(), request(says("user", resultBlock(strings.Repeat("é", 300)))))
	e, ok := errors.AsType[*sim.Error](err)
	if !ok || e.Status != 400 || !strings.Contains(e.Message, `the tool result "ééé`) || !strings.Contains(e.Message, "and 100 characters more") {
		t.Error(err)
	}
	if got := p.Remaining(); len(got) != 1 || got[0] != "step 1 (test.yaml:2:5)" {
		t.Error(got)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	p := player(t, `
steps:
  - match: {user: '/task (?P<id>\w+)/', first: '/(?P<who>\w+)/'}
    answer: {text: '{{who}} {{id}} {{ dir }} {{open}}id}} {{last}}'}
  - answer: {tools: [{name: T, input: {a: ['{{last}}', 1, null, true], '{{k}}': 1.5}}]}
`)
	if got, want := answer(t, p, ask("do task b7")), "do b7 /a.b {{id}} do task b7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := answer(t, p, ask(`"`)), `{"a":["\"",1,null,true],"{{k}}":1.5}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSideCalls(t *testing.T) {
	t.Parallel()
	side := func(s string) sim.Request {
		r := ask(s)
		r.Tools = nil
		return r
	}
	p := player(t, `
side_answer: A title
steps:
  - {side: true, match: {user: title}, answer: {text: Mine}}
  - {match: {user: title}, answer: {text: main}}
`)
	for _, c := range []struct {
		r    sim.Request
		want string
	}{{side("quota"), "A title"}, {side("title"), "Mine"}, {side("title"), "A title"}, {ask("title"), "main"}} {
		if got := answer(t, p, c.r); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := p.Remaining(); len(got) > 0 {
		t.Error(got)
	}
	p = player(t, "side_calls: steps\nsteps:\n  - answer: {text: main}\n")
	if got := answer(t, p, side("x")); got != "main" {
		t.Error(got)
	}
}

func TestConversations(t *testing.T) {
	t.Parallel()
	const steps = "steps:\n  - answer: {text: one}\n  - answer: {text: two}\n"
	again := func(first string) sim.Request {
		return request(says("user", textBlock(first)), says("assistant", textBlock("x")), says("user", textBlock("more")))
	}
	p := player(t, "conversations: first_text\n"+steps)
	for _, c := range []struct {
		r    sim.Request
		want string
	}{{ask("a"), "one"}, {ask("b"), "one"}, {again("a"), "two"}, {again("b"), "two"}} {
		if got := answer(t, p, c.r); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	p = player(t, "conversations: id\n"+steps)
	r := ask("a")
	for _, id := range []string{"s1", "s2"} {
		r.Conversation = id
		if got := answer(t, p, r); got != "one" {
			t.Error(got)
		}
	}
	want := []string{`conversation "s1": step 2 (test.yaml:4:5)`, `conversation "s2": step 2 (test.yaml:4:5)`}
	if diff := cmp.Diff(want, p.Remaining()); diff != "" {
		t.Error(diff)
	}
}

func TestSubagents(t *testing.T) {
	t.Parallel()
	p, err := sim.NewPlayer(load(t, "subagents"), nil)
	if err != nil {
		t.Fatal(err)
	}
	turn := func(first string, more ...sim.Message) sim.Request {
		return request(append([]sim.Message{says("user", textBlock(first))}, more...)...)
	}
	for _, c := range []struct {
		r    sim.Request
		want string
	}{
		{turn("main task"), `{"prompt":"look around"}`},
		{turn("look around"), `{"command":"ls"}`},
		{turn("look around", says("assistant"), says("user", resultBlock("go.mod"))), "I found go.mod."},
		{turn("main task", says("assistant"), says("user", resultBlock("I found go.mod."))), "All done."},
	} {
		if got := answer(t, p, c.r); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestReference plays the step that uses all fields.
func TestReference(t *testing.T) {
	t.Parallel()
	p, err := sim.NewPlayer(load(t, "reference"), map[string]string{"dir": "/d"})
	if err != nil {
		t.Fatal(err)
	}
	r := ask("make a.txt")
	r.Model, r.System = "claude-opus-4-8", "You are a test"
	got, err := p.Answer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := sim.Reply{
		ID: "msg_sim_1_1", Model: "claude-opus-4-8", Stop: "tool_use", Usage: sim.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40},
		Blocks: []sim.ReplyBlock{
			{Type: sim.BlockThinking, Text: "I should use make a.txt.", Signature: "c2lnbmVk", Pieces: []string{"I sho", "uld u", "se ma", "ke a.", "txt."}},
			{Type: sim.BlockText, Text: "Writing a.txt. Writing a.txt. ", Pieces: []string{"Writi", "ng a.", "txt. ", "Writi", "ng a.", "txt. "}},
			{
				Type: sim.BlockToolUse, ID: "toolu_sim_1_1_1", Name: "Write", Input: []byte(`{"content":"{{x}}","file_path":"/d/a.txt","mode":420}`),
				Pieces: []string{`{"con`, `tent"`, `:"{{x`, `}}","`, `file_`, `path"`, `:"/d/`, `a.txt`, `","mo`, `de":4`, `20}`},
			},
			{Type: sim.BlockToolUse, ID: "toolu_mine", Name: "Bash", Input: []byte(`{"command":"ls"}`), Pieces: []string{`{"com`, `mand"`, `:"ls"`, `}`}},
			{Type: sim.BlockToolUse, ID: "toolu_sim_1_1_3", Name: "Bash", Input: []byte(`{"command":"pwd"}`), Pieces: []string{`{"com`, `mand"`, `:"pwd`, `"}`}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(sim.Reply{})); diff != "" {
		t.Error(diff)
	}
}

func TestTroubleInProcess(t *testing.T) {
	t.Parallel()
	p := player(t, `
steps:
  - answer: {error: {status: 529, message: Overloaded, retry_after: 2s}}
  - answer: {drop: before}
  - answer: {text: so far, drop: mid}
  - answer: {text: so far, error: {status: 500, message: broken}}
  - answer: {text: so far, garbage: xx}
`)
	for _, want := range []string{
		"529: Overloaded", sim.ErrDropped.Error(), "so far ! " + sim.ErrDropped.Error(), "so far ! 500 Internal Server Error: broken", "so farxx",
	} {
		if got := answer(t, p, ask("x")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestDelays runs on a false clock.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := player(t, "steps:\n  - {repeat: forever, answer: {wait: 1h, delay: 10m, pieces: [a, b, c]}}\n")
		begin := time.Now()
		reply, err := p.Answer(t.Context(), ask("x"))
		if err != nil || time.Since(begin) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		for _, err := range reply.Events(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		if got := time.Since(begin); got != 90*time.Minute {
			t.Errorf("took %v", got)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 15*time.Minute, cause)
		defer cancel()
		if _, err := p.Answer(ctx, ask("x")); !errors.Is(err, cause) {
			t.Error(err)
		}
		ctx, cancel = context.WithTimeoutCause(t.Context(), 15*time.Minute, cause)
		defer cancel()
		var got []string
		for ev, err := range reply.Events(ctx) {
			got = append(got, ev.Text)
			if err != nil && !errors.Is(err, cause) {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]string{"", "a", ""}, got); diff != "" {
			t.Error(diff)
		}
		for range reply.Events(t.Context()) {
			break // nothing is left behind
		}
	})
}

// TestConcurrency holds that each use of a step answers one request.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	const n = 200
	p := player(t, fmt.Sprintf("steps:\n  - {repeat: %d, answer: {text: a}}\n  - {repeat: %d, answer: {text: b}}\n", n/2, n/4))
	var mu sync.Mutex
	got, ids := map[string]int{}, map[string]bool{}
	var work sync.WaitGroup
	for range n {
		work.Go(func() {
			reply, err := p.Answer(t.Context(), ask("x"))
			p.Remaining()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				got["error"]++
				return
			}
			got[reply.Blocks[0].Text]++
			ids[reply.ID] = true
		})
	}
	work.Wait()
	if diff := cmp.Diff(map[string]int{"a": n / 2, "b": n / 4, "error": n / 4}, got); diff != "" {
		t.Error(diff)
	}
	if len(ids) != n*3/4 || len(p.Unmatched()) != n/4 {
		t.Errorf("%d ids, %d unmatched", len(ids), len(p.Unmatched()))
	}
}
