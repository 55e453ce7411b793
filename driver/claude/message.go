package claude

import (
	"encoding/json"
	"errors"
)

// decode reads JSON into v. It skips fields of an unexpected type: an agent that
// changes one must not become unreadable. It reports whether the bytes are JSON at all.
func decode(b []byte, v any) bool {
	err := json.Unmarshal(b, v)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

// message is a line of the agent, decoded into the type for its kind.
type message interface{ head() header }

// header is what all lines have in common. For unknown kinds of lines it is all we
// know.
type header struct {
	Type            string `json:"type"`
	Subtype         string `json:"subtype"`
	SessionID       string `json:"session_id"`
	UUID            string `json:"uuid"`
	ParentToolUseID string `json:"parent_tool_use_id"`
	AgentID         string `json:"agent_id"`
	RequestID       string `json:"request_id"`
	HookEventName   string `json:"hook_event_name"` // of a hook's input, which has no type
}

func (h header) head() header { return h }

// parse decodes a line. It reports whether the line is a JSON object.
func parse(line []byte) (message, bool) {
	if len(line) == 0 || line[0] != '{' {
		return nil, false
	}
	var h header
	if !decode(line, &h) {
		return nil, false
	}
	m := messageOf(h.Type, h.Subtype)
	return m, decode(line, m)
}

// messageOf returns an empty message for a kind of line.
func messageOf(typ, subtype string) message {
	switch typ {
	case "system":
		return systemMessageOf(subtype)
	case "assistant":
		return &assistantMessage{}
	case "user":
		return &userMessage{}
	case "stream_event":
		return &streamMessage{}
	case "result":
		return &resultMessage{}
	case "control_request":
		return &controlRequest{}
	case "control_response":
		return &controlResponse{}
	case "rate_limit_event":
		return &rateLimitMessage{}
	case "tool_progress":
		return &toolProgressMessage{}
	case "auth_status":
		return &authMessage{}
	case "command_lifecycle":
		return &lifecycleMessage{}
	case "prompt_suggestion":
		return &suggestionMessage{}
	case "tool_use_summary":
		return &summaryMessage{}
	}
	return &header{}
}

// name is the agent's name for the line, for Event.Source.
func (h header) name() string {
	switch {
	case h.Type == "" && h.HookEventName != "":
		return h.HookEventName
	case h.Subtype != "":
		return h.Type + "/" + h.Subtype
	}
	return h.Type
}

// initMessage opens every turn.
type initMessage struct {
	header
	Cwd            string      `json:"cwd"`
	Tools          []string    `json:"tools"`
	MCPServers     []mcpServer `json:"mcp_servers"`
	Model          string      `json:"model"`
	PermissionMode string      `json:"permissionMode"`
	SlashCommands  []string    `json:"slash_commands"`
	Version        string      `json:"claude_code_version"`
}

type mcpServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error"`
}

// assistantMessage is one block of a model's message, or a message that the agent made
// up instead.
type assistantMessage struct {
	header
	Message struct {
		ID         string     `json:"id"`
		Model      string     `json:"model"`
		Content    rawContent `json:"content"`
		StopReason string     `json:"stop_reason"`
		Usage      apiUsage   `json:"usage"`
	} `json:"message"`
	Error            string   `json:"error"`
	UserMessageUUIDs []string `json:"user_message_uuids"`
}

// userMessage is a tool result, a prompt as the agent read it, or text that the agent
// attributes to the user.
type userMessage struct {
	header
	Message struct {
		Content rawContent `json:"content"`
	} `json:"message"`
	ToolUseResult  json.RawMessage `json:"tool_use_result"`
	ToolResultMeta []struct {
		ID       string `json:"id"`
		Decision struct {
			Decision string `json:"decision"`
		} `json:"permission_decision"`
	} `json:"tool_result_meta"`
	IsReplay    bool `json:"isReplay"`
	IsSynthetic bool `json:"isSynthetic"`
}

