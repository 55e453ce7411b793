package claude

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// FuzzTranslate holds that no sequence of lines makes the translator panic, lose
// count of turns or make something that cannot be written.
func FuzzTranslate(f *testing.F) {
	for i, r := range loadRecordings(f) {
		var lines [][]byte
		for _, w := range r.rows {
			if w.Dir == "out" {
				lines = append(lines, w.text())
			}
		}
		if seed := bytes.Join(lines, []byte("\n")); len(seed) < 20_000 {
			f.Add(seed, uint8(i))
		}
	}
	for _, seed := range []string{
		"{}\nnull\n[]\n\"\"\n{\"type\":null}",
		`{"type":"assistant","message":{"content":[1,null,{"type":"tool_use"},{"type":"tool_use","id":"a","input":[]}]}}` + "\n" + `{"type":"result","modelUsage":{"m":{"inputTokens":-9223372036854775808}},"total_cost_usd":1e308}`,
		`{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":[]}}`,
		`{"type":"control_request","request":{"subtype":"elicitation","requested_schema":{"properties":{"a":1}}}}`,
		`{"type":"system","subtype":"task_notification","task_id":"x"}`,
	} {
		f.Add([]byte(seed), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, setting uint8) { endure(t, bytes.Split(data, []byte("\n")), setting) })
}

// endure translates lines that need not make sense together.
func endure(t *testing.T, lines [][]byte, setting uint8) {
	t.Helper()
	tr := newTranslator(options{keepRaw: setting&1 > 0, replay: setting&2 > 0, preToolHook: setting&4 > 0})
	now := start
	turn, tools := false, map[string]bool{}
	take := func(ev terret.Event) {
		switch d := ev.Data.(type) {
		case terret.TurnComplete, terret.TurnError:
			turn = false
			return
		case terret.ToolPre:
			if tools[d.ToolID] {
				t.Fatalf("%s was told before", d.ToolID)
			}
			tools[d.ToolID] = true
		case terret.ToolPost:
			delete(tools, d.ToolID)
		case terret.ToolFailure:
			delete(tools, d.ToolID)
		}
		turn = turn || ev.Kind().InTurn()
	}
	check := func(events []terret.Event) {
		for _, ev := range events {
			if _, err := ev.Encode(); err != nil {
				t.Fatalf("%s: %v", ev.Kind(), err)
			}
			take(ev)
		}
	}
	for i, line := range lines {
		if setting&8 > 0 && i%3 == 0 {
			tr.prompted("p", string(line))
			turn = true
		}
		now = now.Add(time.Millisecond)
		events, others := tr.translate(line, now)
		if len(bytes.TrimSpace(line)) > 0 && !json.Valid(line) && (len(events) != 1 || events[0].Kind() != "diag.parse_error") {
			t.Fatalf("of %q came %v", line, events)
		}
		check(events)
		for _, c := range others {
			if a, ok := c.(asking); ok {
				take(a.ask.Event)
				answer(t, tr, a)
			}
		}
	}
	check(tr.abandon(terret.Error{Code: terret.CodeProcessFailed}, now))
	if turn || len(tools) > 0 {
		t.Fatalf("never ended: turn %v, tools %v", turn, tools)
	}
	if again := tr.abandon(terret.Error{}, now); len(again) > 0 {
		t.Fatalf("left behind: %v", again)
	}
}

// TestAnyOrder plays recorded lines of all conversations in disorder, some of them
// damaged.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	var pool [][]byte
	for _, r := range loadRecordings(t) {
		for _, w := range r.rows {
			if w.Dir == "out" {
				pool = append(pool, w.text())
			}
		}
	}
	for seed := range uint64(160) {
		random := rand.New(rand.NewPCG(seed, 0))
		begin := random.IntN(len(pool))
		var lines [][]byte
		for range 80 {
			line := pool[(begin+random.IntN(60))%len(pool)] // near each other, so that they have to do with each other
			switch random.IntN(12) {
			case 0:
				line = line[:random.IntN(len(line)+1)]
			case 1:
				line = bytes.ReplaceAll(line, []byte(`": "`), []byte(`": 7, "x": "`))
			case 2:
				line = bytes.ReplaceAll(line, []byte(`: {`), []byte(`: null, "y": {`))
			}
			lines = append(lines, line)
		}
		endure(t, lines, uint8(seed))
	}
}

// answer gives all kinds of answers to a request.
func answer(t *testing.T, tr *translator, a asking) {
	t.Helper()
	for _, d := range []terret.Decision{
		{Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways},
		{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"a", "b"}, "a": {"1"}}},
		{Behavior: terret.BehaviorApprove, NextMode: "acceptEdits"},
		{Behavior: terret.BehaviorDeny, Interrupt: true},
	} {
		if line := a.line(d); !json.Valid(line) || bytes.ContainsRune(line, '\n') {
			t.Fatalf("answered %q", line)
		}
		tr.decided(a.id, d)
	}
}

// FuzzDiff holds that no input makes a diff that is not one.
func FuzzDiff(f *testing.F) {
	f.Add("Edit", `{"file_path":"/x","old_string":"a","new_string":"b"}`, "a\n")
	f.Add("Write", `{"file_path":"/x","content":"b"}`, "")
	f.Add("MultiEdit", `{"file_path":"/x","edits":[{"old_string":"","new_string":"b","replace_all":true}]}`, "a")
	f.Fuzz(func(t *testing.T, name, input, content string) {
		diff := decodeInput(terret.JSON(input)).diff(name, "/", func(string) (string, bool) { return content, content != "" })
		if len(diff) > diffLimit+1000 {
			t.Fatalf("%d bytes", len(diff))
		}
		var o toolOutcome
		decode([]byte(input), &o)
		o.diff("/")
	})
}
