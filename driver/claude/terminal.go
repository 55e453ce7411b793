package claude

import (
	"cmp"
	"encoding/json"
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
	// tools are Claude Code's names for the agent's tools.
	tools map[string]string
}

// terminals are the agents that [Watched] knows.
var terminals = map[string]terminal{
	agentName: {title: "Claude Code"},
	"qwen": {title: "Qwen Code", holds: true, tools: map[string]string{
		"run_shell_command": "Bash", "monitor": "Monitor", "read_file": "Read", "edit": "Edit", "write_file": "Write", "notebook_edit": "NotebookEdit",
		"glob": "Glob", "grep_search": "Grep", "list_directory": "LS", "web_fetch": "WebFetch", "web_search": "WebSearch",
		"agent": "Agent", "workflow": "Workflow", "todo_write": "TodoWrite", "task_create": "TaskCreate", "task_update": "TaskUpdate", "task_list": "TaskList",
		"enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode", "ask_user_question": "AskUserQuestion", "tool_search": "ToolSearch",
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
		if d.Behavior != terret.BehaviorDeny {
			return nil
		}
		return encodeHook(answerHook(in.HookEventName, d))
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
			a.stopped(life)
		}
	})
}

// displayed reads the outcome of a tool as Qwen Code tells it: what the model gets, or what
// a command has printed, and what has become of a file.
func displayed(outcome json.RawMessage, command bool) (text string, extra toolOutcome) {
	var o struct {
		ForModel json.RawMessage `json:"llmContent"`
		Shown    json.RawMessage `json:"returnDisplay"`
	}
	decode(outcome, &o)
	text = wordsOf(o.ForModel)
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
