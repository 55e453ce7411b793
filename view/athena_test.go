package view_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// runtime is what the tests look at of a RuntimeEvent.
type runtime struct {
	ID          string          `json:"id"`
	Kind        string          `json:"kind"`
	HookName    string          `json:"hookName"`
	Data        json.RawMessage `json:"data"`
	SessionID   string          `json:"sessionId"`
	Timestamp   int64           `json:"timestamp"`
	ToolName    string          `json:"toolName"`
	ToolUseID   string          `json:"toolUseId"`
	AgentID     string          `json:"agentId"`
	AgentType   string          `json:"agentType"`
	Context     map[string]string
	Interaction struct {
		ExpectsDecision  bool
		DefaultTimeoutMs int64
		CanBlock         bool
	}
	Payload any `json:"payload"`
}

func runtimes(t *testing.T, messages []view.Message) []runtime {
	t.Helper()
	var all []runtime
	for _, m := range messages {
		var r runtime
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind != m.Name || r.SessionID != session || r.ID == "" {
			t.Errorf("%q has name %q, session %q, id %q", r.Kind, m.Name, r.SessionID, r.ID)
		}
		all = append(all, r)
	}
	return all
}

func hook(name, data string) terret.HookEvent {
	return terret.HookEvent{Hook: name, Data: terret.JSON(data)}
}

// settled is a request that was decided when it was asked.
func settled(e terret.Event) terret.Event {
	e.Expects.Decided = true
	return e
}

// TestAthenaEvents is the event table: which hook gives which kind.
func TestAthenaEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, hook, kind string
		event          terret.Event
		data           string
		expects        bool
	}{
		{
			"A41", "PreToolUse", "tool.pre", asking(terret.GatePreTool, in(terret.ToolPre{ToolID: "u", Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)})),
			`{"tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"ls"}}`, true,
		},
		{
			"A41 nobody waits", "PreToolUse", "tool.pre", settled(asking(terret.GatePreTool, in(terret.ToolPre{ToolID: "u", Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)}))),
			`{"tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"ls"}}`, false,
		},
		{
			"A42", "PostToolUse", "tool.post", in(terret.ToolPost{ToolID: "u", Name: "Bash", Content: []terret.Block{terret.Text("a.go")}}),
			`{"tool_name":"Bash","tool_use_id":"u","tool_response":"a.go"}`, false,
		},
		{
			"A42 failed", "PostToolUseFailure", "tool.failure", in(terret.ToolFailure{ToolID: "u", Name: "Bash", Error: "no", Interrupted: true}),
			`{"tool_name":"Bash","tool_use_id":"u","error":"no","is_interrupt":true}`, false,
		},
		{
			"A43", "Stop", "stop.request", asking(terret.GateStop, in(terret.StopRequest{RequestID: "req_1", LastMessage: "done", Again: true})),
			`{"stop_hook_active":true,"last_assistant_message":"done"}`, true,
		},
		{
			"A44 A51", "SessionStart", "session.start", out(terret.SessionStart{Source: "new", Agent: "claude", Model: "m", Tools: []string{"Bash"}}),
			`{"source":"new","model":"m","tools":["Bash"],"harness":"agent-sdk"}`, false,
		},
		{"A45", "SessionEnd", "session.end", out(terret.SessionEnd{Reason: "closed", NativeReason: "logout"}), `{"reason":"logout"}`, false},
		{
			"A46", "SubagentStart", "subagent.start", of("a", "u", in(terret.SubagentStart{ID: "a", Type: "Explore"})),
			`{"agent_id":"a","agent_type":"Explore"}`, false,
		},
		{
			"A47", "SubagentStop", "subagent.stop", of("a", "u", in(terret.SubagentStop{ID: "a", Type: "Explore", Result: "ok"})),
			`{"agent_id":"a","agent_type":"Explore","last_assistant_message":"ok"}`, false,
		},
		{
			"A47 asks", "SubagentStop", "subagent.stop", asking(terret.GateSubagentStop, of("a", "u", in(hook("SubagentStop", `{"agent_id":"a"}`)))),
			`{"agent_id":"a"}`, true,
		},
		{"A48", "UserPromptSubmit", "user.prompt", asking(terret.GatePrompt, in(hook("UserPromptSubmit", `{"prompt":"hi"}`))), `{"prompt":"hi"}`, true},
		{
			"A48 steers", "UserPromptSubmit", "user.prompt", in(terret.UserPrompt{MessageID: "m", Blocks: []terret.Block{terret.Text("hi")}}),
			`{"prompt":"hi","permission_mode":""}`, false,
		},
		{
			"A49", "PreCompact", "compact.pre", in(terret.CompactPre{Trigger: "manual", Instructions: "short"}),
			`{"trigger":"manual","custom_instructions":"short"}`, false,
		},
		{"A49 asks", "PreCompact", "compact.pre", asking(terret.GateCompact, in(hook("PreCompact", `{"trigger":"auto"}`))), `{"trigger":"auto"}`, true},
		{
			"A50", "Notification", "notification", out(terret.Notification{Text: "look", Level: "info", Title: "T", Type: "idle_prompt"}),
			`{"message":"look","title":"T","notification_type":"idle_prompt"}`, false,
		},
		{"A50 hook", "Notification", "notification", out(hook("Notification", `{"message":"look"}`)), `{"message":"look"}`, false},
		{"A50 new hook", "MessageDisplay", "unknown", out(hook("MessageDisplay", `{"a":1}`)), `{"source_event_name":"MessageDisplay","payload":{"a":1}}`, false},
		{"A18", "PermissionRequest", "permission.request", asking(terret.GatePermission, in(terret.PermissionRequest{
			RequestID: "req_1", ToolID: "u", Tool: "Bash", Input: terret.JSON(`{"command":"ls"}`), Suggestions: []string{"Bash(ls)"},
		})), `{"tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"ls"},"permission_suggestions":[{"type":"allow","tool":"Bash(ls)"}]}`, true},
	} {
		got := runtimes(t, play(t, newView(t, "athena", view.Options{}), c.event))
		if len(got) != 1 {
			t.Errorf("%s gives %d messages", c.id, len(got))
			continue
		}
		r := got[0]
		if r.Kind != c.kind || r.HookName != c.hook || r.Timestamp != when.UnixMilli() {
			t.Errorf("%s is %s of %s at %d", c.id, r.Kind, r.HookName, r.Timestamp)
		}
		if diff := cmp.Diff(decoded(t, c.data), decoded(t, string(r.Data))); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.id, diff)
		}
		if r.Interaction.ExpectsDecision != c.expects || c.expects && (r.ID != "req_1" || r.Interaction.DefaultTimeoutMs != 4000 || !r.Interaction.CanBlock) {
			t.Errorf("%s: %+v of %s", c.id, r.Interaction, r.ID)
		}
	}
}

