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

func replayLine(uuid string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"isReplay":true,"session_id":"s1","message":{"role":"user","content":"words"}}`, uuid)
}

func backgroundResult(cost float64) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"by myself","total_cost_usd":%g,"terminal_reason":"completed","origin":{"kind":"task-notification"}}`, cost)
}

func replaying() *translator {
	t := newTranslator(options{replay: true})
	feed(t, initLine)
	return t
}

// A message that is added to a turn and taken up in it changes nothing; one that is
// taken up after it holds the end back.
func TestSteering(t *testing.T) {
	t.Parallel()
	tr := replaying()
	tr.prompted("p1", "go")
	wantKinds(t, feed(tr, replayLine("p1"), toolLine("m1", "t1", "Bash", `{}`)), "tool.pre")
	tr.prompted("s1", "also")
	wantKinds(t, feed(tr, resultOf("t1", "x", `null`), replayLine("s1"), textLine("m2", "both"), result(0.001)),
		"message.complete tool.post message.complete message.complete turn.complete")

	tr.prompted("p2", "go")
	feed(tr, replayLine("p2"), textLine("m3", "first"))
	tr.prompted("s2", "too late for that")
	wantKinds(t, feed(tr, result(0.003)), "message.complete")
	events := feed(tr, initLine, replayLine("s2"), textLine("m4", "second"), result(0.004))
	wantKinds(t, events, "message.complete turn.complete")
	if d := events[len(events)-1].Data.(terret.TurnComplete); d.CostUSD != terret.CostOf(0.003) || d.NumSteps != 2 {
		t.Errorf("%+v", d)
	}
}

// askLine asks about a call.
func askLine(id, tool, agent string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":%q,"agent_id":%q}}`, id, tool, agent)
}

