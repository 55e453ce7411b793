package native

import (
	"encoding/json"

	"github.com/terret-dev/terret"
)

// What the API of Anthropic's models takes and sends, as far as we use it.

// wireRequest asks for an answer.
type wireRequest struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	System    []wireBlock   `json:"system"`
	Messages  []wireMessage `json:"messages"`
	Tools     []wireTool    `json:"tools,omitempty"`
	Stream    bool          `json:"stream"`
	Thinking  *wireThink    `json:"thinking,omitempty"`
	Output    *wireOutput   `json:"output_config,omitempty"`
}

// wireThink asks a model to think.
type wireThink struct {
	Type    string `json:"type"` // enabled, with a budget, or adaptive
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"` // summarized shows it
}

type wireOutput struct {
	Effort string `json:"effort"`
}

type wireMessage struct {
	Role    terret.Role `json:"role"`
	Content []wireBlock `json:"content"`
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// wireBlock is a part of a message; its type says which fields count.
type wireBlock struct {
	Type string `json:"type"`
	// text, thinking, which may be empty, and redacted_thinking
	Text      string  `json:"text,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
	// tool_use
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// tool_result
	ToolUseID string      `json:"tool_use_id,omitempty"`
	Content   []wireBlock `json:"content,omitempty"`
	IsError   bool        `json:"is_error,omitempty"`
	// image and document
	Source *wireSource `json:"source,omitempty"`
	Title  string      `json:"title,omitempty"`

	CacheControl *wireCache `json:"cache_control,omitempty"`
}

type wireSource struct {
	Type      string `json:"type"` // base64, url or text
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// thought is what the model thought, as far as it is shown.
func (b wireBlock) thought() string {
	if b.Thinking == nil {
		return ""
	}
	return *b.Thinking
}

// wireCache marks the end of what is to be kept in the cache.
type wireCache struct {
	Type string `json:"type"`
}

func cached() *wireCache { return &wireCache{Type: "ephemeral"} }

// The kinds of blocks that are not named elsewhere.
const (
	wireText       = "text"
	wireThinking   = "thinking"
	wireRedacted   = "redacted_thinking"
	wireToolUse    = "tool_use"
	wireToolResult = "tool_result"
	wireImage      = "image"
	wireDocument   = "document"
)

// wireEvent is an event of an answer; its name says which fields count.
type wireEvent struct {
	Message struct {
		ID    string    `json:"id"`
		Usage wireUsage `json:"usage"`
	} `json:"message"` // message_start
	Index        int       `json:"index"`         // content_block_*
	ContentBlock wireBlock `json:"content_block"` // content_block_start
	Delta        struct {
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"` // message_delta
	} `json:"delta"` // content_block_delta, message_delta
	Usage wireUsage `json:"usage"` // message_delta
}

// wireUsage counts tokens of the whole message. What is missing has not changed.
type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
}

// update puts the counts that were sent in the place of the old ones.
func (u wireUsage) update(to *terret.Usage) {
	for _, c := range []struct {
		from *int64
		to   *int64
	}{{u.Input, &to.Input}, {u.Output, &to.Output}, {u.CacheRead, &to.CacheRead}, {u.CacheWrite, &to.CacheWrite}} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
}
