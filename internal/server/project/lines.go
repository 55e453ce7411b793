package project

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// How many characters of a text go into the log.
const (
	saidCut = 200 // of what people say and tools get
	lineCut = 500 // of what agents print
)

// recorded lists the kinds of events that make lines.
var recorded = map[terret.Kind]bool{
	terret.KindTurnStart: true, terret.KindTurnComplete: true, terret.KindTurnError: true,
	terret.KindProcessSpawn: true, terret.KindProcessExit: true,
	terret.KindSessionStart: true, terret.KindSessionNativeID: true, terret.KindSessionUpdated: true, terret.KindSessionEnd: true,
	terret.KindToolPre: true, terret.KindToolPost: true, terret.KindToolFailure: true,
	terret.KindDiagParseError: true, terret.KindDiagStderr: true, terret.KindDiagWarning: true,
}

// line is a line of the log.
type line struct {
	Timestamp string `json:"timestamp"`
	SessionID string `json:"sessionId"`
	Level     string `json:"level"` // debug, info, warn, error
	Event     string `json:"event"`
	Data      any    `json:"data"`
}

// The data of the lines.
type (
	turnStarted struct {
		UserMessage string            `json:"userMessage"`
		Persona     terret.NullString `json:"persona"`
		Mode        terret.Mode       `json:"mode"`
	}
	processSpawned struct {
		Command string `json:"command"`
		PID     int    `json:"pid"`
	}
	sessionInit struct {
		ClaudeSessionID terret.NullString `json:"claudeSessionId"`
		Model           string            `json:"model"`
		Tools           []string          `json:"tools"`
	}
	toolInvoked struct {
		ToolName     string `json:"toolName"`
		InputSummary string `json:"inputSummary"`
	}
	toolResult struct {
		ToolName      string `json:"toolName"`
		IsError       bool   `json:"isError"`
		ContentLength int    `json:"contentLength"`
	}
	turnCompleted struct {
		CostUSD      terret.Cost `json:"costUsd"`
		InputTokens  int64       `json:"inputTokens"`
		OutputTokens int64       `json:"outputTokens"`
		DurationMS   int64       `json:"durationMs"`
	}
	resumeAttempted struct {
		ClaudeSessionID terret.NullString `json:"claudeSessionId"`
	}
	resumeFailed struct {
		ClaudeSessionID terret.NullString `json:"claudeSessionId"`
		Error           string            `json:"error"`
	}
	processExited struct {
		ExitCode   *int              `json:"exitCode"`
		Signal     terret.NullString `json:"signal"`
		DurationMS int64             `json:"durationMs"`
	}
	printed struct {
		Line string `json:"line"`
	}
	warned struct {
		Message string `json:"message"`
	}
	// failed has the agent's last stderr lines where other programs have a stack.
	failed struct {
		Message string            `json:"message"`
		Stack   terret.NullString `json:"stack"`
		Kind    terret.ErrorCode  `json:"kind"`
		turnCompleted
	}
)

// lines returns the log lines for an event: usually one, or none.
func (f *Files) lines(s terret.Session, known *session, ev terret.Event) [][]byte {
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		return f.one(ev, "info", "turn:start", turnStarted{
			f.text(terret.TextOf(d.Prompt), saidCut), terret.NullString(f.text(string(s.Persona), saidCut)), s.Mode,
		})
	case terret.ProcessSpawn:
		return f.one(ev, "info", "process:spawn", processSpawned{f.command(d.Argv), d.PID})
	case terret.SessionStart:
		return f.started(ev, d)
	case terret.SessionNativeID:
		return f.resumed(ev, d)
	case terret.ToolPre:
		return f.one(ev, "info", "tool:start", toolInvoked{f.text(d.Name, saidCut), f.text(string(d.Input), saidCut)})
	case terret.ToolPost:
		return f.one(ev, "info", "tool:result", toolResult{f.text(d.Name, saidCut), false, length(d.Content)})
	case terret.ToolFailure:
		n := length(d.Content)
		if len(d.Content) == 0 {
			n = utf8.RuneCountInString(d.Error)
		}
		return f.one(ev, "info", "tool:result", toolResult{f.text(d.Name, saidCut), true, n})
	case terret.TurnComplete:
		return f.one(ev, "info", "turn:complete", turnCompleted{d.CostUSD, d.Usage.Input, d.Usage.Output, d.DurationMS})
	case terret.TurnError:
		return f.failed(ev, d)
	case terret.ProcessExit:
		return f.one(ev, "info", "process:exit", processExited{d.Code, d.Signal, d.DurationMS})
	case terret.DiagParseError:
		return f.one(ev, "warn", "parse:error", printed{cut(known.parse.Next(d.Text), lineCut)})
	case terret.DiagStderr:
		return f.one(ev, "warn", "stderr", printed{cut(known.stderr.Next(d.Text), lineCut)})
	case terret.DiagWarning:
		return f.one(ev, "warn", "warning", warned{f.text(d.Text, lineCut)})
	}
	return nil
}

