package view_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

func started() terret.Event {
	return in(terret.SessionStart{Source: "new", NativeID: "n", Model: "m", Tools: []string{"Bash"}})
}

const (
	head     = `"sessionId":"` + session + `"`
	initN    = `{"type":"session:init",` + head + `,"claudeSessionId":"n","model":"m","tools":["Bash"]}`
	exitNull = `{"type":"process:exit",` + head + `,"code":null,"signal":null}`
)

func chirality(t testing.TB, oneShot bool) view.View {
	return newView(t, "chirality", view.Options{Session: terret.Session{OneShot: oneShot}})
}

// TestChiralityEvents is the mapping table, and the shape of each UIEvent.
func TestChiralityEvents(t *testing.T) {
	t.Parallel()
	begin := []terret.Event{in(terret.TurnStart{}), started()}
	use := terret.Block{Type: terret.BlockToolUse, ToolID: "u", Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)}
	message := in(terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("hi"), use}})
	pre := in(terret.ToolPre{ToolID: "u", Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)})
	empty := `{"type":"tool:start",` + head + `,"toolUseId":"u","name":"Bash","input":{}}`
	whole := `{"type":"tool:start",` + head + `,"toolUseId":"u","name":"Bash","input":{"command":"ls"}}`
	result := `{"type":"tool:result",` + head + `,"toolUseId":"u","content":"a.go\n[image]","isError":false}`
	content := []terret.Block{terret.Text("a.go"), {Type: terret.BlockImage}}
	post := in(terret.ToolPost{ToolID: "u", Name: "Bash", Content: content})
	told := in(terret.MessageComplete{MessageID: "m2", Role: terret.RoleTool, Blocks: []terret.Block{{Type: terret.BlockToolResult, ToolID: "u", Content: content}}})
	for _, r := range []row{
		{"C26 C89 init", nil, begin, `[` + initN + `]`},
		{
			"C26 no id yet", nil,
			[]terret.Event{in(terret.TurnStart{}), in(terret.SessionStart{Model: "m"})},
			`[{"type":"session:init",` + head + `,"claudeSessionId":null,"model":"m","tools":[]}]`,
		},
		{"C22 C90 text_delta", begin, []terret.Event{in(terret.MessageDelta{Text: "4"})}, `[{"type":"chat:delta",` + head + `,"text":"4"}]`},
		{"C90 nothing", begin, []terret.Event{in(terret.MessageDelta{}), in(terret.ReasoningDelta{Text: "hm"})}, `[]`},
		{"C90 subagent", begin, []terret.Event{of("a", "u", in(terret.MessageDelta{Text: "4"}))}, `[]`},
		{"C24 C91 tool_use", begin, []terret.Event{in(terret.ToolStart{ToolID: "u", Name: "Bash"}), pre, message}, `[` + empty + `,` + whole + `]`},
		{"C91 input from the message", begin, []terret.Event{in(terret.ToolStart{ToolID: "u", Name: "Bash"}), message, pre}, `[` + empty + `,` + whole + `]`},
		{"C92 fallback", begin, []terret.Event{message, pre, message}, `[` + whole + `]`},
		{"C92 never twice", append(begin, pre), []terret.Event{message, pre, in(terret.ToolStart{ToolID: "u"})}, `[]`},
		{"C25 C93 tool_result", append(begin, pre), []terret.Event{post, told}, `[` + result + `]`},
		{"C93 from the message", append(begin, pre), []terret.Event{told, post}, `[` + result + `]`},
		{
			"C93 failed", append(begin, pre),
			[]terret.Event{in(terret.ToolFailure{ToolID: "u", Name: "Bash", Error: "denied", Denied: true})},
			`[{"type":"tool:result",` + head + `,"toolUseId":"u","content":"denied","isError":true}]`,
		},
		{"C93 without a start", begin, []terret.Event{post}, `[` + empty + `,` + result + `]`},
		{
			"C23 C27 C94 success", begin,
			[]terret.Event{in(terret.TurnComplete{Text: "4", CostUSD: terret.USD / 4, Usage: terret.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}})},
			`[{"type":"chat:complete",` + head + `,"text":"4"},
			  {"type":"session:complete",` + head + `,"costUsd":0.25,"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}},
			  ` + exitNull + `]`,
		},
		{
			"C28 C95 error", begin,
			[]terret.Event{in(terret.TurnError{Error: terret.Error{Code: terret.CodeExecutionError, Message: "It broke."}, Errors: []string{"broke", "badly"}})},
			`[{"type":"session:error",` + head + `,"error":"It broke.\nbadly"},` + exitNull + `]`,
		},
		{
			"C96 max_turns", begin,
			[]terret.Event{in(terret.TurnError{Error: terret.Error{Code: terret.CodeMaxTurns}})},
			`[{"type":"session:error",` + head + `,"error":"max_turns"},` + exitNull + `]`,
		},
		{"C98 unknown", begin, []terret.Event{in(terret.Unknown{NativeType: "x"}), in(terret.Opaque{Name: "new"})}, `[]`},
		{"C49 C97 stderr and bad lines", begin, []terret.Event{in(terret.DiagStderr{Text: "x"}), in(terret.DiagParseError{Text: "{"})}, `[]`},
	} {
		r.run(t, chirality(t, false))
	}
}

