package claude

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/terret-dev/terret"
)

// rawContent is the content of a message: a string, or a list of blocks.
type rawContent []contentBlock

// UnmarshalJSON implements json.Unmarshaler. Anything but a string or a list is empty
// content.
func (c *rawContent) UnmarshalJSON(b []byte) error {
	*c = nil
	switch b = bytes.TrimSpace(b); {
	case len(b) > 0 && b[0] == '"':
		var text string
		if decode(b, &text) && text != "" {
			*c = rawContent{{Type: "text", Text: text}}
		}
	case len(b) > 0 && b[0] == '[':
		var parts []json.RawMessage
		decode(b, &parts)
		for _, part := range parts {
			var block contentBlock
			decode(part, &block)
			block.raw = part
			*c = append(*c, block)
		}
	}
	return nil
}

// contentBlock is a block in the format of the model's API.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"` // of a tool_result
	IsError   bool            `json:"is_error"`
	Title     string          `json:"title"`
	Source    struct {
		Type      string `json:"type"` // base64, url, text
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`

	raw json.RawMessage
}

// block translates it. A block of an unknown type becomes text, unchanged.
func (b contentBlock) block() terret.Block {
	switch b.Type {
	case "text":
		return terret.Text(b.Text)
	case "thinking":
		return terret.Block{Type: terret.BlockThinking, Text: b.Thinking}
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return terret.Block{Type: terret.BlockToolUse, ToolID: b.ID, Name: b.Name, Input: terret.JSON(b.Input)}
	case "tool_result":
		return terret.Block{Type: terret.BlockToolResult, ToolID: b.ToolUseID, Content: b.content(), IsError: b.IsError}
	case "image":
		return b.file(terret.BlockImage)
	case "document":
		return b.file(terret.BlockDocument)
	}
	return terret.Text(string(b.raw))
}

// content is the content of a tool result. Results cannot nest: an inner one becomes
// text.
func (b contentBlock) content() []terret.Block {
	var c rawContent
	decode(b.Content, &c)
	for i := range c {
		if c[i].Type == "tool_result" {
			c[i] = contentBlock{Type: "text", Text: string(c[i].raw)}
		}
	}
	return c.blocks()
}

func (b contentBlock) file(kind terret.BlockType) terret.Block {
	out := terret.Block{Type: kind, MediaType: b.Source.MediaType, URL: b.Source.URL, Name: b.Title}
	switch b.Source.Type {
	case "base64":
		// A block that does not decode loses its content, but not its message.
		out.Bytes, _ = base64.StdEncoding.DecodeString(b.Source.Data)
	case "text":
		out.Bytes = []byte(b.Source.Data)
	}
	return out
}

func (c rawContent) blocks() []terret.Block {
	var out []terret.Block
	for _, b := range c {
		out = append(out, b.block())
	}
	return out
}

// text joins the text blocks.
func (c rawContent) text() string { return terret.TextOf(c.blocks()) }

// usage translates the counters of the model's API.
func (u apiUsage) usage() terret.Usage {
	return terret.Usage{
		Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens,
		CacheWrite: u.CacheCreationInputTokens, Reasoning: u.OutputTokensDetails.ThinkingTokens,
	}
}

// context is how much of the model's context the message and everything before it use.
func (u apiUsage) context() int64 {
	return u.InputTokens + u.OutputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
}
