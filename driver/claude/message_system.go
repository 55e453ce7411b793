package claude

import "encoding/json"

// systemMessageOf returns an empty message for a kind of line in which the agent
// reports about itself.
func systemMessageOf(subtype string) message {
	switch subtype {
	case "init":
		return &initMessage{}
	case "status":
		return &statusMessage{}
	case "compact_boundary":
		return &compactMessage{}
	case "task_started", "task_progress", "task_updated", "task_notification":
		return &taskMessage{}
	case "api_retry":
		return &retryMessage{}
	case "model_fallback", "model_refusal_fallback", "model_refusal_no_fallback":
		return &modelMessage{}
	case "permission_denied":
		return &deniedMessage{}
	case "hook_started", "hook_progress", "hook_response":
		return &hookMessage{}
	case "informational", "notification", "local_command_output", "mirror_error":
		return &noteMessage{}
	case "commands_changed":
		return &commandsMessage{}
	case "session_state_changed":
		return &stateMessage{}
	}
	return &header{}
}

// statusMessage reports what the agent is busy with, and changes of its mode.
type statusMessage struct {
	header
	Status         string `json:"status"` // requesting, compacting
	PermissionMode string `json:"permissionMode"`
	CompactResult  string `json:"compact_result"` // success, failed
	CompactError   string `json:"compact_error"`
}

type compactMessage struct {
	header
	Metadata struct {
		PreTokens  int64 `json:"pre_tokens"`
		PostTokens int64 `json:"post_tokens"`
	} `json:"compact_metadata"`
}

type retryMessage struct {
	header
	Attempt      int     `json:"attempt"`
	MaxRetries   int     `json:"max_retries"`
	RetryDelayMS float64 `json:"retry_delay_ms"`
	ErrorStatus  int     `json:"error_status"`
	Error        string  `json:"error"`
}

// modelMessage says that another model answers, or that the model refused.
type modelMessage struct {
	header
	Trigger       string `json:"trigger"`
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`
	Content       string `json:"content"`
	Category      string `json:"api_refusal_category"`
	Explanation   string `json:"api_refusal_explanation"`
}

type deniedMessage struct {
	header
	ToolName  string `json:"tool_name"`
	ToolUseID string `json:"tool_use_id"`
	Message   string `json:"message"`
}

// taskMessage reports about a subagent, or a long-running command. Which fields are set
// depends on the subtype.
type taskMessage struct {
	header
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

// hookMessage reports about a command hook.
type hookMessage struct {
	header
	HookName string `json:"hook_name"`
	Outcome  string `json:"outcome"`
	ExitCode *int   `json:"exit_code"`
}

// noteMessage is a note to the person at the terminal.
type noteMessage struct {
	header
	Content  string `json:"content"`
	Level    string `json:"level"`
	Tag      string `json:"tag"`
	Key      string `json:"key"`
	Text     string `json:"text"`
	Priority string `json:"priority"`
	Error    string `json:"error"`
}

type stateMessage struct {
	header
	State string `json:"state"` // running, requires_action, idle
}

type commandsMessage struct {
	header
	Commands []json.RawMessage `json:"commands"`
}