// TestAthenaOneHookOneEvent holds that what a hook asks about is not told twice.
func TestAthenaOneHookOneEvent(t *testing.T) {
	t.Parallel()
	got := play(t, newView(t, "athena", view.Options{}),
		of("a", "u", in(terret.SubagentStart{ID: "a"})), of("a", "u", in(hook("SubagentStart", `{"agent_id":"a"}`))),
		asking(terret.GateSubagentStop, of("a", "u", in(hook("SubagentStop", `{"agent_id":"a"}`)))), of("a", "u", in(terret.SubagentStop{ID: "a"})),
		asking(terret.GateCompact, in(hook("PreCompact", `{}`))), in(terret.CompactPre{Trigger: "auto"}), in(terret.CompactPre{Trigger: "manual"}),
		in(hook("PostToolUse", `{}`)),
	)
	want := []string{"subagent.start", "subagent.stop", "compact.pre", "compact.pre"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Error(diff)
	}
}

// TestAthenaContext holds what an event carries of what came before.
func TestAthenaContext(t *testing.T) {
	t.Parallel()
	raw := of("a", "u", in(terret.ToolPre{ToolID: "u2", Name: "Read", Input: terret.JSON(`not json`)}))
	raw.Raw = []byte(`{"type":"x"}`)
	got := runtimes(t, play(t, newView(t, "athena", view.Options{Session: terret.Session{Cwd: "/w", PermissionMode: "plan"}}),
		of("a", "u", in(terret.SubagentStart{ID: "a", Type: "Explore"})),
		in(hook("Setup", `{"transcript_path":"/t.jsonl"}`)), raw))
	r := got[len(got)-1]
	want := map[string]string{"cwd": "/w", "transcriptPath": "/t.jsonl", "permissionMode": "plan"}
	if diff := cmp.Diff(want, r.Context); diff != "" {
		t.Error(diff)
	}
	if r.AgentID != "a" || r.AgentType != "Explore" || r.ToolName != "Read" || r.ToolUseID != "u2" {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(map[string]any{"type": "x"}, r.Payload); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(decoded(t, `{"tool_name":"Read","tool_use_id":"u2","tool_input":{"input":"not json"}}`), decoded(t, string(r.Data))); diff != "" {
		t.Error(diff)
	}
}

// TestAthenaResult is A52: a result updates the usage, and ends the session where
// each turn has its own process.
func TestAthenaResult(t *testing.T) {
	t.Parallel()
	used := terret.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	total := terret.UsageUpdate{Usage: terret.Usage{Input: 11, Output: 12}}
	for name, c := range map[string]struct {
		oneShot bool
		events  []terret.Event
		want    []string
		usage   float64
	}{
		"success":  {false, []terret.Event{in(terret.TurnStart{}), in(terret.TurnComplete{Usage: used})}, []string{"turn.start", "turn.complete", "usage.update"}, 10},
		"error":    {false, []terret.Event{in(terret.TurnStart{}), in(terret.TurnError{Usage: used})}, []string{"turn.start", "turn.complete", "usage.update"}, 10},
		"one shot": {true, []terret.Event{in(terret.TurnStart{}), in(terret.TurnComplete{Usage: used}), out(terret.SessionEnd{Reason: "agent_exit"})}, []string{"turn.start", "turn.complete", "usage.update", "session.end"}, 10},
		"counted":  {false, []terret.Event{in(terret.TurnStart{}), in(total), in(terret.TurnComplete{Usage: used})}, []string{"turn.start", "usage.update", "turn.complete", "usage.update"}, 23},
	} {
		v := newView(t, "athena", view.Options{Session: terret.Session{OneShot: c.oneShot}})
		got := play(t, v, c.events...)
		if diff := cmp.Diff(c.want, names(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var last struct {
			Usage, Delta map[string]float64
		}
		for _, r := range runtimes(t, got) {
			if r.Kind == "usage.update" {
				if err := json.Unmarshal(r.Data, &last); err != nil {
					t.Fatal(err)
				}
			}
		}
		if last.Usage["total"] != c.usage || last.Delta["total"] != 10 {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

func questionRequest() terret.Request {
	return terret.Request{RequestID: "req_1", Gate: terret.GateQuestion, Data: terret.JSON(
		`{"request_id":"req_1","questions":[{"id":"q1","text":"Colour?"},{"id":"q2","text":"Sizes?","multi":true}]}`)}
}

// TestAthenaDecisions is the decision table, read and written. What Athena's words
// then answer to the agent's hook is its driver's to say.
func TestAthenaDecisions(t *testing.T) {
	t.Parallel()
	answers := map[string]terret.Choice{"q1": {"Red"}, "q2": {"S", "L"}}
	for _, c := range []struct {
		id       string
		gate     terret.Gate
		json     string
		behavior terret.Behavior
		reason   string
		answers  map[string]terret.Choice
		back     string // what it is written as, if not the same
	}{
		{"A53", terret.GatePreTool, `{"type":"passthrough","source":"rule"}`, terret.BehaviorPassthrough, "", nil, ""},
		{"A53 prompt", terret.GatePrompt, `{"type":"passthrough","source":"timeout"}`, terret.BehaviorPassthrough, "", nil, ""},
		{"A54", terret.GatePreTool, `{"type":"block","source":"rule","reason":"no"}`, terret.BehaviorBlock, "no", nil, ""},
		{"A54 stop", terret.GateStop, `{"type":"block","source":"user","reason":"go on"}`, terret.BehaviorBlock, "go on", nil, ""},
		{
			"A54 permission", terret.GatePermission, `{"type":"block","source":"user","reason":"no"}`, terret.BehaviorDeny, "no", nil,
			`{"type":"json","source":"user","intent":{"kind":"permission_deny","reason":"no"}}`,
		},
		{"A55", terret.GatePermission, `{"type":"json","source":"user","intent":{"kind":"permission_allow"}}`, terret.BehaviorAllow, "", nil, ""},
		{"A56", terret.GatePermission, `{"type":"json","source":"user","intent":{"kind":"permission_deny","reason":"no"}}`, terret.BehaviorDeny, "no", nil, ""},
		{"A57", terret.GatePreTool, `{"type":"json","source":"rule","intent":{"kind":"pre_tool_allow"}}`, terret.BehaviorAllow, "", nil, ""},
		{"A58", terret.GatePreTool, `{"type":"json","source":"rule","intent":{"kind":"pre_tool_deny","reason":"no"}}`, terret.BehaviorDeny, "no", nil, ""},
		{
			"question", terret.GateQuestion, `{"type":"json","source":"user","intent":{"kind":"question_answer","answers":{"Colour?":"Red","q2":["S","L"]}}}`,
			terret.BehaviorAnswer, "", answers, `{"type":"json","source":"user","intent":{"kind":"question_answer","answers":{"q1":"Red","q2":["S","L"]}}}`,
		},
		{"question dismissed", terret.GateQuestion, `{"type":"block","source":"user"}`, terret.BehaviorReject, "", nil, ""},
		{"plan", terret.GatePlan, `{"type":"json","source":"user","intent":{"kind":"permission_allow"}}`, terret.BehaviorApprove, "", nil, ""},
		{"plan again", terret.GatePlan, `{"type":"json","source":"user","intent":{"kind":"permission_deny","reason":"more"}}`, terret.BehaviorRevise, "more", nil, ""},
		{
			"stop_block", terret.GateSubagentStop, `{"type":"json","intent":{"kind":"stop_block","reason":"go on"}}`, terret.BehaviorBlock, "go on", nil,
			`{"type":"block","source":"user","reason":"go on"}`,
		},
		{
			"as a message", terret.GatePermission, `{"type":"decision","requestId":"req_1","decision":{"type":"json","source":"timeout","intent":{"kind":"permission_deny","reason":"late"}}}`,
			terret.BehaviorDeny, "late", nil, `{"type":"json","source":"timeout","intent":{"kind":"permission_deny","reason":"late"}}`,
		},
	} {
		q := questionRequest()
		q.Gate = c.gate
		d, err := view.FromAthena(q, []byte(c.json))
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		want := terret.Decision{RequestID: "req_1", Gate: c.gate, Behavior: c.behavior, Source: d.Source, Reason: c.reason, Answers: c.answers}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.id, diff)
		}
		if c.back == "" {
			c.back = c.json
		}
		b, err := json.Marshal(view.ToAthena(d))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, c.back), decoded(t, string(b))); diff != "" {
			t.Errorf("%s and back: -want +got\n%s", c.id, diff)
		}
		told := values(t, play(t, newView(t, "athena", view.Options{}), out(d.Data())))
		if diff := cmp.Diff(any([]any{map[string]any{"type": "decision", "requestId": "req_1", "decision": decoded(t, c.back)}}), any(told)); diff != "" {
			t.Errorf("%s as an event: -want +got\n%s", c.id, diff)
		}
	}
}

func TestAthenaBadDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate        terret.Gate
		json, field string
	}{
		{terret.GatePermission, `{"type":"passthrough","source":"user"}`, "behavior"}, // no opinion is no allow
		{terret.GateQuestion, `{"type":"passthrough"}`, "behavior"},
		{terret.GatePermission, `{"type":"json","intent":{"kind":"pre_tool_allow"}}`, "intent.kind"},
		{terret.GatePreTool, `{"type":"json","intent":{"kind":"permission_allow"}}`, "intent.kind"},
		{terret.GatePreTool, `{"type":"json","intent":{"kind":"sudo"}}`, "intent.kind"},
		{terret.GatePreTool, `{"type":"json"}`, "intent"},
		{terret.GateQuestion, `{"type":"json","intent":{"kind":"question_answer"}}`, "answers"},
		{terret.GatePermission, `{"type":"allow"}`, "type"},
		{terret.GatePermission, `{"type":"block","source":"root"}`, "source"},
		{terret.GatePermission, `{"type":"decision","requestId":"req_2","decision":{"type":"block"}}`, "requestId"},
		{terret.GatePermission, `{"type":"decision"}`, "type"},
		{terret.GatePermission, `null`, "type"},
		{terret.GatePermission, `{"type":`, "decision"},
		{terret.GatePermission, `[]`, "decision"},
		{"nowhere", `{"type":"block"}`, "gate"},
	} {
		d, err := view.FromAthena(terret.Request{RequestID: "req_1", Gate: c.gate}, []byte(c.json))
		var e *terret.Error
		if !errors.As(err, &e) || e.Code != terret.CodeInvalidRequest || e.Field != c.field || d.Behavior != "" {
			t.Errorf("%s at %s: %v, field %v, want %s", c.json, c.gate, err, e, c.field)
		}
	}
}

// TestAthenaSources holds that each source of a decision is one of Athena's three.
func TestAthenaSources(t *testing.T) {
	t.Parallel()
	for source, want := range map[terret.DecisionSource]string{
		terret.ByRule: "rule", terret.ByPolicy: "rule", terret.ByUser: "user", terret.ByChannel: "user",
		terret.ByTimeout: "timeout", terret.ByAgentExit: "timeout", terret.ByInterrupt: "timeout",
	} {
		d := view.ToAthena(terret.Decision{Gate: terret.GatePermission, Behavior: terret.BehaviorDeny, Source: source})
		if d.Source != want || d.Intent == nil || d.Intent.Reason == "" {
			t.Errorf("%s gives %+v", source, d)
		}
	}
}
