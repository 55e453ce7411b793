package claude

import "encoding/json"

// statusMessage tells what the agent is busy with, and changes of its mode.
type statusMessage struct {
	Status         string `json:"status"` // requesting, compacting
	PermissionMode string `json:"permissionMode"`
	CompactResult  string `json:"compact_result"` // success, failed
	CompactError   string `json:"compact_error"`
}

type compactMessage struct {
	Metadata struct {
		PreTokens  int64 `json:"pre_tokens"`
		PostTokens int64 `json:"post_tokens"`
	} `json:"compact_metadata"`
}

type retryMessage struct {
	Attempt      int     `json:"attempt"`
	MaxRetries   int     `json:"max_retries"`
	RetryDelayMS float64 `json:"retry_delay_ms"`
	ErrorStatus  int     `json:"error_status"`
	Error        string  `json:"error"`
}

// modelMessage says that another model answers, or that the model refused.
type modelMessage struct {
	Trigger       string `json:"trigger"`
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`
	Content       string `json:"content"`
	Category      string `json:"api_refusal_category"`
	Explanation   string `json:"api_refusal_explanation"`
}

type deniedMessage struct {
	ToolName  string `json:"tool_name"`
	ToolUseID string `json:"tool_use_id"`
	Message   string `json:"message"`
}

// taskMessage tells of a subagent, or of a command that takes long. Which fields
// are set depends on the subtype.
type taskMessage struct {
	TaskID         string `json:"task_id"`
	ToolUseID      string `json:"tool_use_id"`
	TaskType       string `json:"task_type"` // local_agent, local_bash
	Description    string `json:"description"`
	SubagentType   string `json:"subagent_type"`
	Prompt         string `json:"prompt"`
	IsBackgrounded bool   `json:"is_backgrounded"`
	Status         string `json:"status"`
	OutputFile     string `json:"output_file"`
	Summary        string `json:"summary"`
	Usage          struct {
		DurationMS int64 `json:"duration_ms"`
	} `json:"usage"`
	Patch struct {
		Status         string `json:"status"`
		IsBackgrounded bool   `json:"is_backgrounded"`
		Description    string `json:"description"`
	} `json:"patch"`
}

// hookMessage tells of a command hook.
type hookMessage struct {
	HookName string `json:"hook_name"`
	Outcome  string `json:"outcome"`
	ExitCode *int   `json:"exit_code"`
}

// noteMessage is a word to the person at the terminal.
type noteMessage struct {
	Content  string `json:"content"`
	Level    string `json:"level"`
	Tag      string `json:"tag"`
	Key      string `json:"key"`
	Text     string `json:"text"`
	Priority string `json:"priority"`
	Error    string `json:"error"`
}

type stateMessage struct {
	State string `json:"state"` // running, requires_action, idle
}

type commandsMessage struct {
	Commands []json.RawMessage `json:"commands"`
}
