package claude

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// feed translates lines, a second apart, and returns all events.
func feed(t *translator, lines ...string) []terret.Event {
	var out []terret.Event
	for i, line := range lines {
		events, _ := t.translate([]byte(line), start.Add(time.Duration(i)*time.Second))
		out = append(out, events...)
	}
	return out
}

func kindsOf(events []terret.Event) string {
	var out []string
	for _, ev := range events {
		if ev.Kind() != "usage.update" {
			out = append(out, string(ev.Kind()))
		}
	}
	return strings.Join(out, " ")
}

func wantKinds(t *testing.T, events []terret.Event, want string) {
	t.Helper()
	if got := kindsOf(events); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Lines as the agent writes them.
const (
	initLine   = `{"type":"system","subtype":"init","session_id":"s1","cwd":"/home/dev/project","model":"m","permissionMode":"default","tools":["Bash"]}`
	resultLine = `{"type":"result","subtype":"success","is_error":false,"session_id":"s1","num_turns":1,"result":"ok","stop_reason":"end_turn","total_cost_usd":%g,"terminal_reason":"completed"}`
)

func textLine(id, text string) string {
	return fmt.Sprintf(`{"type":"assistant","session_id":"s1","message":{"id":%q,"content":[{"type":"text","text":%q}]}}`, id, text)
}

func toolLine(id, tool, name, input string) string {
	return fmt.Sprintf(`{"type":"assistant","session_id":"s1","message":{"id":%q,"content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`, id, tool, name, input)
}

func resultOf(tool, content, outcome string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u-%s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]},"tool_use_result":%s}`, tool, tool, content, outcome)
}

func streamLine(event string) string {
	return `{"type":"stream_event","session_id":"s1","event":` + event + `}`
}

func result(cost float64) string { return fmt.Sprintf(resultLine, cost) }

// What is not known is kept; what cannot be read is cut; a blank line is nothing.
func TestStrangeLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]terret.Data{
		`{"type":"brand_new","x":1}`:                       terret.Unknown{NativeType: "brand_new"},
		`{"type":"system","subtype":"files_persisted"}`:    terret.Unknown{NativeType: "system/files_persisted"},
		`{"type":"stream_event","event":{"type":"novel"}}`: terret.Unknown{NativeType: "stream_event/novel"},
		`{"x":1}`:    terret.Unknown{},
		`{"type":7}`: terret.Unknown{},
		`{"type":"system","subtype":"task_started"}`:    terret.Unknown{NativeType: "system/task_started"},
		`{"type":"tool_progress","tool_use_id":"gone"}`: terret.Unknown{NativeType: "tool_progress"},
		`Default reply.`:                     terret.DiagParseError{Text: "Default reply."},
		`{"type":"assistant"`:                terret.DiagParseError{Text: `{"type":"assistant"`},
		`["type"]`:                           terret.DiagParseError{Text: `["type"]`},
		`"` + strings.Repeat("ü", 600) + `"`: terret.DiagParseError{Text: `"` + strings.Repeat("ü", 499)},
		`{"hook_event_name":"Stop","stop_hook_active":true}`: terret.HookEvent{Hook: "Stop", Data: terret.JSON(`{"hook_event_name":"Stop","stop_hook_active":true}`)},
	} {
		events, others := newTranslator(options{}).translate([]byte(line+"\r\n"), start)
		if len(events) != 1 || len(others) != 0 {
			t.Errorf("%s: %d events, %d controls", line, len(events), len(others))
			continue
		}
		if diff := cmp.Diff(want, events[0].Data); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
		_, unknown := want.(terret.Unknown)
		if unknown != (string(events[0].Raw) == line) {
			t.Errorf("%s: kept %q", line, events[0].Raw)
		}
	}
	tr := newTranslator(options{})
	if got := feed(tr, "", "  \t", "\r"); len(got) != 0 || tr.turn.malformed != 0 {
		t.Errorf("of blank lines came %v", got)
	}
	feed(tr, "oops", "again")
	if tr.turn.malformed != 2 {
		t.Errorf("%d bad lines counted", tr.turn.malformed)
	}
}

