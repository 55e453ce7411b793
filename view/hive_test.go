package view_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// TestHiveEvents is the event taxonomy, and what people are asked.
func TestHiveEvents(t *testing.T) {
	t.Parallel()
	ev := func(kind, data, rest string) string {
		return `{"type":"` + kind + `",` + head + `,"data":` + data + rest + `}`
	}
	tool := func(state string) string {
		return ev("message.part.updated", `{"part":{"type":"tool","callID":"u","tool":"Bash","state":`+state+`}}`, "")
	}
	idle, busy := `,"statusPayload":{"type":"idle"}`, `,"statusPayload":{"type":"busy"}`
	start := terret.SessionStart{Agent: "claude", NativeID: "n", Model: "m", Tools: []string{"Bash"}}
	init := `{"session_id":"n","opencode_session_id":"n","model":"m","tools":["Bash"],"agent_sdk":"claude-code"}`
	usage := terret.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	hiveUsage := `"usage":{"input":1,"output":2,"cacheRead":3,"cacheCreation":4}`
	pre := in(terret.ToolPre{ToolID: "u", Name: "Bash", Title: "ls", Input: terret.JSON(`{"command":"ls"}`)})
	text := []terret.Block{terret.Text("hi")}
	for _, r := range []row{
		{"H25 init", nil, []terret.Event{out(start)}, `[` + ev("session.init", init, idle) + `]`},
		{"H25 X13 init in a turn", nil, []terret.Event{in(start)}, `[` + ev("session.init", init, busy) + `]`},
		{
			"H6 opencode", nil,
			[]terret.Event{out(terret.SessionStart{Agent: "opencode"})},
			`[` + ev("session.init", `{"session_id":"","opencode_session_id":"","model":"","tools":[],"agent_sdk":"opencode"}`, idle) + `]`,
		},
		{
			"H26 user", nil,
			[]terret.Event{
				in(terret.TurnStart{MessageID: "m", Prompt: text}), in(terret.UserPrompt{MessageID: "m", Blocks: text}),
				in(terret.MessageComplete{MessageID: "m", Role: terret.RoleUser, Blocks: text}),
			},
			`[` + ev("message.created", `{"id":"m","uuid":"m","checkpoint":"m","role":"user","parts":[{"type":"text","text":"hi"}]}`, "") + `]`,
		},
		{
			"H26 steering", nil,
			[]terret.Event{in(terret.UserPrompt{MessageID: "m", Blocks: text})},
			`[` + ev("message.created", `{"id":"m","uuid":"m","checkpoint":"m","role":"user","parts":[{"type":"text","text":"hi"}]}`, "") + `]`,
		},
		{
			"H26 subagent's", nil,
			[]terret.Event{of("a", "u", in(terret.MessageComplete{MessageID: "m", Role: terret.RoleUser, Blocks: text}))},
			`[` + ev("message.created", `{"id":"m","uuid":"m","role":"user","parts":[{"type":"text","text":"hi"}]}`, `,"childSessionId":"u"`) + `]`,
		},
		{"H27 assistant", []terret.Event{in(start)}, []terret.Event{in(terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{
			{Type: terret.BlockThinking, Text: "hm"},
			terret.Text("hi"),
			{Type: terret.BlockToolUse, ToolID: "u", Name: "Bash", Input: terret.JSON(`{"a":1}`)},
			{Type: terret.BlockImage, MediaType: "image/png", Bytes: []byte{1, 2}},
			{Type: terret.BlockDocument, MediaType: "text/plain", URL: "http://x", Name: "x.txt"},
			{Type: terret.BlockToolResult, ToolID: "v", IsError: true, Content: text},
		}})}, `[` + ev("message.updated", `{"id":"m","role":"assistant","info":{"id":"m","role":"assistant","model":"m","time":{"completed":"2026-03-14T15:09:26.000000Z"}},"parts":[
			{"type":"reasoning","text":"hm"},{"type":"text","text":"hi"},{"type":"tool","callID":"u","tool":"Bash","state":{"status":"running","input":{"a":1}}},
			{"type":"file","mime":"image/png","url":"data:image/png;base64,AQI=","filename":""},{"type":"file","mime":"text/plain","url":"http://x","filename":"x.txt"},
			{"type":"tool","callID":"v","tool":"","state":{"status":"error","output":"hi"}}]}`, "") + `]`},
		{
			"H28 stream_event", nil,
			[]terret.Event{in(terret.MessageDelta{MessageID: "m", Text: "h"}), of("a", "", in(terret.ReasoningDelta{MessageID: "m", Text: "h"}))},
			`[` + ev("message.part.updated", `{"part":{"type":"text","messageID":"m","text":"h"},"delta":"h"}`, "") + `,` +
				ev("message.part.updated", `{"part":{"type":"reasoning","messageID":"m","text":"h"},"delta":"h"}`, `,"childSessionId":"a"`) + `]`,
		},
		{
			"H28 tool_use", nil,
			[]terret.Event{in(terret.ToolStart{ToolID: "u", Name: "Bash"}), in(terret.ToolDelta{ToolID: "u", PartialInput: "{"}), pre},
			`[` + tool(`{"status":"running"}`) + `,` + tool(`{"status":"running","title":"ls","input":{"command":"ls"}}`) + `]`,
		},
		{
			"H28 tool_result",
			[]terret.Event{pre},
			[]terret.Event{in(terret.ToolPost{ToolID: "u", Content: text}), in(terret.MessageComplete{MessageID: "r", Role: terret.RoleTool, Blocks: text})},
			`[` + tool(`{"status":"completed","output":"hi"}`) + `]`,
		},
		{"H28 tool error", []terret.Event{pre}, []terret.Event{in(terret.ToolFailure{ToolID: "u", Error: "no", Content: text})}, `[` + tool(`{"status":"error","output":"hi","error":"no"}`) + `]`},
		{
			"H29 success",
			[]terret.Event{in(start)},
			[]terret.Event{in(terret.TurnComplete{Text: "hi", Usage: usage, CostUSD: terret.USD / 4})},
			`[` + ev("session.completed", `{"result":"hi","cost":0.25,`+hiveUsage+`}`, idle) + `]`,
		},
		{
			"H30 error_*",
			[]terret.Event{in(start)},
			[]terret.Event{in(terret.TurnError{Error: terret.Error{Code: terret.CodeMaxBudget, Message: "No money."}, Errors: []string{"over budget"}, Usage: usage})},
			`[` + ev("session.error", `{"error":"No money.\nover budget","errors":["over budget"],"kind":"max_budget","cost":0,`+hiveUsage+`}`, idle) + `]`,
		},
		{"H31 status", nil, []terret.Event{in(terret.CompactPre{Trigger: "auto"})}, `[` + ev("session.status", `{"status":{"type":"busy"},"state":"compacting"}`, busy) + `]`},
		{"H31 X14 failed is idle", nil, []terret.Event{out(terret.SessionStateChange{State: terret.SessionFailed})}, `[` + ev("session.status", `{"status":{"type":"idle"},"state":"failed"}`, idle) + `]`},
		{"H31 starting is busy", nil, []terret.Event{out(terret.SessionStateChange{State: terret.SessionStarting})}, `[` + ev("session.status", `{"status":{"type":"busy"},"state":"starting"}`, busy) + `]`},
		{"H31 waiting is busy", nil, []terret.Event{out(terret.SessionStateChange{State: terret.SessionWaiting})}, `[` + ev("session.status", `{"status":{"type":"busy"},"state":"waiting"}`, busy) + `]`},
		{"H31 retrying", nil, []terret.Event{out(terret.SessionStateChange{State: terret.SessionRetrying})}, `[` + ev("session.status", `{"status":{"type":"retry"},"state":"retrying"}`, `,"statusPayload":{"type":"retry"}`) + `]`},
		{
			"H31 retry", nil,
			[]terret.Event{in(terret.Retry{Attempt: 2, DelayMS: 1000, Error: "529"})},
			`[` + ev("session.status", `{"status":{"type":"retry","attempt":2,"message":"529","next":1773500967000},"state":"retrying"}`, `,"statusPayload":{"type":"retry","attempt":2,"message":"529","next":1773500967000}`) + `]`,
		},
		{"H31 background", nil, []terret.Event{in(terret.TurnStart{Origin: terret.OriginBackground})}, `[` + ev("session.status", `{"status":{"type":"busy"},"state":"busy"}`, busy) + `]`},
		{
			"H32 tool_progress",
			[]terret.Event{pre},
			[]terret.Event{in(terret.ToolProgress{ToolID: "u", Text: "50%", ElapsedMS: 10})},
			`[` + tool(`{"status":"running","metadata":{"output":"50%","elapsed_ms":10}}`) + `]`,
		},
		{
			"H33 auth_status", nil,
			[]terret.Event{out(terret.SessionAuth{Status: "in_progress", Method: "browser", Message: "Open it.", Output: []string{"url"}})},
			`[` + ev("session.auth", `{"status":"in_progress","method":"browser","message":"Open it.","output":["url"]}`, "") + `]`,
		},
		{"H34 compact_boundary", nil, []terret.Event{in(terret.CompactPost{Summary: "x"})}, `[]`},
		{"H35 hook_response", nil, []terret.Event{in(terret.HookResponse{Hook: "Stop"}), in(hook("Stop", `{}`))}, `[]`},
		{"H36 native id", nil, []terret.Event{out(terret.SessionNativeID{New: "n2"})}, `[` + ev("session.materialized", `{"newSessionId":"n2"}`, "") + `]`},
		{"H52 renamed", nil, []terret.Event{out(terret.SessionUpdated{Title: new("T")}), out(terret.SessionUpdated{Model: new("m2")})}, `[` + ev("session.updated", `{"info":{"title":"T"}}`, "") + `]`},
		{
			"H19 permission", nil,
			[]terret.Event{in(terret.PermissionRequest{RequestID: "r", ToolID: "u", Tool: "Bash", Input: terret.JSON(`{"command":"ls"}`), Title: "ls", Suggestions: []string{"Bash(ls)"}})},
			`[` + ev("permission.asked", `{"id":"r",`+`"sessionID":"`+session+`","permission":"Bash","patterns":["ls"],"metadata":{"input":{"command":"ls"},"reason":"","diff":""},"always":["Bash(ls)"],"tool":{"messageID":"","callID":"u"}}`, "") + `]`,
		},
		{
			"H20 question", nil,
			[]terret.Event{in(terret.QuestionRequest{RequestID: "r", Questions: []terret.Question{{ID: "q", Header: "H", Text: "Q?", Multi: true, Options: []terret.Option{{Label: "A", Description: "a"}}}}})},
			`[` + ev("question.asked", `{"id":"r","sessionID":"`+session+`","questions":[{"id":"q","header":"H","question":"Q?","multiple":true,"custom":true,"options":[{"label":"A","description":"a"}]}]}`, "") + `]`,
		},
		{"plan", nil, []terret.Event{in(terret.PlanRequest{RequestID: "r", Plan: "p"})}, `[` + ev("plan.ready", `{"id":"r","plan":"p"}`, "") + `]`},
	} {
		r.run(t, newView(t, "hive", view.Options{}))
	}
}

