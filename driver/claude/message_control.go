package claude

import "encoding/json"

// controlRequest is a request of the agent.
type controlRequest struct {
	header
	Request request `json:"request"`
}

// request is what the agent asks for. Which fields are set depends on the subtype.
type request struct {
	Subtype    string `json:"subtype"`
	canUseTool        // its input and tool_use_id are also those of hook_callback
	elicitation
	CallbackID string          `json:"callback_id"` // hook_callback
	ServerName string          `json:"server_name"` // mcp_message
	Message    json.RawMessage `json:"message"`     // mcp_message: JSON-RPC; elicitation: a string
}

// controlResponse is the answer to one, in either direction.
type controlResponse struct {
	header
	Response struct {
		Subtype   string          `json:"subtype"` // success, error
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
}

// canUseTool asks whether a tool may run.
type canUseTool struct {
	ToolName       string             `json:"tool_name"`
	DisplayName    string             `json:"display_name"`
	Title          string             `json:"title"`
	Description    string             `json:"description"`
	Input          json.RawMessage    `json:"input"`
	ToolUseID      string             `json:"tool_use_id"`
	AgentID        string             `json:"agent_id"`
	DecisionReason string             `json:"decision_reason"`
	BlockedPath    string             `json:"blocked_path"`
	Suggestions    []permissionUpdate `json:"permission_suggestions"`
}

// permissionUpdate changes what the agent allows without asking.
type permissionUpdate struct {
	Type        string           `json:"type"` // addRules, setMode, addDirectories ...
	Rules       []permissionRule `json:"rules,omitempty"`
	Behavior    string           `json:"behavior,omitempty"`
	Mode        string           `json:"mode,omitempty"`
	Directories []string         `json:"directories,omitempty"`
	Destination string           `json:"destination"` // session, localSettings ...
}

type permissionRule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// hookInput is the input of a hook, over the stream or of a command.
type hookInput struct {
	HookEventName         string             `json:"hook_event_name"`
	AgentID               string             `json:"agent_id"`
	ToolName              string             `json:"tool_name"`
	ToolInput             json.RawMessage    `json:"tool_input"`
	ToolUseID             string             `json:"tool_use_id"`
	StopHookActive        bool               `json:"stop_hook_active"`
	LastAssistantMessage  string             `json:"last_assistant_message"`
	BackgroundTasks       []json.RawMessage  `json:"background_tasks"`
	CompactSummary        string             `json:"compact_summary"`
	PermissionSuggestions []permissionUpdate `json:"permission_suggestions"`
}

// elicitation is a question from an MCP server.
type elicitation struct {
	MCPServerName   string          `json:"mcp_server_name"`
	Mode            string          `json:"mode"` // form, url
	URL             string          `json:"url"`
	RequestedSchema json.RawMessage `json:"requested_schema"`
}

// initializeAnswer is what the agent says about itself when it is greeted.
type initializeAnswer struct {
	Commands []commandInfo `json:"commands"`
	Models   []modelInfo   `json:"models"`
	Account  struct {
		TokenSource  string `json:"tokenSource"`
		APIKeySource string `json:"apiKeySource"`
		APIProvider  string `json:"apiProvider"`
	} `json:"account"`
	PID            int    `json:"pid"`
	PermissionMode string `json:"current_permission_mode"` // newer versions only
	Version        string `json:"claude_code_version"`     // newer versions only
}

type commandInfo struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	ArgumentHint string `json:"argumentHint"`
}

type modelInfo struct {
	Value                 string   `json:"value"`
	DisplayName           string   `json:"displayName"`
	SupportedEffortLevels []string `json:"supportedEffortLevels"`
}