func TestKeepRaw(t *testing.T) {
	t.Parallel()
	line := []byte(initLine)
	events, _ := newTranslator(options{keepRaw: true}).translate(line, start)
	line[0] = 'X' // the caller's buffer is the caller's
	if len(events) != 2 || string(events[0].Raw) != initLine || events[1].Raw != nil {
		t.Errorf("%d events, raw %q", len(events), events[0].Raw)
	}
}

// Requests that nobody here understands are answered, so that the agent does not
// wait for ever.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	for sub, want := range map[string]string{
		"request_user_dialog": `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"cancelled"}}}`,
		"oauth_token_refresh": `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"unsupported control request: oauth_token_refresh"}}`,
	} {
		events, others := newTranslator(options{}).translate([]byte(`{"type":"control_request","request_id":"r","request":{"subtype":"`+sub+`"}}`), start)
		wantKinds(t, events, "unknown")
		if len(others) != 1 {
			t.Fatalf("%v", others)
		}
		sameJSON(t, []byte(want), others[0].(reply).line)
	}
	_, others := newTranslator(options{}).translate([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"no"}}`), start)
	if got := others[0].(answered); got.id != "r" || got.err != "no" {
		t.Errorf("%+v", got)
	}
	_, others = newTranslator(options{}).translate([]byte(`{"type":"control_cancel_request","request_id":"r"}`), start)
	if got := others[0].(withdrawn); got.id != "r" {
		t.Errorf("%+v", got)
	}
}

// Lines that no recording has.
func TestLinesOnlyReadAbout(t *testing.T) {
	t.Parallel()
	reset := terret.TimeOf(time.Unix(1771390800, 0))
	hint := terret.Command{Name: "x", Description: "does x", Hint: "<n>"}
	for line, want := range map[string]terret.Data{
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800,"rateLimitType":"five_hour"}}`:    terret.RateLimit{ResetsAt: &reset, Kind: "five_hour"},
		`{"type":"auth_status","isAuthenticating":true,"output":["open a browser"]}`:                                               terret.SessionAuth{Status: "pending", Output: []string{"open a browser"}},
		`{"type":"auth_status","isAuthenticating":false,"error":"denied"}`:                                                         terret.SessionAuth{Status: "failed", Message: "denied"},
		`{"type":"prompt_suggestion","suggestion":"run the tests"}`:                                                                terret.Notification{Text: "run the tests", Level: "info", Type: "prompt_suggestion"},
		`{"type":"tool_use_summary","summary":"read two files"}`:                                                                   terret.Notification{Text: "read two files", Level: "info", Type: "tool_use_summary"},
		`{"type":"system","subtype":"local_command_output","content":"hi"}`:                                                        terret.Notification{Text: "hi", Level: "info", Type: "local_command_output"},
		`{"type":"system","subtype":"mirror_error","error":"disk full"}`:                                                           terret.Notification{Text: "disk full", Level: "warning", Type: "mirror_error"},
		`{"type":"system","subtype":"commands_changed","commands":[{"name":"x","description":"does x","argumentHint":"<n>"},"y"]}`: terret.SessionCommands{Commands: []terret.Command{hint, {Name: "y"}}},
		`{"type":"system","subtype":"model_refusal_fallback","original_model":"a","fallback_model":"b"}`:                           terret.ModelFallback{From: "a", To: "b", Why: "refusal"},
		`{"type":"system","subtype":"hook_progress","hook_name":"Stop"}`:                                                           terret.HookEvent{Hook: "Stop", Data: terret.JSON(`{"type":"system","subtype":"hook_progress","hook_name":"Stop"}`)},
	} {
		events := feed(newTranslator(options{}), line)
		if len(events) != 1 {
			t.Errorf("%s: %d events", line, len(events))
			continue
		}
		if diff := cmp.Diff(want, events[0].Data); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	for _, line := range []string{`{"type":"keep_alive"}`, `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}`} {
		if got := feed(newTranslator(options{}), line); len(got) != 0 {
			t.Errorf("%s: %v", line, got)
		}
	}
	tr := newTranslator(options{})
	got := feed(tr, toolLine("m1", "t1", "Bash", `{"command":"ls"}`), `{"type":"tool_progress","tool_use_id":"t1","elapsed_time_seconds":2.5}`)
	if diff := cmp.Diff(terret.ToolProgress{ToolID: "t1", ElapsedMS: 2500}, got[1].Data); diff != "" {
		t.Error(diff)
	}
}

