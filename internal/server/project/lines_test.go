package project_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

// record records events of a new session with default options and returns the
// log.
func record(t *testing.T, s terret.Session, data ...terret.Data) []logLine {
	t.Helper()
	project.New(project.Options{}).Record(s, entries(t, s, data...))
	return logged(t, logPath(s))
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	code := 3
	type m = map[string]any
	for name, c := range map[string]struct {
		data  terret.Data
		level string
		event string
		want  m
	}{
		"turn started": {
			terret.TurnStart{Prompt: []terret.Block{terret.Text("do it")}, Origin: terret.OriginUser},
			"info", "turn:start",
			m{"userMessage": "do it", "persona": "DECOMP", "mode": "workbench"},
		},
		"process spawned": {
			terret.ProcessSpawn{Argv: []string{"claude", "-p", "it's", "--api-key=x"}, PID: 7},
			"info", "process:spawn",
			m{"command": `claude -p 'it'\''s' '--api-key=[redacted]'`, "pid": 7.0},
		},
		"session init": {
			terret.SessionStart{Source: "new", NativeID: "n1", Model: "opus", Tools: []string{"Read", "Bash"}},
			"info", "session:init",
			m{"claudeSessionId": "n1", "model": "opus", "tools": []any{"Read", "Bash"}},
		},
		"no tools": {
			terret.SessionStart{Source: "new"},
			"info", "session:init",
			m{"claudeSessionId": nil, "model": "", "tools": []any{}},
		},
		"tool invoked": {
			terret.ToolPre{ToolID: "t", Name: "Bash", Input: terret.JSON(`{"command":"ls <a>"}`)},
			"info", "tool:start",
			m{"toolName": "Bash", "inputSummary": `{"command":"ls <a>"}`},
		},
		"tool result": {
			terret.ToolPost{ToolID: "t", Name: "Bash", Content: []terret.Block{terret.Text("äöü"), {Type: terret.BlockImage, Bytes: []byte("12")}}},
			"info", "tool:result",
			m{"toolName": "Bash", "isError": false, "contentLength": 5.0},
		},
		"tool failure": {
			terret.ToolFailure{ToolID: "t", Name: "Bash", Error: "no such file"},
			"info", "tool:result",
			m{"toolName": "Bash", "isError": true, "contentLength": 12.0},
		},
		"turn completed": {
			terret.TurnComplete{Text: "done", CostUSD: terret.CostOf(0.0125), Usage: terret.Usage{Input: 10, Output: 20}, DurationMS: 99},
			"info", "turn:complete",
			m{"costUsd": 0.0125, "inputTokens": 10.0, "outputTokens": 20.0, "durationMs": 99.0},
		},
		"process exited": {
			terret.ProcessExit{Code: &code, DurationMS: 5},
			"info", "process:exit",
			m{"exitCode": 3.0, "signal": nil, "durationMs": 5.0},
		},
		"process killed": {
			terret.ProcessExit{Signal: "SIGKILL", DurationMS: 5},
			"info", "process:exit",
			m{"exitCode": nil, "signal": "SIGKILL", "durationMs": 5.0},
		},
		"parse error": {terret.DiagParseError{Text: "{oops"}, "warn", "parse:error", m{"line": "{oops"}},
		"stderr":      {terret.DiagStderr{Text: "warning: x"}, "warn", "stderr", m{"line": "warning: x"}},
		"warning":     {terret.DiagWarning{Text: "careful"}, "warn", "warning", m{"message": "careful"}},
		"error": {
			terret.TurnError{Error: terret.Error{Code: terret.CodeProcessFailed, Message: "it broke", Stderr: []string{"one", "two"}}, DurationMS: 4},
			"error", "error",
			m{
				"message": "it broke", "stack": "one\ntwo", "kind": "process_failed",
				"costUsd": 0.0, "inputTokens": 0.0, "outputTokens": 0.0, "durationMs": 4.0,
			},
		},
		"interrupted": {
			terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted, Message: "stopped"}},
			"warn", "error",
			m{
				"message": "stopped", "stack": nil, "kind": "interrupted",
				"costUsd": 0.0, "inputTokens": 0.0, "outputTokens": 0.0, "durationMs": 0.0,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.Persona = "DECOMP"
			want := []logLine{{"2026-02-07T11:22:33.456Z", s.ID, c.level, c.event, c.want}}
			if diff := cmp.Diff(want, record(t, s, c.data)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResumeIsLogged(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	got := record(
		t, s,
		terret.SessionStart{Source: "resume", NativeID: "n1", Model: "opus"},
		terret.SessionNativeID{Old: "n1", New: "n2", Reason: "stale", Error: "No conversation found"},
		terret.SessionStart{Source: "new", NativeID: "n2", Model: "opus"},
		terret.SessionNativeID{Old: "n2", New: "n3", Reason: "clear"},
	)
	var events []string
	for _, l := range got {
		events = append(events, l.Level+" "+l.Event)
	}
	want := []string{"info resume:attempt", "info session:init", "info resume:attempt", "warn resume:failed", "info session:init"}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(map[string]any{"claudeSessionId": "n1", "error": "No conversation found"}, got[3].Data); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"claudeSessionId": "n1"}, got[0].Data); diff != "" {
		t.Error(diff)
	}
}

func TestPiecesOfTextAreNotLogged(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	f := project.New(project.Options{})
	f.Record(s, entries(t, s, terret.MessageDelta{MessageID: "m", Text: "x"}, terret.Unknown{NativeType: "x"}, terret.SessionResumed{Epoch: 2}))
	if exists(logPath(s)) {
		t.Errorf("log: %s", read(t, logPath(s)))
	}
	f.Record(s, []terret.Entry{{Session: s.ID, Seq: 9, Kind: "turn.start", Body: []byte(`{"kind":"turn.start","data":[]}`)}})
	f.Record(s, []terret.Entry{{Session: s.ID, Seq: 9, Kind: "turn.start", Body: []byte(`}`)}})
	if exists(logPath(s)) {
		t.Errorf("log: %s", read(t, logPath(s)))
	}
}

// Texts are cut between characters, and what an agent's driver cut within one does
// no harm.
func TestCuts(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	long := strings.Repeat("日本語é", 500)
	got := record(
		t, s,
		terret.TurnStart{Prompt: []terret.Block{terret.Text(long)}},
		terret.ToolPre{Name: "Write", Input: terret.JSON(`{"content":"` + long + `"}`)},
		terret.DiagParseError{Text: long},
		terret.DiagStderr{Text: long},
		terret.DiagStderr{Text: "cut within \xe6\x97"},
		terret.ProcessSpawn{Argv: append(strings.Split(strings.Repeat("word ", 3000), " "), long)},
		terret.TurnError{Error: terret.Error{Message: long, Stderr: []string{long}}},
	)
	text := func(i int, key string) string {
		s, ok := got[i].Data[key].(string)
		if !ok || !utf8.ValidString(s) {
			t.Errorf("line %d: %s is %v", i, key, got[i].Data[key])
		}
		return s
	}
	for i, c := range []struct {
		key string
		n   int
	}{{"userMessage", 200}, {"inputSummary", 200}, {"line", 500}, {"line", 500}} {
		if s := text(i, c.key); utf8.RuneCountInString(s) != c.n || !strings.Contains(long+`{"content":"`+long, s) {
			t.Errorf("%s has %d characters, want %d", c.key, utf8.RuneCountInString(s), c.n)
		}
	}
	if s := text(4, "line"); !strings.HasPrefix(s, "cut within ") {
		t.Errorf("line %q", s)
	}
	if n := utf8.RuneCountInString(text(5, "command")); n > 4000 {
		t.Errorf("the command has %d characters", n)
	}
	if m, s := text(6, "message"), text(6, "stack"); utf8.RuneCountInString(m) != 500 || utf8.RuneCountInString(s) != 500 {
		t.Errorf("message %q, stack %q", m, s)
	}
}