// rejected reports whether the agent says that the tool was not allowed.
func (m userMessage) rejected(tool string) bool {
	for _, meta := range m.ToolResultMeta {
		if meta.ID == tool && meta.Decision.Decision == "reject" {
			return true
		}
	}
	return false
}

// resultMessage ends a turn of the agent.
type resultMessage struct {
	header
	IsError        bool                  `json:"is_error"`
	APIErrorStatus int                   `json:"api_error_status"`
	DurationMS     int64                 `json:"duration_ms"`
	DurationAPIMS  int64                 `json:"duration_api_ms"` // of the process so far
	NumTurns       int                   `json:"num_turns"`
	Result         string                `json:"result"`
	StopReason     string                `json:"stop_reason"`
	TerminalReason string                `json:"terminal_reason"`
	TotalCostUSD   float64               `json:"total_cost_usd"` // of the process so far
	Usage          apiUsage              `json:"usage"`
	ModelUsage     map[string]modelUsage `json:"modelUsage"` // of the process so far
	// SinceLast is the usage since the last result. Newer versions report it, and their
	// totals continue those of the session's previous process.
	SinceLast         map[string]modelUsage `json:"model_usage_since_last_result"`
	PermissionDenials []struct {
		ToolName  string          `json:"tool_name"`
		ToolUseID string          `json:"tool_use_id"`
		ToolInput json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Errors           []string        `json:"errors"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Origin           struct {
		Kind string `json:"kind"`
	} `json:"origin"`
	UserMessageUUIDs []string `json:"user_message_uuids"`
}

// apiUsage counts tokens as the model's API does.
type apiUsage struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	OutputTokensDetails      struct {
		ThinkingTokens int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// modelUsage is what the process has used of one model so far.
type modelUsage struct {
	InputTokens              int64   `json:"inputTokens"`
	OutputTokens             int64   `json:"outputTokens"`
	CacheReadInputTokens     int64   `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int64   `json:"cacheCreationInputTokens"`
	ThinkingTokens           int64   `json:"thinkingTokens"`
	ContextWindow            int64   `json:"contextWindow"`
	CostUSD                  float64 `json:"costUSD"`
}

// streamMessage is a piece of a message that is still being written.
type streamMessage struct {
	header
	Event struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			ID    string   `json:"id"`
			Usage apiUsage `json:"usage"`
		} `json:"message"`
		ContentBlock struct {
			Type string `json:"type"`
			ID   string `json:"id"`
			Name string `json:"name"`
			Text string `json:"text"`
		} `json:"content_block"`
		Delta struct {
			Type        string `json:"type"`
			Text        string `json:"text"`
			Thinking    string `json:"thinking"`
			PartialJSON string `json:"partial_json"`
		} `json:"delta"`
		Usage apiUsage `json:"usage"`
	} `json:"event"`
}

// rateLimitMessage reports how near a limit of the subscription is.
type rateLimitMessage struct {
	header
	Info struct {
		Status        string  `json:"status"` // allowed, allowed_warning, rejected
		ResetsAt      float64 `json:"resetsAt"`
		RateLimitType string  `json:"rateLimitType"`
	} `json:"rate_limit_info"`
}

type toolProgressMessage struct {
	header
	ToolUseID      string  `json:"tool_use_id"`
	ElapsedSeconds float64 `json:"elapsed_time_seconds"`
}

type authMessage struct {
	header
	IsAuthenticating bool     `json:"isAuthenticating"`
	Output           []string `json:"output"`
	Error            string   `json:"error"`
}

// lifecycleMessage reports what happened to a prompt.
type lifecycleMessage struct {
	header
	CommandUUID string `json:"command_uuid"`
	State       string `json:"state"` // queued, started, completed
}

// suggestionMessage and summaryMessage are remarks outside the conversation.
type suggestionMessage struct {
	header
	Suggestion string `json:"suggestion"`
}

type summaryMessage struct {
	header
	Summary string `json:"summary"`
}