// A tool may be done while the message that calls it, and another, is written; and
// the message is still one.
func TestToolIsDoneBeforeItsMessage(t *testing.T) {
	t.Parallel()
	events := feed(newTranslator(options{}),
		streamLine(`{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":10,"output_tokens":1}}}`),
		streamLine(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}`),
		streamLine(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}`),
		streamLine(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}`),
		toolLine("m1", "t1", "Bash", `{}`), // the input is what was streamed
		resultOf("t1", "a.go", `null`),
		toolLine("m1", "t2", "Bash", `{"command":"pwd"}`),
		streamLine(`{"type":"message_delta","usage":{"output_tokens":30}}`),
		streamLine(`{"type":"message_stop"}`),
		resultOf("t2", "/", `null`),
		resultOf("t2", "again", `null`), // a second result of a tool is none
	)
	wantKinds(t, events, "tool.start tool.delta tool.delta tool.pre tool.post message.complete tool.pre message.complete tool.post message.complete message.complete")
	if pre := events[3].Data.(terret.ToolPre); string(pre.Input) != `{"command":"ls"}` || pre.Title != "Run `ls`" {
		t.Errorf("%+v", pre)
	}
	if post := events[4].Data.(terret.ToolPost); post.DurationMS != 1000 || post.Name != "Bash" {
		t.Errorf("%+v", post)
	}
	if m := events[7].Data.(terret.MessageComplete); m.MessageID != "m1" || len(m.Blocks) != 2 || string(m.Blocks[0].Input) != `{"command":"ls"}` {
		t.Errorf("%+v", m)
	}
	if u := events[8].Data.(terret.UsageUpdate); u.Output != 30 || u.Input != 10 || u.ContextUsed != 40 {
		t.Errorf("%+v", u)
	}
}

// Without a stream, a message that goes on after it seemed to be complete goes on
// under another id.
func TestLateBlock(t *testing.T) {
	t.Parallel()
	events := feed(newTranslator(options{}),
		toolLine("m1", "t1", "Bash", `{"command":"ls"}`), resultOf("t1", "x", `null`), textLine("m1", "more"), textLine("m2", "next"), result(0))
	var ids []string
	for _, ev := range events {
		if d, ok := ev.Data.(terret.MessageComplete); ok && d.Role == terret.RoleAssistant {
			ids = append(ids, d.MessageID)
		}
	}
	if !slices.Equal(ids, []string{"m1", "m1#2", "m2"}) {
		t.Errorf("%q", ids)
	}
}

// A call that broke off before its input was whole ends with the turn.
func TestBrokenOffCall(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{})
	tr.prompted("", "go")
	events := feed(tr, initLine,
		streamLine(`{"type":"message_start","message":{"id":"m1"}}`),
		streamLine(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Bash"}}`),
		streamLine(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}}`),
		`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":"s1"}`)
	wantKinds(t, events, "session.start session.native_id tool.start tool.delta tool.failure turn.error")
	if d := events[len(events)-2].Data.(terret.ToolFailure); !d.Interrupted || d.ToolID != "t1" {
		t.Errorf("%+v", d)
	}
}

