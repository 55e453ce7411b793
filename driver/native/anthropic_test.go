package native_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func TestTextIsStreamed(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer: {pieces: [Hel, "lo, ", world], usage: {input: 100, output: 20, cache_read: 7, cache_write: 3}}
`)
	id := f.session(claude)
	events := f.run(id, "hi")
	var pieces []string
	for _, d := range all[terret.MessageDelta](events) {
		pieces = append(pieces, d.Text)
	}
	if diff := cmp.Diff("Hello, world", strings.Join(pieces, "")); diff != "" { // the log may join pieces
		t.Error(diff)
	}
	usage := terret.Usage{Input: 100, Output: 20, CacheRead: 7, CacheWrite: 3}
	end := last[terret.TurnComplete](t, events)
	if end.Text != "Hello, world" || end.StopReason != "end_turn" || end.Usage != usage || end.NumSteps != 1 || end.CostUSD != 0 {
		t.Errorf("%+v", end)
	}
	if u := last[terret.UsageUpdate](t, events); u.Usage != usage || u.ContextUsed != 130 {
		t.Errorf("%+v", u)
	}
	if all := got.list(); len(all) != 1 || all[0].Path != "/v1/messages" || all[0].Headers["x-api-key"] != "(hidden)" {
		t.Errorf("%+v", all)
	}
}

func TestWhatTheModelIsSent(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, "steps: [{answer: {text: ok}}]", func(s *setup) { s.native.ProductName = "Acme" })
	id := f.session(claude, withOptions(terret.SessionOptions{SystemAppend: "Speak Latin."}))
	p := text("hi")
	p.Options.SystemAppend = "Only today."
	f.end(id, f.promptWith(id, p).ID)
	w := got.nth(t, 0)
	if w.Model != "claude-test" || w.MaxTokens < 1000 || len(w.System) != 1 {
		t.Errorf("%+v", w)
	}
	wantWords(t, w.System[0].Text, "You are operating within Acme.", "Project root: "+f.dir, "Mode: direct", "\n\nSpeak Latin.\n\nOnly today.")
	if strings.Contains(w.System[0].Text, "present a plan") {
		t.Error("it is told to plan")
	}
	var names []string
	for _, tool := range w.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.InputSchema["type"] != "object" || tool.InputSchema["properties"] == nil ||
			tool.InputSchema["required"] == nil || tool.InputSchema["additionalProperties"] != false {
			t.Errorf("%+v", tool)
		}
	}
	if diff := cmp.Diff([]string{"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "Ask", "Plan", "BashOutput", "KillBash", "TodoWrite", "Task"}, names); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(string(got.list()[0].Body), `"cache_control"`); n != 2 {
		t.Errorf("%d marks for the cache", n)
	}
}

func TestToolsRoundTrip(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer: {text: I will., tools: [{name: Write, input: {file_path: a.txt, content: hi}}, {name: Read, input: {file_path: none.txt}}], usage: {input: 10, output: 1}}
  - match: {tool_result: Created a.txt}
    answer: {text: Done., usage: {input: 20, output: 2}}
`)
	id := f.session(claude)
	events := f.run(id, "go")
	want := []string{
		"user go",
		`assistant I will. call Write{"content":"hi","file_path":"a.txt"} call Read{"file_path":"none.txt"}`,
		"user result Created a.txt (2 bytes). result none.txt does not exist",
	}
	second := got.nth(t, 1)
	if diff := cmp.Diff(want, spoken(second)); diff != "" {
		t.Error(diff)
	}
	calls, results := second.Messages[1].Content, second.Messages[2].Content
	if results[0].IsError || !results[1].IsError || results[0].ToolUseID != calls[1].ID || results[1].ToolUseID != calls[2].ID {
		t.Errorf("%+v", results)
	}
	if end := last[terret.TurnComplete](t, events); end.Usage.Input != 30 || end.Usage.Output != 3 || end.Text != "Done." || end.NumSteps != 2 {
		t.Errorf("%+v", end)
	}
	if f.file("a.txt") != "hi" {
		t.Errorf("a.txt holds %q", f.file("a.txt"))
	}
}

