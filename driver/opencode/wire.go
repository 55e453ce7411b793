package opencode

import (
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
)

// What the server says. Fields that are not needed are left out, and unknown ones are
// ignored.

// event is one event of the stream.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// subject is what most events are about.
type subject struct {
	SessionID string `json:"sessionID"`
}

type sessionInfo struct {
	ID       string `json:"id"`
	ParentID string `json:"parentID"`
	Agent    string `json:"agent"`
	Title    string `json:"title"`
	Revert   *struct {
		MessageID string `json:"messageID"`
	} `json:"revert"`
}

type sessionEvent struct {
	Info sessionInfo `json:"info"`
}

type statusEvent struct {
	SessionID string `json:"sessionID"`
	Status    status `json:"status"`
}

// status says what a session does: busy, idle or retry.
type status struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt"`
	Message string `json:"message"`
	Next    int64  `json:"next"` // milliseconds since 1970
}

type messageEvent struct {
	Info messageInfo `json:"info"`
}

type messageInfo struct {
	ID         string          `json:"id"`
	SessionID  string          `json:"sessionID"`
	ParentID   string          `json:"parentID"`
	Role       string          `json:"role"`
	Finish     string          `json:"finish"`
	Summary    json.RawMessage `json:"summary"` // true if it is one; of a user message an object
	ModelID    string          `json:"modelID"`
	ProviderID string          `json:"providerID"`
	Cost       float64         `json:"cost"`
	Tokens     tokens          `json:"tokens"`
	Time       struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	} `json:"time"`
	Error      *failure        `json:"error"`
	Structured json.RawMessage `json:"structured"`
}

// summary reports whether the message is the summary that a compaction leaves.
func (m messageInfo) summary() bool { return string(m.Summary) == "true" }

// done reports whether nothing more will come of the message.
func (m messageInfo) done() bool { return m.Time.Completed > 0 || m.Error != nil }

type tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

// usage counts as we do. The agent's output is without the reasoning.
func (t tokens) usage() terret.Usage {
	return terret.Usage{
		Input: t.Input, Output: t.Output + t.Reasoning, Reasoning: t.Reasoning, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write,
	}
}

// context is how much of the model's context the message and all before it fill.
func (t tokens) context() int64 {
	return t.Input + t.Output + t.Reasoning + t.Cache.Read + t.Cache.Write
}

type partEvent struct {
	Part part `json:"part"`
}

// part is a piece of a message.
type part struct {
	ID        string         `json:"id"`
	MessageID string         `json:"messageID"`
	SessionID string         `json:"sessionID"`
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Synthetic bool           `json:"synthetic"`
	Ignored   bool           `json:"ignored"`
	Auto      bool           `json:"auto"` // of a compaction
	Tool      string         `json:"tool"`
	CallID    string         `json:"callID"`
	State     toolState      `json:"state"`
	Metadata  map[string]any `json:"metadata"` // what we gave a prompt
	Time      struct {
		End int64 `json:"end"`
	} `json:"time"`
}

// toolState is how far a tool call is.
type toolState struct {
	Status   string          `json:"status"` // pending, running, completed, error
	Input    json.RawMessage `json:"input"`
	Output   string          `json:"output"`
	Error    string          `json:"error"`
	Title    string          `json:"title"`
	Metadata toolMetadata    `json:"metadata"`
	Time     struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	} `json:"time"`
}

// toolMetadata is what tools say beside their result. Each says some of it.
type toolMetadata struct {
	Output      string          `json:"output"`
	Exit        json.RawMessage `json:"exit"`
	Diff        string          `json:"diff"`
	FilePath    string          `json:"filepath"`
	Exists      *bool           `json:"exists"`
	SessionID   string          `json:"sessionId"`
	Interrupted bool            `json:"interrupted"`
	FileDiff    struct {
		File string `json:"file"`
	} `json:"filediff"`
}

// UnmarshalJSON implements json.Unmarshaler. Tools of plugins put what they like here,
// so what has another shape is left out.
func (m *toolMetadata) UnmarshalJSON(b []byte) error {
	type plain toolMetadata
	var out plain
	if json.Unmarshal(b, &out) == nil {
		*m = toolMetadata(out)
	}
	return nil
}

type deltaEvent struct {
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID"`
	PartID    string `json:"partID"`
	Field     string `json:"field"`
	Delta     string `json:"delta"`
}

type errorEvent struct {
	SessionID string   `json:"sessionID"`
	Error     *failure `json:"error"`
}

// failure is an error of the agent.
type failure struct {
	Name string `json:"name"`
	Data struct {
		Message     string `json:"message"`
		StatusCode  int    `json:"statusCode"`
		IsRetryable bool   `json:"isRetryable"`
		ProviderID  string `json:"providerID"`
	} `json:"data"`
}

// permissionAsked is a request of the agent to use a tool.
type permissionAsked struct {
	ID         string   `json:"id"`
	SessionID  string   `json:"sessionID"`
	Permission string   `json:"permission"`
	Patterns   []string `json:"patterns"`
	Metadata   struct {
		Command  string `json:"command"`
		FilePath string `json:"filepath"`
		Diff     string `json:"diff"`
	} `json:"metadata"`
	Tool callRef `json:"tool"`
}

type callRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

// questionAsked is a question of the agent.
type questionAsked struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Questions []struct {
		Question string          `json:"question"`
		Header   string          `json:"header"`
		Options  []terret.Option `json:"options"`
		Multiple bool            `json:"multiple"`
	} `json:"questions"`
	Tool callRef `json:"tool"`
}

// answered says that a request is no longer open.
type answered struct {
	SessionID string `json:"sessionID"`
	RequestID string `json:"requestID"`
}

type todoEvent struct {
	SessionID string `json:"sessionID"`
	Todos     []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
}

// storedMessage is a message with its parts, as it is stored.
type storedMessage struct {
	Info  messageInfo `json:"info"`
	Parts []part      `json:"parts"`
}

// agentInfo is one of the agent's own roles, such as build and plan.
type agentInfo struct {
	Name       string `json:"name"`
	Mode       string `json:"mode"` // primary, subagent, all
	Hidden     bool   `json:"hidden"`
	Permission []rule `json:"permission"`
}

type commandInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Agent       string   `json:"agent"`
	Subtask     bool     `json:"subtask"`
	Hints       []string `json:"hints"`
}

// providerList is what models can be used.
type providerList struct {
	Providers []provider `json:"providers"`
}

type provider struct {
	ID      string               `json:"id"`
	Source  string               `json:"source"` // env, config, custom, api
	Env     []string             `json:"env"`    // variables that hold its key
	Key     set                  `json:"key"`
	Models  map[string]modelInfo `json:"models"`
	Options struct {
		APIKey set `json:"apiKey"`
	} `json:"options"`
}

// usable reports whether there is a key, or none is needed. A provider that is only
// named in the settings is listed without one.
func (p provider) usable() bool {
	return p.Source != "config" || len(p.Env) == 0 || bool(p.Key) || bool(p.Options.APIKey)
}

// set says that there is a value, which is a secret and not kept.
type set bool

// UnmarshalJSON implements json.Unmarshaler.
func (s *set) UnmarshalJSON(b []byte) error {
	*s = set(len(b) > 2) // neither null, nor empty quotes
	if string(b) == "null" {
		*s = false
	}
	return nil
}

type modelInfo struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Limit struct {
		Context int64 `json:"context"`
		Output  int64 `json:"output"`
	} `json:"limit"`
	Variants map[string]json.RawMessage `json:"variants"`
}

func milliseconds(ms int64) time.Time { return time.UnixMilli(ms) }
