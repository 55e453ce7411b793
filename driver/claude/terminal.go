package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// terminal is what differs between agents that people run in terminals of their own. The
// hooks of the others were made after Claude Code's.
type terminal struct {
	title string
	// holds says that a hook holds up the terminal: the agent shows its dialog only after
	// PermissionRequest has been answered. Then no person is waited for. Rules that deny
	// count, and all else is decided in the terminal.
	holds bool
	// tools are Claude Code's names for the agent's tools, and hooks those for its hooks.
	tools, hooks map[string]string
	// recorded handles a line that the agent adds to its own record while a turn runs. It is
	// nil if hooks tell everything.
	recorded func(a *watched, line []byte)
}

// stoppedText begins what Claude Code's record says when its person stops a turn. No hook
// tells.
const stoppedText = `"[Request interrupted by user`

func recordedStop(a *watched, line []byte) {
	if bytes.Contains(line, []byte(`"type":"user"`)) && bytes.Contains(line, []byte(stoppedText)) {
		a.stopped()
	}
}

// terminals are the agents that [Watched] knows.
var terminals = map[string]terminal{
	agentName: {title: "Claude Code", recorded: recordedStop},
	"qwen": {title: "Qwen Code", holds: true, tools: map[string]string{
		"run_shell_command": "Bash", "monitor": "Monitor", "read_file": "Read", "edit": "Edit", "write_file": "Write", "notebook_edit": "NotebookEdit",
		"glob": "Glob", "grep_search": "Grep", "list_directory": "LS", "web_fetch": "WebFetch", "web_search": "WebSearch",
		"agent": "Agent", "workflow": "Workflow", "todo_write": "TodoWrite", "task_create": "TaskCreate", "task_update": "TaskUpdate", "task_list": "TaskList",
		"enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode", "ask_user_question": "AskUserQuestion", "tool_search": "ToolSearch",
	}},
	"gemini": {title: "Gemini CLI", holds: true, recorded: recordedByGemini, hooks: map[string]string{
		"BeforeAgent": "UserPromptSubmit", "BeforeTool": "PermissionRequest", "AfterTool": "PostToolUse", "AfterAgent": "Stop",
	}, tools: map[string]string{
		"run_shell_command": "Bash", "read_file": "Read", "read_many_files": "Read", "replace": "Edit", "write_file": "Write",
		"glob": "Glob", "grep_search": "Grep", "search_file_content": "Grep", "list_directory": "LS", "web_fetch": "WebFetch", "google_web_search": "WebSearch",
		"write_todos": "TodoWrite", "enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode", "ask_user": "AskUserQuestion",
	}},
}

// known is Claude Code's name for a tool of the agent.
func (t *translator) known(name string) string { return cmp.Or(t.opts.tools[name], name) }

// judge asks rules about a call before its dialog is shown. What they do not deny is
// decided in the terminal.
func (a *watched) judge(in *watchedInput, actor, parent string) (*terret.Ask, func(terret.Decision) []byte) {
	t := a.t
	a.start(in)
	c := t.call(terret.NewID("call_"), in.ToolName, actor, parent)
	c.input, c.told, c.asked = whole(in.ToolInput, nil), true, true
	pre := terret.Event{Actor: actor, ParentTool: parent, Source: in.HookEventName, Data: t.toolPre(c.id, c.name, c.input)}
	return &terret.Ask{Gate: terret.GatePreTool, Event: pre}, func(d terret.Decision) []byte {
		switch {
		case d.Behavior != terret.BehaviorDeny:
			return nil
		case a.d.hooks != nil: // Gemini CLI
			return encodeHook(hookOutput{Decision: "deny", Reason: reasonOf(d, "denied")})
		}
		return encodeHook(answerHook(in.HookEventName, d))
	}
}

// rename calls a hook as Claude Code would.
func (d *Watched) rename(in *watchedInput) {
	if d.hooks == nil {
		return
	}
	in.HookEventName = cmp.Or(d.hooks[in.HookEventName], in.HookEventName)
	var outcome struct {
		Error struct {
			Message json.RawMessage `json:"message"`
		} `json:"error"`
	}
	if in.HookEventName == "PostToolUse" && decode(in.ToolResponse, &outcome) && len(outcome.Error.Message) > 0 {
		in.HookEventName, in.Error = "PostToolUseFailure", outcome.Error.Message
	}
}

// recordedByGemini takes messages, failures and stops from Gemini CLI's record: no hook
// tells of a stop, and the text that AfterAgent has repeats itself.
func recordedByGemini(a *watched, line []byte) {
	var r struct {
		ID, Type string
		Content  json.RawMessage
	}
	var text string
	if !decode(line, &r) || !decode(r.Content, &text) {
		return // or history that is written again
	}
	switch _, said := a.texts[r.ID]; {
	case r.Type == "gemini" && !said:
		a.texts[r.ID] = text
		a.message(r.ID, text)
	case r.Type == "info" && text == "Request cancelled.":
		a.stopped()
	case r.Type == "error":
		a.failed = text
	}
}

// idle ends the turn a moment after the agent has said that it waits for its person: by
// then a hook has told how the turn ended, unless its person stopped it.
func (a *watched) idle() {
	if a.began.IsZero() {
		return
	}
	life := a.turn
	a.work.Go(func() {
		late := time.NewTimer(lookEvery)
		defer late.Stop()
		select {
		case <-life.Done():
		case <-late.C:
			a.between(life, a.stopped)
		}
	})
}

// displayed reads the outcome of a tool as Qwen Code and Gemini CLI tell it: what the model
// gets, or what a command has printed, and what has become of a file.
func displayed(outcome json.RawMessage, command bool) (text string, extra toolOutcome) {
	var o struct {
		ForModel json.RawMessage `json:"llmContent"`
		Shown    json.RawMessage `json:"returnDisplay"`
	}
	decode(outcome, &o)
	text = wordsOf(o.ForModel)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<untrusted_context>\n"), "\n</untrusted_context>")
	if command {
		decode(o.Shown, &text)
	}
	var change struct {
		Path   string  `json:"filePath"`
		Before *string `json:"originalContent"`
		After  string  `json:"newContent"`
	}
	if !decode(o.Shown, &change) || change.Path == "" {
		return text, extra
	}
	extra = toolOutcome{Type: "update", FilePath: change.Path, OriginalFile: change.Before, Content: fileContent{text: change.After, ok: true}}
	if change.Before == nil || *change.Before == "" {
		extra.Type, extra.OriginalFile = "create", nil
	}
	return text, extra
}