// TestHiveReplies holds the replies of H49, read and told.
func TestHiveReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate terret.Gate
		json string
		want terret.Decision
		told string
	}{
		{
			terret.GatePermission, `{"reply":"once"}`,
			terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeOnce},
			`{"type":"permission.replied","data":{"reply":"once","message":""}}`,
		},
		{
			terret.GatePermission, `{"reply":"always"}`,
			terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways},
			`{"type":"permission.replied","data":{"reply":"always","message":""}}`,
		},
		{
			terret.GatePermission, `{"reply":"reject","message":"no"}`,
			terret.Decision{Behavior: terret.BehaviorDeny, Scope: terret.ScopeOnce, Reason: "no"},
			`{"type":"permission.replied","data":{"reply":"reject","message":"no"}}`,
		},
		{
			terret.GateQuestion, `{"answers":[["Red"],["S","L"]]}`,
			terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"Red"}, "q2": {"S", "L"}}},
			`{"type":"question.replied","data":{}}`,
		},
		{
			terret.GateQuestion, `{"answers":[[],["S"]]}`,
			terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q2": {"S"}}},
			`{"type":"question.replied","data":{}}`,
		},
		{terret.GateQuestion, `{"rejected":true}`, terret.Decision{Behavior: terret.BehaviorReject}, `{"type":"question.rejected","data":{}}`},
		{terret.GatePlan, `{"approved":true}`, terret.Decision{Behavior: terret.BehaviorApprove}, `{"type":"plan.resolved","data":{"approved":true,"feedback":""}}`},
		{
			terret.GatePlan, `{"approved":false,"feedback":"more"}`,
			terret.Decision{Behavior: terret.BehaviorRevise, Reason: "more"},
			`{"type":"plan.resolved","data":{"approved":false,"feedback":"more"}}`,
		},
	} {
		q := questionRequest()
		q.Gate = c.gate
		got, err := view.FromHive(q, []byte(c.json))
		if err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		c.want.RequestID, c.want.Gate, c.want.Source = "req_1", c.gate, terret.ByUser
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.json, diff)
		}
		told := decoded(t, c.told).(map[string]any)
		told["sessionId"] = session
		told["data"].(map[string]any)["id"], told["data"].(map[string]any)["requestId"] = "req_1", "req_1"
		if diff := cmp.Diff(any([]any{told}), any(values(t, play(t, newView(t, "hive", view.Options{}), out(got.Data()))))); diff != "" {
			t.Errorf("%s told: -want +got\n%s", c.json, diff)
		}
	}
}