// TestParallelCalls has two commands that wait for each other.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer:
      tools:
        - {name: Bash, input: {command: "mkfifo {{tmp}}/a {{tmp}}/b 2>/dev/null; echo 1 > {{tmp}}/a; cat {{tmp}}/b; echo first"}}
        - {name: Bash, input: {command: "until [ -p {{tmp}}/b ]; do sleep 0.01; done; cat {{tmp}}/a; echo 2 > {{tmp}}/b; echo second"}}
  - answer: {text: Done.}
`)
	id := f.session(claude)
	last[terret.TurnComplete](t, f.run(id, "go"))
	if diff := cmp.Diff("user result 2\nfirst\n result 1\nsecond\n", spoken(got.nth(t, 1))[2]); diff != "" {
		t.Error(diff)
	}
}

// TestParallelEdits has several edits of one file in one answer, in order.
func TestParallelEdits(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - answer:
      tools:
        - {name: Write, input: {file_path: a.txt, content: "1"}}
        - {name: Edit, input: {file_path: a.txt, old_string: "1", new_string: "12"}}
        - {name: Edit, input: {file_path: a.txt, old_string: "12", new_string: "123"}}
  - answer: {text: Done.}
`)
	id := f.session(claude)
	events := f.run(id, "go")
	if got := f.file("a.txt"); got != "123" || len(all[terret.ToolFailure](events)) > 0 {
		t.Errorf("a.txt holds %q: %+v", got, all[terret.ToolFailure](events))
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {answer: {text: and so, stop_reason: max_tokens}}
  - {answer: {refuse: I cannot help with that.}}
`)
	id := f.session(claude)
	if end := last[terret.TurnComplete](t, f.run(id, "one")); end.StopReason != "max_tokens" || end.Text != "and so" {
		t.Errorf("%+v", end)
	}
	if end := last[terret.TurnComplete](t, f.run(id, "two")); end.StopReason != "refusal" || end.Text != "I cannot help with that." {
		t.Errorf("%+v", end)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, "steps: [{answer: {text: I see.}}, {answer: {text: Nothing.}}]")
	id := f.session(claude)
	image := []byte("\x89PNG not really")
	f.end(id, f.promptWith(id, terret.Prompt{Blocks: []terret.Block{
		terret.Text("look"),
		{Type: terret.BlockImage, MediaType: "image/png", Bytes: image},
		{Type: terret.BlockImage, URL: "https://example.org/a.png"},
		{Type: terret.BlockDocument, MediaType: "application/pdf", Bytes: []byte("%PDF-"), Name: "a.pdf"},
		{Type: terret.BlockDocument, MediaType: "text/plain; charset=utf-8", Bytes: []byte("plain")},
		{Type: terret.BlockDocument, MediaType: "application/pdf", URL: "https://example.org/a.pdf"},
		{Type: terret.BlockImage, MediaType: "image/tiff", Bytes: image, Name: "a.tiff"},
		{Type: terret.BlockDocument, MediaType: "application/zip", Bytes: image},
	}}).ID)
	var sent []string
	for _, b := range got.nth(t, 0).Messages[0].Content {
		sent = append(sent, strings.TrimSpace(fmt.Sprintf("%s %s%s %s %s%s", b.Type, b.Text, b.Title, b.Source["type"], b.Source["media_type"], b.Source["url"])))
	}
	want := []string{
		"text look", "image  base64 image/png", "image  url https://example.org/a.png", "document a.pdf base64 application/pdf",
		"document  text text/plain", "document  url https://example.org/a.pdf",
		`text [There is an attachment that cannot be shown to you: image "a.tiff" of type "image/tiff"]`,
		`text [There is an attachment that cannot be shown to you: document "" of type "application/zip"]`,
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	if data := got.nth(t, 0).Messages[0].Content[1].Source["data"]; data != base64.StdEncoding.EncodeToString(image) {
		t.Errorf("%q", data)
	}
	// A prompt of white space is one that the API would refuse.
	f.says(id, " \n")
	if lines := spoken(got.nth(t, 1)); lines[len(lines)-1] != "user (nothing)" {
		t.Errorf("%q", lines)
	}
}

func TestModelOfOneTurn(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, "steps: [{answer: {text: one}}, {answer: {text: two}}, {answer: {text: three}}]")
	id := f.session(claude)
	f.says(id, "a")
	p := text("b")
	p.Options.Model = "anthropic/claude-other"
	f.end(id, f.promptWith(id, p).ID)
	model := "anthropic/claude-third"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Model: &model}, "tester"); err != nil {
		t.Fatal(err)
	}
	f.says(id, "c")
	var models []string
	for i := range got.list() {
		models = append(models, got.nth(t, i).Model)
	}
	if diff := cmp.Diff([]string{"claude-test", "claude-other", "claude-third"}, models); diff != "" {
		t.Error(diff)
	}
	model = "nonsense"
	wantKind(t, f.Update(t.Context(), id, terret.SessionUpdated{Model: &model}, "tester"), terret.CodeModelNotFound)
	p.Options.Model = model
	if e := last[terret.TurnError](t, f.end(id, f.promptWith(id, p).ID)); e.Error.Code != terret.CodeModelNotFound {
		t.Errorf("%+v", e)
	}
	// From a model of the API to the demo in the middle of the session.
	model = "demo"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Model: &model}, "tester"); err != nil {
		t.Fatal(err)
	}
	wantWords(t, f.says(id, "list files"), "no files match")
}

func TestToolsFilter(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, "side_calls: steps\nsteps: [{repeat: forever, answer: {text: ok}}]")
	everything := []string{"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "Ask", "Plan", "BashOutput", "KillBash", "TodoWrite", "Task"}
	for i, c := range []struct {
		session terret.SessionOptions
		turn    terret.TurnOptions
		want    []string
	}{
		{terret.SessionOptions{}, terret.TurnOptions{}, everything},
		{terret.SessionOptions{Tools: []string{"default"}}, terret.TurnOptions{}, everything},
		{terret.SessionOptions{Tools: []string{"Read", "Bash", "Nonsense"}}, terret.TurnOptions{}, []string{"Bash", "Read", "BashOutput", "KillBash"}},
		{terret.SessionOptions{Tools: []string{}}, terret.TurnOptions{}, nil},
		{terret.SessionOptions{DisallowedTools: []string{"Bash", "Ask", "Plan", "Task", "Bash(x)"}}, terret.TurnOptions{}, []string{"Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "TodoWrite"}},
		{terret.SessionOptions{Tools: []string{"Read", "Grep"}, DisallowedTools: []string{"Read"}}, terret.TurnOptions{}, []string{"Grep"}},
		{terret.SessionOptions{Tools: []string{"Read", "Grep"}}, terret.TurnOptions{Tools: []string{"Grep", "Bash"}}, []string{"Grep"}},
		{terret.SessionOptions{Tools: []string{"Read", "Grep"}}, terret.TurnOptions{ToolsOverride: []string{"Bash", "Ask"}}, []string{"Bash", "Ask", "BashOutput", "KillBash"}},
		{terret.SessionOptions{Tools: []string{"Read", "Grep"}}, terret.TurnOptions{DisallowedTools: []string{"Grep"}}, []string{"Read"}},
		{terret.SessionOptions{Tools: []string{"Read", "Grep"}, DisallowedTools: []string{"Read"}}, terret.TurnOptions{DisallowedToolsOverride: []string{}}, []string{"Read", "Grep"}},
	} {
		id := f.session(claude, withOptions(c.session))
		p := text("hi")
		p.Options = c.turn
		events := f.end(id, f.promptWith(id, p).ID)
		var names []string
		for _, tool := range got.nth(t, i).Tools {
			names = append(names, tool.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
		if start := last[terret.SessionStart](t, f.until(id, isKind("session.start"))); c.turn.Tools == nil && c.turn.ToolsOverride == nil &&
			c.turn.DisallowedTools == nil && c.turn.DisallowedToolsOverride == nil && !slices.Equal(start.Tools, c.want) {
			t.Errorf("%d: session.start tells of %v", i, start.Tools)
		}
		_ = events
	}
}

func TestToolsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer:
      tools:
        - {name: Teleport, input: {to: mars}}
        - {name: Bash, input: {cmd: ls}}
        - {name: Ask, input: {questions: []}}
        - {name: Ask, input: {question: " "}}
        - {name: Plan, input: {}}
        - {name: Write, input: {file_path: x, content: y}}
  - answer: {text: ok}
`)
	id := f.session(claude, withOptions(terret.SessionOptions{DisallowedTools: []string{"Write"}}))
	events := f.run(id, "go")
	for i, words := range []string{"there is no tool Teleport", `Bash: there is no field "cmd"`, "questions", "the question is empty", "the plan is empty", "there is no tool Write"} {
		b := got.nth(t, 1).Messages[2].Content[i]
		if !b.IsError {
			t.Errorf("%+v", b)
		}
		wantWords(t, b.Content[0].Text, words)
	}
	if len(all[terret.ToolFailure](events)) != 6 || len(all[terret.ToolPre](events)) != 6 || f.file("x") != "(no file)" {
		t.Errorf("%v", kindsOf(events))
	}
}

