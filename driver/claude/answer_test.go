package claude

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// sameJSON compares two JSON texts by what they mean.
func sameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(want, &a); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestRecordedAnswers holds that decisions become what the recorded driver wrote,
// and which the agent is known to understand.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	blue := map[string]terret.Choice{"q1": {"Blue"}, "q2": {"S", "L"}}
	for _, c := range []struct {
		recording string
		decision  terret.Decision
	}{
		{"tool_allow", terret.Decision{Behavior: terret.BehaviorAllow}},
		{"v2_1_325_tool_allow", terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeOnce}},
		{"tool_write_allow", terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeSession}}, // no rule is suggested
		{"tool_allow_updated_input", terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways, UpdatedInput: terret.JSON(`{"command":"echo changed","description":"x"}`)}},
		{"tool_deny", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "No thanks, not now."}},
		{"tool_deny_interrupt", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "Stop it.", Interrupt: true}},
		{"subagent_background", terret.Decision{Behavior: terret.BehaviorAllow}},
		{"mcp_sdk_server", terret.Decision{Behavior: terret.BehaviorAllow}},
		{"ask_user_question", terret.Decision{Behavior: terret.BehaviorAnswer, Answers: blue}},
		{"v2_1_325_ask_user_question", terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"Blue"}}}},
		{"ask_user_question_deny", terret.Decision{Behavior: terret.BehaviorReject, Reason: "The user would rather talk about it: use green."}},
		{"exit_plan_mode_allow", terret.Decision{Behavior: terret.BehaviorApprove}},
		{"exit_plan_mode_plan_file", terret.Decision{Behavior: terret.BehaviorApprove}},
		{"exit_plan_mode_accept_edits", terret.Decision{Behavior: terret.BehaviorApprove, NextMode: "acceptEdits"}},
		{"exit_plan_mode_deny", terret.Decision{Behavior: terret.BehaviorRevise, Reason: "Please add tests to the plan."}},
		{"hook_stop_block", terret.Decision{Behavior: terret.BehaviorAllow}},
		{"hook_pretooluse_deny", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "Not on my watch."}},
		{"v2_1_325_hook_pretooluse_deny", terret.Decision{Behavior: terret.BehaviorBlock, Reason: "Nope."}},
		{"hook_pretooluse_ask_bypass", terret.Decision{Behavior: terret.BehaviorAsk, Reason: "please look"}},
		{"hook_pretooluse_updated_input", terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command":"echo rewritten","description":"x"}`)}},
		{"hook_userpromptsubmit_block", terret.Decision{Behavior: terret.BehaviorBlock, Reason: "Prompt blocked."}},
	} {
		t.Run(c.recording, func(t *testing.T) {
			t.Parallel()
			rows := loadRows(t, c.recording)
			recorded := map[string]json.RawMessage{}
			for _, w := range rows {
				var m controlResponse
				if decode(w.Line, &m); w.Dir == "in" && m.Response.RequestID != "" {
					recorded[m.Response.RequestID] = w.Line
				}
			}
			r := recording{name: c.recording, rows: rows, Argv: []string{"--input-format", "stream-json"}}
			for _, s := range r.play() {
				for _, o := range s.others {
					if a, ok := o.(asking); ok {
						sameJSON(t, recorded[a.id], a.line(c.decision))
						return // the others are about something else
					}
				}
			}
			t.Error("nobody was asked")
		})
	}
}

// The agent keeps what is allowed for longer only for the session, and only rules.
func TestScopes(t *testing.T) {
	t.Parallel()
	r := canUseTool{ToolName: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}
	decode([]byte(`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"},{"toolName":"Read"}],"behavior":"allow","destination":"localSettings"},
		{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"deny","destination":"localSettings"},
		{"type":"addDirectories","directories":["/"],"destination":"session"},
		{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`), &r.Suggestions)
	if diff := cmp.Diff([]string{"Bash(ls *)", "Read"}, ruleNames(r.Suggestions)); diff != "" {
		t.Error(diff)
	}
	plain := `{"behavior":"allow","updatedInput":{"command":"ls"}}`
	kept := `{"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[
		{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"},{"toolName":"Read"}],"behavior":"allow","destination":"session"}]}`
	for scope, want := range map[terret.Scope]string{"": plain, terret.ScopeOnce: plain, terret.ScopeSession: kept, terret.ScopeAlways: kept} {
		sameJSON(t, []byte(want), seat.Encode(answerPermission(r, terret.Decision{Behavior: terret.BehaviorAllow, Scope: scope})))
	}
}