func (f *Files) started(ev terret.Event, d terret.SessionStart) [][]byte {
	var out [][]byte
	id := terret.NullString(f.text(d.NativeID, saidCut))
	if d.Source == "resume" {
		out = f.one(ev, "info", "resume:attempt", resumeAttempted{id})
	}
	tools := make([]string, len(d.Tools))
	for i, name := range d.Tools {
		tools[i] = f.text(name, saidCut)
	}
	return append(out, f.one(ev, "info", "session:init", sessionInit{id, f.text(d.Model, saidCut), tools})...)
}

// resumed logs a failed resume: the agent has lost the session.
func (f *Files) resumed(ev terret.Event, d terret.SessionNativeID) [][]byte {
	if d.Reason != "stale" && (d.Reason != "resume" || d.Error == "") {
		return nil
	}
	old := terret.NullString(f.text(string(d.Old), saidCut))
	why := f.text(d.Error, lineCut)
	if why == "" {
		why = "the agent no longer knows the session"
	}
	out := f.one(ev, "info", "resume:attempt", resumeAttempted{old})
	return append(out, f.one(ev, "warn", "resume:failed", resumeFailed{old, why})...)
}

func (f *Files) failed(ev terret.Event, d terret.TurnError) [][]byte {
	level := "error"
	if d.Error.Code == terret.CodeInterrupted || d.Error.Code == terret.CodeKilled {
		level = "warn" // a person or program wanted it
	}
	pieces := f.redact.Pieces()
	var stack []string
	for _, said := range d.Error.Stderr {
		stack = append(stack, cut(pieces.Next(said), lineCut))
	}
	return f.one(ev, level, "error", failed{
		f.text(d.Error.Message, lineCut), terret.NullString(strings.Join(stack, "\n")), d.Error.Code,
		turnCompleted{d.CostUSD, d.Usage.Input, d.Usage.Output, d.DurationMS},
	})
}

func (f *Files) one(ev terret.Event, level, event string, data any) [][]byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line{iso(ev.Time), ev.Session, level, event, data}); err != nil {
		f.log.Warn("cannot write a log line", "session", ev.Session, "event", event, "error", err)
		return nil
	}
	return [][]byte{buf.Bytes()}
}

// text is a text cut for the log. It is redacted before it is cut, so that no part of a
// secret is left at the cut.
func (f *Files) text(s string, n int) string { return cut(f.redact.String(s), n) }

// command is a command line for the log: its arguments may hold what a person said.
func (f *Files) command(argv []string) string {
	short := make([]string, len(argv))
	for i, arg := range f.redact.Args(argv) {
		short[i] = cut(arg, saidCut)
	}
	return cut(ShellCommand(short), 20*saidCut)
}

// cut returns the first n characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// length is the number of characters in a result, or bytes where it is not text.
func length(blocks []terret.Block) int {
	n := 0
	for _, b := range blocks {
		n += utf8.RuneCountInString(b.Text) + len(b.Bytes) + length(b.Content)
	}
	return n
}