func TestOutputIsLimited(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer: {tools: [{name: Bash, input: {command: "yes 0123456789 | head -c 1000000"}}, {name: Read, input: {file_path: big.txt}}]}
  - answer: {text: ok}
`)
	f.write("big.txt", strings.Repeat("a line of text\n", 100_000))
	id := f.session(claude)
	last[terret.TurnComplete](t, f.run(id, "go"))
	content := got.nth(t, 1).Messages[2].Content
	output, _, _ := strings.Cut(content[0].Content[0].Text, "[all of the output, 1000000 bytes, is in ")
	if n := len(output); n > 30_000 || n == len(content[0].Content[0].Text) {
		t.Errorf("%d characters of output", n)
	}
	wantWords(t, content[0].Content[0].Text, "characters cut")
	if n := len(content[1].Content[0].Text); n > 256<<10 {
		t.Errorf("%d bytes of a file", n)
	}
	wantWords(t, content[1].Content[0].Text, "read on with offset 2001")
}

// TestCallIDsAreOurs has a model that uses an id twice: a decision on the first call
// must not count for the second.
func TestCallIDsAreOurs(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer: {tools: [{name: Bash, id: same, input: {command: echo x >> a.txt}}, {name: Bash, id: same, input: {command: echo x >> a.txt}}]}
  - answer: {tools: [{name: Bash, id: same, input: {command: echo x >> a.txt}}]}
  - answer: {text: ok}
`)
	id := f.session(claude, withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "go")
	decided := map[string]bool{}
	for range 3 {
		events := f.until(id, func(ev terret.Event) bool {
			d, ok := ev.Data.(terret.PermissionRequest)
			return ok && !decided[d.RequestID]
		})
		request := events[len(events)-1]
		decided[request.Expects.RequestID] = true
		f.decide(request, terret.Decision{Behavior: terret.BehaviorAllow})
	}
	events := f.end(id, turn.ID)
	last[terret.TurnComplete](t, events)
	ids := map[string]int{}
	for _, m := range got.nth(t, 2).Messages {
		for _, b := range m.Content {
			ids[b.ID+b.ToolUseID]++
		}
	}
	delete(ids, "")
	for tool, n := range ids {
		if n != 2 { // the call and its result
			t.Errorf("%s is there %d times", tool, n)
		}
	}
	started := map[string]bool{}
	for _, s := range all[terret.ToolStart](events) {
		started[s.ToolID] = true
	}
	for _, p := range all[terret.ToolPost](events) {
		if !started[p.ToolID] || ids[p.ToolID] != 2 {
			t.Errorf("%s was never begun", p.ToolID)
		}
	}
	if len(ids) != 3 || f.file("a.txt") != "x\nx\nx\n" {
		t.Errorf("%v, a.txt holds %q", ids, f.file(filepath.Base("a.txt")))
	}
}