// TestChiralityExit is C29, C47, C48 and C100: process:exit ends every turn, and a
// turn without a result has session:error before it.
func TestChiralityExit(t *testing.T) {
	t.Parallel()
	begin := []terret.Event{in(terret.TurnStart{}), started()}
	next := in(terret.TurnStart{})
	next.Turn = "t2"
	lost := in(terret.TurnError{Error: terret.Error{Code: terret.CodeProcessFailed, Message: "It is gone.", ExitCode: new(3)}})
	code := func(n int) terret.ProcessExit { return terret.ProcessExit{Code: &n} }
	gone3 := `{"type":"session:error",` + head + `,"error":"It is gone. (exit code 3)"},{"type":"process:exit",` + head + `,"code":3,"signal":null}`
	noResult := `{"type":"session:error",` + head + `,"error":"the turn ended without a result`
	complete := begin[:2:2]
	complete = append(complete, in(terret.TurnComplete{}))
	for _, c := range []struct {
		row
		oneShot bool
	}{
		{row{"after the result", complete, []terret.Event{out(code(0))}, `[{"type":"process:exit",` + head + `,"code":0,"signal":null}]`}, true},
		{row{"once", append(complete, out(code(0))), []terret.Event{out(code(0)), out(terret.SessionEnd{})}, `[]`}, true},
		{row{"a signal", complete, []terret.Event{out(terret.ProcessExit{Signal: "SIGKILL", Code: new(137)})}, `[{"type":"process:exit",` + head + `,"code":null,"signal":"SIGKILL"}]`}, true},
		{row{"never told", complete, []terret.Event{out(terret.SessionEnd{})}, `[` + exitNull + `]`}, true},
		{row{"never told, next turn", complete, []terret.Event{next}, `[` + exitNull + `]`}, true},
		{row{"before the result", append(begin, in(code(0))), []terret.Event{in(terret.TurnComplete{})}, `[{"type":"chat:complete",` + head + `,"text":""},
			{"type":"session:complete",` + head + `,"costUsd":0,"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}},
			{"type":"process:exit",` + head + `,"code":0,"signal":null}]`}, true},
		{row{"C100 no result", begin, []terret.Event{lost, out(code(3))}, `[` + gone3 + `]`}, true},
		{row{"C100 no result, long-lived", begin, []terret.Event{lost, out(code(3))}, `[` + gone3 + `]`}, false},
		{row{"C100 exit comes first", append(begin, in(code(3))), []terret.Event{in(terret.TurnError{Error: terret.Error{Message: "It is gone."}})}, `[` + gone3 + `]`}, true},
		{row{
			"C100 named already", begin,
			[]terret.Event{in(terret.TurnError{Error: terret.Error{Message: "It ended with code 3.", ExitCode: new(3)}})},
			`[{"type":"session:error",` + head + `,"error":"It ended with code 3."},{"type":"process:exit",` + head + `,"code":3,"signal":null}]`,
		}, true},
		{row{
			"C100 nobody ends the turn", append(begin, in(code(3))),
			[]terret.Event{out(terret.SessionEnd{})},
			`[` + noResult + ` (exit code 3)"},{"type":"process:exit",` + head + `,"code":3,"signal":null}]`,
		}, true},
		{row{"nobody ends the turn, next one", begin, []terret.Event{next}, `[` + noResult + `"},` + exitNull + `]`}, false},
		{row{"idle exits are nobody's", append(complete, out(terret.SessionEnd{})), []terret.Event{out(code(0))}, `[]`}, false},
		{row{
			"could not start", nil,
			[]terret.Event{in(terret.TurnStart{}), in(terret.TurnError{Error: terret.Error{Code: terret.CodeAgentNotFound, Message: "no claude"}})},
			`[{"type":"session:init",` + head + `,"claudeSessionId":null,"model":"","tools":[]},{"type":"session:error",` + head + `,"error":"no claude"},` + exitNull + `]`,
		}, false},
	} {
		c.run(t, chirality(t, c.oneShot))
	}
}