// Repeated openings only tell what changed.
func TestRepeatedInit(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{source: "resume", nativeID: "s1"})
	events := feed(tr, initLine, initLine,
		strings.Replace(initLine, `"model":"m"`, `"model":"n","slash_commands":["x"]`, 1),
		`{"type":"system","subtype":"status","status":null,"permissionMode":"plan","session_id":"s1"}`,
		strings.Replace(initLine, `"default"`, `"plan"`, 1))
	wantKinds(t, events, "session.start session.updated session.commands session.updated session.updated")
	if d := events[0].Data.(terret.SessionStart); d.Source != "resume" || d.Agent != "claude" || d.NativeID != "s1" {
		t.Errorf("%+v", d)
	}
	if d := events[3].Data.(terret.SessionUpdated); d.PermissionMode == nil || *d.PermissionMode != "plan" || d.Model != nil {
		t.Errorf("%+v", d)
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{})
	var got []string
	for _, ev := range feed(tr,
		toolLine("m1", "a", "TaskCreate", `{"subject":"one"}`), resultOf("a", "", `{"task":{"id":"1","subject":"one"}}`),
		toolLine("m2", "b", "TaskCreate", `{"subject":"two"}`), resultOf("b", "", `{"task":{"id":"2"}}`),
		toolLine("m3", "c", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`), resultOf("c", "", `{"success":true}`),
		toolLine("m4", "d", "TaskUpdate", `{"taskId":"2","status":"deleted"}`), resultOf("d", "", `{"success":true}`),
		toolLine("m5", "e", "TaskUpdate", `{"taskId":"9","status":"completed"}`), resultOf("e", "", `{"success":true}`),
		toolLine("m6", "f", "TaskList", `{}`), resultOf("f", "", `{"tasks":[{"id":"1","subject":"uno","status":"completed"}]}`),
		toolLine("m7", "g", "TodoWrite", `{"todos":[{"content":"x","status":"pending","activeForm":"xing"}]}`), resultOf("g", "", `{}`),
	) {
		if d, ok := ev.Data.(terret.PlanUpdate); ok {
			got = append(got, fmt.Sprint(d.Entries))
		}
	}
	want := []string{
		"[{one pending}]", "[{one pending} {two pending}]", "[{one in_progress} {two pending}]", "[{one in_progress}]",
		"[{one in_progress} {#9 completed}]", "[{uno completed}]", "[{x pending}]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]terret.ToolClass{
		"Bash": terret.ClassExecute, "Read": terret.ClassRead, "Write": terret.ClassEdit, "NotebookEdit": terret.ClassEdit, "Grep": terret.ClassSearch,
		"WebFetch": terret.ClassFetch, "Task": terret.ClassAgent, "Agent": terret.ClassAgent, "TodoWrite": terret.ClassThink,
		"mcp__calc__add": terret.ClassMCP, "AskUserQuestion": terret.ClassThink, "SomethingNew": terret.ClassOther, "": terret.ClassOther,
	} {
		if got := classOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, input, want string }{
		{"Bash", `{"command":" git status\nrm x\u0007 "}`, "Run `git status↵rm x\uFFFD`"},
		{"Write", `{"file_path":"/home/dev/project/a/b.go"}`, "Write a/b.go"},
		{"Edit", `{"file_path":"/home/dev/other/b.go"}`, "Edit /home/dev/other/b.go"},
		{"Read", `{"file_path":"rel.go"}`, "Read rel.go"},
		{"Grep", `{"pattern":"x"}`, "Search for `x` in ."},
		{"Glob", `{"pattern":"*.go","path":"/home/dev/project/sub"}`, "Find `*.go` in sub"},
		{"LS", `{}`, "List ."},
		{"WebFetch", `{"url":"https://go.dev"}`, "Fetch https://go.dev"},
		{"WebSearch", `{"query":"go"}`, "Search the web for `go`"},
		{"Agent", `{"description":"look around"}`, "Start an agent: look around"},
		{"mcp__calc__add", `{"a":1}`, "Use add of calc"},
		{"Skill", `[]`, "Skill"},
		{"Bash", `{}`, "Bash"},
		{"Read", `{"file_path":"rel.go","command":"ls"}`, "Read rel.go"},
	} {
		if got := decodeInput(terret.JSON(c.input)).title(c.name, "/home/dev/project"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	long := decodeInput(terret.JSON(`{"command":"`+strings.Repeat("x", 1000)+`"}`)).title("Bash", "")
	if len(long) > 220 || !strings.HasSuffix(long, "…`") {
		t.Errorf("%q", long)
	}
}