// TestHiveTrust holds that trust lasts without a rule, which only permissions make.
func TestHiveTrust(t *testing.T) {
	t.Parallel()
	d, err := view.FromHive(terret.Request{RequestID: "req_1", Gate: terret.GateTrust}, []byte(`{"reply":"always"}`))
	if err != nil || d.Behavior != terret.BehaviorAllow || d.Scope != terret.ScopeOnce {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestHiveBadReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate        terret.Gate
		json, field string
	}{
		{terret.GatePermission, `{}`, "reply"},
		{terret.GatePermission, `{"reply":"yes"}`, "reply"},
		{terret.GatePermission, `"once"`, "reply"},
		{terret.GateQuestion, `{}`, "answers"},
		{terret.GateQuestion, `{"answers":[[],[]]}`, "answers"},
		{terret.GateQuestion, `{"answers":[["a"],["b"],["c"]]}`, "answers"},
		{terret.GatePlan, `{"feedback":"x"}`, "approved"},
		{terret.GateStop, `{"reply":"once"}`, "gate"},
		{terret.GatePreTool, `{"reply":"once"}`, "gate"},
	} {
		q := questionRequest()
		q.Gate = c.gate
		d, err := view.FromHive(q, []byte(c.json))
		var e *terret.Error
		if !errors.As(err, &e) || e.Field != c.field || d.Behavior != "" {
			t.Errorf("%s at %s: %v, want field %s", c.json, c.gate, err, c.field)
		}
	}
	if _, err := view.FromHive(terret.Request{Gate: terret.GateQuestion, Data: terret.JSON(`[`)}, []byte(`{"answers":[["a"]]}`)); err == nil {
		t.Error("questions that nobody can read are answered")
	}
}