func TestAnswersThatAreNotPlain(t *testing.T) {
	t.Parallel()
	ask := canUseTool{Input: json.RawMessage(`{"questions":[
		{"question":"Which color?","header":"Color","options":[{"label":"Red"}]},
		{"question":"Which sizes?","header":"Sizes","multiSelect":true},
		{"question":"Why?","header":""}],"metadata":{"n":12345678901234567890}}`)}
	for name, c := range map[string]struct {
		got  any
		want string
	}{
		"free text, one left out": {
			answerQuestions(ask, terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"a <deep> \"red\""}, "q2": {"S"}, "other": {"x"}}}),
			`{"behavior":"allow","updatedInput":{"questions":[
				{"question":"Which color?","header":"Color","options":[{"label":"Red"}]},
				{"question":"Which sizes?","header":"Sizes","multiSelect":true},
				{"question":"Why?","header":""}],"metadata":{"n":12345678901234567890},
				"answers":{"Which color?":"a <deep> \"red\"","Which sizes?":"S"}}}`,
		},
		"rejected without a word": {
			answerQuestions(ask, terret.Decision{Behavior: terret.BehaviorReject, Interrupt: true}),
			`{"behavior":"deny","message":"The questions were not answered.","interrupt":true}`,
		},
		"denied without a word": {
			answerPermission(canUseTool{}, terret.Decision{Behavior: terret.BehaviorDeny}),
			`{"behavior":"deny","message":"denied"}`,
		},
		"no input to send back": {
			answerPermission(canUseTool{Input: json.RawMessage(`null`)}, terret.Decision{Behavior: terret.BehaviorAllow}),
			`{"behavior":"allow","updatedInput":{}}`,
		},
		"a mode that does not exist": {
			answerPlan(canUseTool{}, terret.Decision{Behavior: terret.BehaviorApprove, NextMode: "bogus"}),
			`{"behavior":"allow","updatedInput":{}}`,
		},
		"revised without a word": {
			answerPlan(canUseTool{}, terret.Decision{Behavior: terret.BehaviorRevise}),
			`{"behavior":"deny","message":"The plan is not approved. Revise it."}`,
		},
	} {
		t.Run(name, func(t *testing.T) { sameJSON(t, []byte(c.want), seat.Encode(c.got)) })
	}
}