// endLine ends a turn, for a reason.
func endLine(reason string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"","stop_reason":%q}`, reason)
}

// by makes a line that of the subagent which a call started.
func by(tool, line string) string {
	return line[:len(line)-1] + fmt.Sprintf(`,"parent_tool_use_id":%q}`, tool)
}

// launched starts a subagent in the background by the call t1.
func launched() []string {
	return []string{
		toolLine("m1", "t1", "Agent", `{"description":"look","run_in_background":true}`),
		taskLine("started", `"task_type":"local_agent","description":"look","subagent_type":"Explore"`),
		resultOf("t1", "launched", `{"isAsync":true,"agentId":"a1"}`),
	}
}

// A call that was cut off by the end of its turn must not run any more; one that was
// deferred is asked about again.
func TestRequestAfterTheEnd(t *testing.T) {
	t.Parallel()
	for reason, asks := range map[string]bool{"max_tokens": false, "tool_deferred": true} {
		tr := replaying()
		tr.prompted("p1", "go")
		feed(tr, replayLine("p1"), toolLine("m1", "t1", "Bash", `{}`), askLine("r0", "t1", ""), endLine(reason))
		if given := len(tr.overdue) > 0; given == asks {
			t.Errorf("%s: given up: %q", reason, tr.overdue)
		}
		_, controls := tr.translate([]byte(askLine("r1", "t1", "")), time.Now())
		if len(controls) != 1 {
			t.Fatalf("%s: %d controls", reason, len(controls))
		}
		if _, asked := controls[0].(asking); asked != asks || tr.busy() != asks {
			t.Errorf("%s: %T, busy: %t", reason, controls[0], tr.busy())
		}
	}
}

// A call that was cut off stays so when a subagent ends after the turn, and its result
// does not begin a turn.
func TestCutForGood(t *testing.T) {
	t.Parallel()
	tr := replaying()
	tr.prompted("p1", "go")
	feed(tr, append(launched(), toolLine("m2", "t2", "Bash", `{}`), endLine("max_tokens"))...)
	wantKinds(t, feed(tr, by("t1", toolLine("m3", "t3", "Read", `{}`)), taskLine("notification", `"status":"stopped","summary":"look"`)),
		"tool.pre message.complete subagent.stop task.end tool.failure turn.complete")
	if _, controls := tr.translate([]byte(askLine("r1", "t2", "")), time.Now()); len(controls) != 1 || tr.busy() {
		t.Errorf("%v, busy: %t", controls, tr.busy())
	} else if _, refused := controls[0].(reply); !refused {
		t.Errorf("it was asked: %+v", controls[0])
	}
	wantKinds(t, feed(tr, resultOf("t2", "the turn is over", `null`)), "unknown")
	if tr.busy() {
		t.Error("its result began a turn")
	}
	tr.prompted("p2", "go on")
	feed(tr, replayLine("p2"), toolLine("m4", "t4", "Bash", `{}`))
	both := `{"type":"tool_result","tool_use_id":"t4","content":"x"},{"type":"tool_result","tool_use_id":"t2","content":"the turn is over"}`
	wantKinds(t, feed(tr, `{"type":"user","uuid":"u-4","message":{"role":"user","content":[`+both+`]}}`), "message.complete tool.post message.complete")
}

// What a subagent in the background has started goes on after the turn, too.
func TestBelowTheBackground(t *testing.T) {
	t.Parallel()
	tr := replaying()
	tr.prompted("p1", "go")
	below := strings.ReplaceAll(taskLine("started", `"task_type":"local_agent","description":"look","subagent_type":"Explore"`), "a1", "a2")
	feed(tr, append(launched(), by("t1", toolLine("m2", "t2", "Agent", `{}`)), strings.ReplaceAll(below, "t1", "t2"),
		by("t2", toolLine("m3", "t3", "Bash", `{}`)), endLine("end_turn"))...)
	if tr.cut["t2"] || tr.cut["t3"] {
		t.Errorf("cut off: %v", tr.cut)
	}
	_, controls := tr.translate([]byte(askLine("r1", "t3", "a2")), time.Now())
	if len(controls) != 1 {
		t.Fatalf("%d controls", len(controls))
	}
	if a, asked := controls[0].(asking); !asked || a.ask.Event.Actor != "sub:a2" {
		t.Errorf("%+v", controls[0])
	}
}

// A turn whose result may have been in a line that could not be read says so.
func TestNoResultAfterBadLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines []string
		why   terret.Error
		want  terret.ErrorCode
	}{
		"bad lines":             {[]string{"panic: oh", "no"}, terret.Error{Code: terret.CodeProcessFailed}, terret.CodeMalformedOutput},
		"bad lines, but killed": {[]string{"panic: oh"}, terret.Error{Code: terret.CodeProcessFailed, Signal: "SIGKILL"}, terret.CodeProcessFailed},
		"bad lines, but stopped": {
			[]string{"panic: oh"}, terret.Error{Code: terret.CodeInterrupted}, terret.CodeInterrupted,
		},
		"none": {nil, terret.Error{Code: terret.CodeProcessFailed}, terret.CodeProcessFailed},
	} {
		tr := replaying()
		tr.prompted("p0", "go")
		feed(tr, replayLine("p0"), "bad", result(0.001)) // of another turn
		tr.prompted("p1", "go")
		feed(tr, append([]string{replayLine("p1")}, tt.lines...)...)
		events := tr.abandon(tt.why, start)
		if d, ok := events[len(events)-1].Data.(terret.TurnError); !ok || d.Error.Code != tt.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// An end that is held back for nothing comes when the agent says that it is idle,
// or is gone.
func TestHeldEndIsReleased(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		tr := replaying()
		tr.prompted("p1", "go")
		feed(tr, replayLine("p1"))
		tr.prompted("s1", "lost")
		wantKinds(t, feed(tr, textLine("m1", "x"), result(0.001)), "message.complete")
		var events []terret.Event
		if gone {
			events = tr.abandon(terret.Error{Code: terret.CodeProcessFailed}, start)
		} else {
			events = feed(tr, `{"type":"system","subtype":"session_state_changed","state":"idle"}`)
		}
		wantKinds(t, events, "turn.complete")
		// What was lost must not hold back another end.
		tr.prompted("p2", "next")
		wantKinds(t, feed(tr, replayLine("p2"), textLine("m2", "y"), result(0.002)), "message.complete turn.complete")
	}
}

// Work that nobody asked for does not end the turn of a prompt that waits, and its
// cost is not lost.
func TestBackgroundResultBeforeOurs(t *testing.T) {
	t.Parallel()
	tr := replaying()
	wantKinds(t, feed(tr, textLine("m1", "done in the background"), backgroundResult(0.001)), "message.complete turn.complete")
	tr.prompted("p1", "go")
	wantKinds(t, feed(tr, textLine("m2", "another one"), backgroundResult(0.002)), "message.complete")
	events := feed(tr, replayLine("p1"), textLine("m3", "yours"), result(0.005))
	wantKinds(t, events, "message.complete turn.complete")
	if d := events[len(events)-1].Data.(terret.TurnComplete); d.CostUSD != terret.CostOf(0.004) || d.Text != "ok" {
		t.Errorf("%+v", d)
	}
	// A prompt that was taken into the background turn is answered by it.
	tr.prompted("p2", "go")
	wantKinds(t, feed(tr, toolLine("m4", "t1", "Bash", `{}`), resultOf("t1", "x", `null`), replayLine("p2"), textLine("m5", "both"), backgroundResult(0.006)),
		"tool.pre message.complete tool.post message.complete message.complete turn.complete")
}

// An interrupted turn ends at once, and what was added to it is work of its own.
func TestInterruptedWhileSteered(t *testing.T) {
	t.Parallel()
	tr := replaying()
	tr.prompted("p1", "go")
	feed(tr, replayLine("p1"))
	tr.prompted("s1", "also")
	wantKinds(t, feed(tr, `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}`), "turn.error")
	tr.prompted("p2", "next")
	wantKinds(t, feed(tr, replayLine("s1"), textLine("m1", "late"), result(0.001)), "message.complete")
	wantKinds(t, feed(tr, replayLine("p2"), textLine("m2", "next"), result(0.002)), "message.complete turn.complete")
}

// A prompt that somebody else wrote is told.
func TestForeignPrompt(t *testing.T) {
	t.Parallel()
	tr := replaying()
	tr.prompted("p1", "go")
	wantKinds(t, feed(tr, replayLine("p1"), replayLine("wakeup")), "user.prompt")

	tr = replaying()
	tr.prompted("p1", "go")
	wantKinds(t, feed(tr, replayLine("wakeup")), "user.prompt")                                                       // before it takes up ours
	wantKinds(t, feed(tr, textLine("m1", "gone"), result(0.001), replayLine("p1")), "message.complete turn.complete") // ours, when it is over
}

// The costs of a process that counts anew are not negative.
func TestCostsStartAnew(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{})
	var got []terret.Cost
	for _, total := range []float64{0.5, 0.7, 0.1, 0.1} {
		tr.prompted("", "go")
		for _, ev := range feed(tr, result(total)) {
			if d, ok := ev.Data.(terret.TurnComplete); ok {
				got = append(got, d.CostUSD)
			}
		}
	}
	want := []terret.Cost{terret.CostOf(0.5), terret.CostOf(0.2), terret.CostOf(0.1), 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func taskLine(sub, fields string) string {
	return `{"type":"system","subtype":"task_` + sub + `","task_id":"a1","tool_use_id":"t1",` + fields + `}`
}

// A subagent that is stopped in the background leaves no turn open behind it.
func TestStoppedInBackground(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{})
	tr.prompted("", "go")
	wantKinds(t, feed(tr, slices.Concat([]string{initLine}, launched(), []string{result(0.001)})...),
		"session.start session.native_id tool.pre subagent.start task.start message.complete tool.post message.complete turn.complete")
	tool := toolLine("m2", "t2", "Read", `{"file_path":"/x"}`)
	events := feed(tr, by("t1", strings.Replace(tool, `"content":`, `"usage":{"input_tokens":5,"output_tokens":7},"content":`, 1)))
	wantKinds(t, events, "tool.pre")
	if events[0].Actor != "sub:a1" || events[0].ParentTool != "t1" {
		t.Errorf("%+v", events[0])
	}
	events = feed(tr, taskLine("updated", `"patch":{"status":"killed"}`), taskLine("notification", `"status":"stopped","summary":"look"`))
	wantKinds(t, events, "message.complete subagent.stop task.end tool.failure turn.complete")
	if d := events[len(events)-1].Data.(terret.TurnComplete); d.Usage != (terret.Usage{Input: 5, Output: 7}) {
		t.Errorf("%+v", d.Usage)
	}
	if len(tr.tools)+len(tr.tasks) != 0 {
		t.Errorf("left behind: %v %v", tr.tools, tr.tasks)
	}
}

// What a process leaves behind when it is gone ends.
func TestAbandon(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{})
	tr.prompted("", "go")
	feed(tr, initLine, toolLine("m1", "t1", "Agent", `{"description":"look"}`),
		taskLine("started", `"task_type":"local_agent","description":"look"`),
		taskLine("progress", `"description":"reading"`), taskLine("updated", `"patch":{"is_backgrounded":true}`), taskLine("updated", `"patch":{"status":"paused"}`))
	events := tr.abandon(terret.Error{Code: terret.CodeKilled, Message: "killed"}, start)
	wantKinds(t, events, "message.complete subagent.stop task.end tool.failure turn.error")
	if again := tr.abandon(terret.Error{Code: terret.CodeKilled}, start); len(again) != 0 {
		t.Errorf("again: %v", kindsOf(again))
	}
	if idle := newTranslator(options{}).abandon(terret.Error{}, start); len(idle) != 0 {
		t.Errorf("of nothing: %v", kindsOf(idle))
	}
}

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, fields string
		want         terret.ErrorCode
		retryable    bool
	}{
		{"authentication_failed", `"api_error_status":401`, terret.CodeNotAuthenticated, false},
		{"oauth_org_not_allowed", ``, terret.CodeNotAuthenticated, false},
		{"billing_error", `"api_error_status":400`, terret.CodeBilling, false},
		{"rate_limit", `"api_error_status":429`, terret.CodeRateLimited, true},
		{"overloaded", `"api_error_status":529`, terret.CodeOverloaded, true},
		{"server_error", `"api_error_status":529`, terret.CodeOverloaded, true},
		{"server_error", `"api_error_status":500`, terret.CodeModelError, true},
		{"server_error", ``, terret.CodeConnectionFailed, true},
		{"model_not_found", `"api_error_status":404`, terret.CodeModelNotFound, false},
		{"invalid_request", `"stop_reason":"refusal"`, terret.CodeModelError, false},
		{"max_output_tokens", ``, terret.CodeModelError, false},
		{"unknown", `"api_error_status":400`, terret.CodeModelError, false},
		{"", `"api_error_status":402`, terret.CodeBilling, false},
		{"", `"terminal_reason":"blocking_limit"`, terret.CodeRateLimited, true},
		{"", `"terminal_reason":"prompt_too_long"`, terret.CodeModelError, false},
		{"", `"terminal_reason":"max_turns","is_error":false`, terret.CodeMaxTurns, false},
		{"", `"terminal_reason":"aborted_tools","is_error":false`, terret.CodeInterrupted, false},
		{"", `"subtype":"error_max_turns"`, terret.CodeMaxTurns, false},
		{"", `"subtype":"error_max_budget_usd"`, terret.CodeMaxBudget, false},
		{"", `"subtype":"error_max_structured_output_retries"`, terret.CodeMaxStructured, false},
		{"", `"result":"API Error: odd"`, terret.CodeModelError, false},
		{"", ``, terret.CodeExecutionError, false},
	} {
		tr := newTranslator(options{})
		tr.prompted("", "go")
		feed(tr, initLine)
		if c.word != "" {
			feed(tr, fmt.Sprintf(`{"type":"assistant","error":%q,"message":{"id":"m","stop_reason":"stop_sequence","content":[{"type":"text","text":"oh"}]}}`, c.word))
		}
		line := `{"type":"result","is_error":true`
		if c.fields != "" {
			line += "," + c.fields
		}
		events := feed(tr, line+"}")
		end, ok := events[len(events)-1].Data.(terret.TurnError)
		if !ok || end.Error.Code != c.want || end.Error.Retryable != c.retryable || end.Error.Message == "" && c.want != terret.CodeMaxTurns && c.want != terret.CodeMaxBudget {
			t.Errorf("%s %s: %+v", c.word, c.fields, end.Error)
		}
		if end.Text != "" {
			t.Errorf("%s: the agent said %q", c.word, end.Text)
		}
	}
}

// A success that is not one and a failure that is none are told by is_error.
func TestSubtypeDoesNotCount(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{})
	tr.prompted("", "go")
	wantKinds(t, feed(tr, `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 400"}`), "turn.error")
	tr.prompted("", "go")
	wantKinds(t, feed(tr, `{"type":"result","subtype":"error_during_execution","is_error":false,"terminal_reason":"hook_stopped"}`), "turn.complete")
}