// TestHiveCapabilities is the truth table, H16 to H24, and X30.
func TestHiveCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		capability       terret.Capability
		openCode, claude bool
	}{
		{"supportsUndo", terret.CanUndo, true, true},
		{"supportsRedo", terret.CanRedo, true, false},
		{"supportsCommands", terret.CanCommands, true, true},
		{"supportsPermissionRequests", terret.CanPermissions, true, true},
		{"supportsQuestionPrompts", terret.CanQuestions, true, true},
		{"supportsModelSelection", terret.CanSelectModel, true, true},
		{"supportsReconnect", terret.CanReconnect, true, true},
		{"supportsPartialStreaming", terret.CanStream, true, true},
	} {
		of := func(h view.HiveCapabilities) bool {
			b, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			m := decoded(t, string(b)).(map[string]any)
			if len(m) != 8 {
				t.Fatalf("there are %d", len(m))
			}
			return m[c.name] == true
		}
		if of(view.OpenCodeCapabilities) != c.openCode || of(view.ClaudeCodeCapabilities) != c.claude {
			t.Errorf("%s is not %v and %v", c.name, c.openCode, c.claude)
		}
		for ability, want := range map[terret.Ability]bool{
			{OK: true, By: terret.ByAgent}: true, {OK: true, By: terret.ByHarness}: false, {OK: true, By: terret.ByDriver}: false, {By: terret.ByAgent}: false,
		} {
			one := terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{c.capability: ability}}
			if got := view.HiveCapabilitiesOf(one); of(got) != want || want && got == (view.HiveCapabilities{}) {
				t.Errorf("%s with %+v: %+v", c.name, ability, got)
			}
		}
	}
}