// The answers of hooks: nothing means no opinion.
func TestHookAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hook     string
		decision terret.Decision
		want     string
	}{
		{"PreToolUse", terret.Decision{Behavior: terret.BehaviorPassthrough}, `{}`},
		{"PreToolUse", terret.Decision{Behavior: terret.BehaviorAllow, Reason: "fine"}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"fine"}}`},
		{"PreToolUse", terret.Decision{Behavior: terret.BehaviorDeny, Interrupt: true}, `{"continue":false,"stopReason":"denied","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"denied"}}`},
		{"PreToolUse", terret.Decision{Behavior: terret.BehaviorBlock, Reason: "no"}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		{"PermissionRequest", terret.Decision{Behavior: terret.BehaviorAllow}, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`},
		{"PermissionRequest", terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"a":1}`)}, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"a":1}}}}`},
		{"PermissionRequest", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no", Interrupt: true}, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no","interrupt":true}}}`},
		{"PermissionRequest", terret.Decision{Behavior: terret.BehaviorAsk}, `{}`},
		{"Stop", terret.Decision{Behavior: terret.BehaviorBlock, Reason: "Keep going once more."}, `{"decision":"block","reason":"Keep going once more."}`},
		{"SubagentStop", terret.Decision{Behavior: terret.BehaviorBlock}, `{"decision":"block","reason":"blocked"}`},
		{"Stop", terret.Decision{Behavior: terret.BehaviorAllow}, `{}`},
		{"PreCompact", terret.Decision{Behavior: terret.BehaviorPassthrough}, `{}`},
		{"PreCompact", terret.Decision{Behavior: terret.BehaviorBlock, Reason: "later"}, `{"decision":"block","reason":"later","systemMessage":"later"}`},
		{"UserPromptSubmit", terret.Decision{Behavior: terret.BehaviorBlock, Reason: "no"}, `{"decision":"block","reason":"no"}`},
	} {
		t.Run(c.hook+" "+string(c.decision.Behavior), func(t *testing.T) {
			sameJSON(t, []byte(c.want), seat.Encode(answerHook(c.hook, c.decision)))
		})
	}
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	line := `{"type":"control_request","request_id":"e1","request":{"subtype":"elicitation","mcp_server_name":"calc","message":"Who are you?","mode":"form",
		"requested_schema":{"type":"object","properties":{
			"age":{"type":"integer","title":"Your age"},"weight":{"type":"number"},"member":{"type":"boolean","description":"of the club"},
			"color":{"type":"string","enum":["red","blue"]},"tags":{"type":"array","items":{"enum":["a","b"]}},"name":{"type":"string"}}}}}`
	events, others := newTranslator(options{}).translate([]byte(line), start)
	if len(events) != 0 || len(others) != 1 {
		t.Fatalf("%v %v", events, others)
	}
	a := others[0].(asking)
	q := a.ask.Event.Data.(terret.QuestionRequest)
	yesNo := []terret.Option{{Label: "Yes"}, {Label: "No"}}
	want := []terret.Question{
		{ID: "age", Header: "calc", Text: "Who are you?\nYour age"},
		{ID: "color", Header: "calc", Text: "Who are you?\ncolor", Options: []terret.Option{{Label: "red"}, {Label: "blue"}}},
		{ID: "member", Header: "calc", Text: "Who are you?\nof the club", Options: yesNo},
		{ID: "name", Header: "calc", Text: "Who are you?\nname"},
		{ID: "tags", Header: "calc", Text: "Who are you?\ntags", Multi: true, Options: []terret.Option{{Label: "a"}, {Label: "b"}}},
		{ID: "weight", Header: "calc", Text: "Who are you?\nweight"},
	}
	if diff := cmp.Diff(want, q.Questions); diff != "" || a.ask.Gate != terret.GateQuestion || len(q.Schema) == 0 {
		t.Error(a.ask.Gate, diff)
	}
	for _, c := range []struct {
		decision terret.Decision
		want     string
	}{
		{terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{
			"age": {"41"}, "weight": {"70.5"}, "member": {"True"}, "color": {"red"}, "tags": {"a", "b"}, "name": {"Bo"}, "unheard": {"of"},
		}}, `{"action":"accept","content":{"age":41,"weight":70.5,"member":true,"color":"red","tags":["a","b"],"name":"Bo"}}`},
		{
			terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"age": {"old"}, "weight": {"NaN"}, "member": {"maybe"}}},
			`{"action":"decline"}`, // none of it fits
		},
		{terret.Decision{Behavior: terret.BehaviorReject, Source: terret.ByUser}, `{"action":"decline"}`},
		{terret.Decision{Behavior: terret.BehaviorReject, Source: terret.ByInterrupt}, `{"action":"cancel"}`},
		{terret.Decision{Behavior: terret.BehaviorReject, Source: terret.ByTimeout}, `{"action":"cancel"}`},
	} {
		sameJSON(t, []byte(`{"type":"control_response","response":{"subtype":"success","request_id":"e1","response":`+c.want+`}}`), a.line(c.decision))
	}

	_, others = newTranslator(options{}).translate([]byte(`{"type":"control_request","request_id":"e2","request":{"subtype":"elicitation","mcp_server_name":"x","message":"Sign in","mode":"url","url":"https://example.org"}}`), start)
	a = others[0].(asking)
	q = a.ask.Event.Data.(terret.QuestionRequest)
	if diff := cmp.Diff(terret.QuestionRequest{URL: "https://example.org", Questions: []terret.Question{{ID: "confirm", Header: "x", Text: "Sign in", Options: yesNo}}}, q); diff != "" {
		t.Error(diff)
	}
	_, others = newTranslator(options{}).translate([]byte(`{"type":"control_request","request_id":"e3","request":{"subtype":"elicitation","mcp_server_name":"x","message":"Fill in","mode":"form","requested_schema":{"properties":{"a":1}}}}`), start)
	sameJSON(t, []byte(`{"type":"control_response","response":{"subtype":"success","request_id":"e3","response":{"action":"decline"}}}`),
		others[0].(asking).line(terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"confirm": {"Yes"}}})) // nobody could fill it in
	for answer, action := range map[string]string{"Yes": "accept", "No": "decline"} { // no is no
		d := terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"confirm": {answer}}}
		sameJSON(t, []byte(`{"type":"control_response","response":{"subtype":"success","request_id":"e2","response":{"action":"`+action+`"}}}`), a.line(d))
	}
}