// TestCostGoesOn is that the total of a process that goes on with a session, which
// newer versions begin with what the session has cost before, is not counted again.
func TestCostGoesOn(t *testing.T) {
	t.Parallel()
	line := func(total, since float64, input int) string {
		return fmt.Sprintf(`{"type":"result","subtype":"success","total_cost_usd":%v,"duration_ms":50,"duration_api_ms":%d,"modelUsage":{"m":{"inputTokens":%d,"costUSD":%v}},`+
			`"model_usage_since_last_result":{"m":{"inputTokens":100,"costUSD":%v}}}`, total, input*10, input, total, since)
	}
	tr := newTranslator(options{source: "resume"})
	for i, l := range []string{line(1.25, 0.25, 1100), line(1.75, 0.5, 1200)} {
		tr.prompted("", "x")
		events := feed(tr, l)
		d, ok := events[len(events)-1].Data.(terret.TurnComplete)
		want := []terret.Cost{terret.USD / 4, terret.USD / 2}[i]
		if !ok || d.CostUSD != want || d.Usage.Input != 100 || i == 0 && d.APIMS != 50 || i == 1 && d.APIMS != 1000 {
			t.Errorf("%+v", d)
		}
	}
}

// TestWordsOutsideTurns is that what a control prints while nothing runs begins no
// turn.
func TestWordsOutsideTurns(t *testing.T) {
	t.Parallel()
	line := `{"type":"user","uuid":"u1","isReplay":true,"message":{"role":"user","content":"<local-command-stdout>Set model to x</local-command-stdout>"}}`
	tr := replaying()
	wantKinds(t, feed(tr, line), "notification")
	if tr.busy() {
		t.Error("a turn has begun")
	}
	tr.prompted("p1", "/compact")
	wantKinds(t, feed(tr, replayLine("p1"), line, result(0.001)), "message.complete turn.complete")
}