// TestHiveModels groups models by provider; those that name none are the agent's own.
func TestHiveModels(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(view.HiveModels("claude", []terret.Model{
		{ID: "anthropic/opus", Name: "Opus", Context: 200, MaxOutput: 30}, {ID: "haiku"}, {ID: "anthropic/sonnet", Name: "Sonnet"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"anthropic","models":{"opus":{"id":"opus","name":"Opus","limit":{"context":200,"output":30}},"sonnet":{"id":"sonnet","name":"Sonnet","limit":{}}}},` +
		`{"id":"claude-code","models":{"haiku":{"id":"haiku","name":"haiku","limit":{}}}}]`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	agents := view.HiveAgents([]terret.Probe{
		{Agent: "claude", Capabilities: terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{terret.CanUndo: {OK: true, By: terret.ByAgent}}}},
		{Agent: "codex"},
	})
	if len(agents) != 2 || !agents["claude-code"].SupportsUndo || agents["codex"].SupportsUndo {
		t.Errorf("agents %+v", agents)
	}
}

// TestHiveRequests lists what is open as the events that announced it, without what Hive
// does not know or cannot be read.
func TestHiveRequests(t *testing.T) {
	t.Parallel()
	id := terret.NewSessionID()
	open := view.HiveRequests([]terret.Request{
		{Session: id, Gate: terret.GatePermission, Data: terret.JSON(`{"request_id":"req_1","tool":"Bash","input":{}}`)},
		{Session: id, Gate: terret.GateStop, Data: terret.JSON(`{}`)},
		{Session: id, Gate: terret.GateQuestion, Data: terret.JSON(`7`)},
		{Session: id, Gate: terret.GatePlan, Data: terret.JSON(`{"request_id":"req_2","plan":"Do it."}`)},
	})
	var got []string
	for _, m := range open {
		e := decoded(t, string(m)).(map[string]any)
		data := e["data"].(map[string]any)
		got = append(got, e["type"].(string)+" "+data["id"].(string))
		if e["sessionId"] != id {
			t.Errorf("%s", m)
		}
	}
	if d := cmp.Diff([]string{"permission.asked req_1", "plan.ready req_2"}, got); d != "" {
		t.Error(d)
	}
}