// TestChiralityInit holds that each turn has session:init first, also where one
// process serves many, and that a stale session is announced (C113).
func TestChiralityInit(t *testing.T) {
	t.Parallel()
	next := func(d terret.Data) terret.Event { e := in(d); e.Turn = "t2"; return e }
	first := []terret.Event{in(terret.TurnStart{}), started(), in(terret.TurnComplete{})}
	stale := terret.SessionNativeID{Old: "n", New: "n2", Reason: "stale", Error: "No conversation found"}
	init2 := strings.ReplaceAll(initN, `"claudeSessionId":"n"`, `"claudeSessionId":"n2"`)
	staleError := `{"type":"session:error",` + head + `,"error":"No conversation found","recoverable":true}`
	delta := `{"type":"chat:delta",` + head + `,"text":"4"}`
	started2 := terret.SessionStart{NativeID: "n2", Model: "m", Tools: []string{"Bash"}}
	for _, r := range []row{
		{"second turn", first, []terret.Event{next(terret.TurnStart{}), next(terret.MessageDelta{Text: "4"}), next(terret.MessageDelta{Text: "4"})}, `[` + initN + `,` + delta + `,` + delta + `]`},
		{"seen from the middle", first, []terret.Event{next(terret.MessageDelta{Text: "4"})}, `[` + initN + `,` + delta + `]`},
		{"stale, then start", first, []terret.Event{next(terret.TurnStart{}), next(stale), next(started2), next(terret.MessageDelta{Text: "4"})}, `[` + staleError + `,` + init2 + `,` + delta + `]`},
		{"start, then stale", first, []terret.Event{next(terret.TurnStart{}), next(started2), next(stale), next(terret.MessageDelta{Text: "4"})}, `[` + init2 + `,` + staleError + `,` + init2 + `,` + delta + `]`},
		{"renamed otherwise", first, []terret.Event{next(terret.TurnStart{}), next(terret.SessionNativeID{New: "n2", Reason: "clear"}), next(terret.MessageDelta{Text: "4"})}, `[` + init2 + `,` + delta + `]`},
		{
			"the process of a failed resume", first,
			[]terret.Event{next(terret.TurnStart{}), next(terret.ProcessExit{Code: new(1)}), next(terret.ProcessSpawn{}), next(started2), next(terret.TurnError{Error: terret.Error{Message: "x"}})},
			`[` + init2 + `,{"type":"session:error",` + head + `,"error":"x"},` + exitNull + `]`,
		},
	} {
		r.run(t, chirality(t, false))
	}
	v := newView(t, "chirality", view.Options{Session: terret.Session{ID: "s", NativeID: "n", Model: "m"}})
	e := in(terret.MessageDelta{Text: "4"})
	e.Session = ""
	want := decoded(t, `[{"type":"session:init","sessionId":"s","claudeSessionId":"n","model":"m","tools":[]},{"type":"chat:delta","sessionId":"s","text":"4"}]`)
	if diff := cmp.Diff(want, any(values(t, play(t, v, e)))); diff != "" {
		t.Errorf("what is known before: %s", diff)
	}
}

// TestChiralityTurns holds that whoever begins to read, wherever, sees each turn
// begin with session:init, or with the error that comes before it, and end with
// process:exit.
func TestChiralityTurns(t *testing.T) {
	t.Parallel()
	for name, session := range sessions {
		events := load(t, name)
		for from := range events {
			v := newView(t, "chirality", view.Options{Session: session})
			turn := []string{}
			for _, e := range events[from:] {
				for _, m := range play(t, v, e) {
					turn = append(turn, m.Name)
					if m.Name != "process:exit" {
						continue
					}
					if turn[0] == "session:error" {
						turn = turn[1:]
					}
					inits := 0
					for _, n := range turn {
						if n == "session:init" {
							inits++
						}
					}
					if turn[0] != "session:init" || inits != 1 || len(turn) < 3 {
						t.Errorf("%s from %d: %v", name, from, turn)
					}
					turn = nil
				}
			}
			if len(turn) > 0 {
				t.Errorf("%s from %d: %v has no end", name, from, turn)
			}
		}
	}
}
