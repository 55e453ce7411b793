package acp

import (
	"encoding/json"
)

// protocolVersion is the one version of the protocol that is spoken. Agents that know
// a later one fail if it is offered in the words of this one.
const protocolVersion = 1

// Methods of the protocol.
const (
	methodInitialize = "initialize"
	methodNew        = "session/new"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
	methodFork       = "session/fork"
	methodPrompt     = "session/prompt"
	methodCancel     = "session/cancel"
	methodSetMode    = "session/set_mode"
	methodSetModel   = "session/set_model"
	methodSetOption  = "session/set_config_option"
	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
	methodElicit     = "elicitation/create"
	methodWithdraw   = "$/cancel_request"
)

// codeAuthRequired is the error with which agents refuse a session to somebody who is
// not signed in.
const codeAuthRequired = -32000

type object = map[string]any

// about is what an agent says of itself.
type about struct {
	ProtocolVersion int `json:"protocolVersion"`
	AgentInfo       struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Capabilities struct {
		LoadSession bool `json:"loadSession"`
		Prompt      struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
		Session struct {
			Resume json.RawMessage `json:"resume"`
			Fork   json.RawMessage `json:"fork"`
			Close  json.RawMessage `json:"close"`
			List   json.RawMessage `json:"list"`
			Dirs   json.RawMessage `json:"additionalDirectories"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AuthMethods []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"authMethods"`
}

// has reports whether a capability is declared, which is an object, if an empty one.
func has(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "null" && string(value) != "false"
}

// opened is the answer to a new, loaded, resumed or copied session.
type opened struct {
	SessionID string `json:"sessionId"`
	Modes     *struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models *struct {
		Current   string `json:"currentModelId"`
		Available []struct {
			ID   string `json:"modelId"`
			Name string `json:"name"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []option `json:"configOptions"`
}

// option is something that can be chosen in a session. Its value is a string or a
// boolean.
type option struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Values   []value         `json:"options"`
}

// value is one that an option can have, or a group of them.
type value struct {
	Value  string  `json:"value"`
	Name   string  `json:"name"`
	Values []value `json:"options"`
}

// values are all that can be chosen.
func (o option) values() []value { return flat(o.Values) }

func flat(values []value) []value {
	var out []value
	for _, v := range values {
		if v.Values != nil {
			out = append(out, flat(v.Values)...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// current is the value that is chosen, if it is a string.
func (o option) current() string {
	var s string
	_ = json.Unmarshal(o.Current, &s)
	return s
}

// updateParams are those of session/update.
type updateParams struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
}

// update is something that happened in a session. Kind says which fields are set.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"` // one block, or those of a tool call
	MessageID string          `json:"messageId"`
	Entries   []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Commands []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Input       struct {
			Hint string `json:"hint"`
		} `json:"input"`
	} `json:"availableCommands"`
	Mode    string   `json:"currentModeId"`
	Options []option `json:"configOptions"`
	Title   string   `json:"title"`
	Used    int64    `json:"used"`
	Size    int64    `json:"size"`
	Cost    *struct {
		Amount float64 `json:"amount"`
	} `json:"cost"`
	Text  string `json:"text"`
	Level string `json:"level"`
	State string `json:"status"`
	Meta  struct {
		Usage tokens `json:"usage"`
	} `json:"_meta"`
}

// block is a piece of content.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

// call is a tool call, or what changed in one. Fields that are absent did not change.
type call struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Content   []callContent   `json:"content"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta struct {
		ToolName   string `json:"toolName"`
		ClaudeCode struct {
			ToolName string `json:"toolName"`
			Parent   string `json:"parentToolUseId"`
		} `json:"claudeCode"`
		Terminal struct {
			Data string `json:"data"`
		} `json:"terminal_output_delta"`
		Exit struct {
			Code *int `json:"exit_code"`
		} `json:"terminal_exit"`
	} `json:"_meta"`
}

// callContent is what a tool call shows: a block, or the change of a file.
type callContent struct {
	Type    string `json:"type"` // content, diff, terminal
	Content block  `json:"content"`
	Path    string `json:"path"`
	Old     string `json:"oldText"`
	New     string `json:"newText"`
}

// permissionParams are those of session/request_permission.
type permissionParams struct {
	ToolCall call     `json:"toolCall"`
	Options  []choice `json:"options"`
}

// choice is an answer to a request for permission.
type choice struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once, reject_always
}

// outcome is the answer to a request for permission.
type outcome struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected, cancelled
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

// prompted is the answer to a prompt: the turn is over.
type prompted struct {
	StopReason string  `json:"stopReason"`
	Usage      *tokens `json:"usage"`
	Meta       struct {
		Quota struct {
			Count struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// tokens is how many a model has read and written.
type tokens struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	Thought    int64 `json:"thoughtTokens"`
	CacheRead  int64 `json:"cachedReadTokens"`
	CacheWrite int64 `json:"cachedWriteTokens"`
}
