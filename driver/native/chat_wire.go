package native

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/terret-dev/terret"
)

// What an API that speaks OpenAI's Chat Completions takes and sends, as far as we use it.
type (
	chatRequest struct {
		Model         string         `json:"model"`
		Messages      []chatMessage  `json:"messages"`
		Tools         []chatTool     `json:"tools,omitempty"`
		Stream        bool           `json:"stream"`
		StreamOptions map[string]any `json:"stream_options"`
		Effort        string         `json:"reasoning_effort,omitempty"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    any        `json:"content"` // a string, or []chatPart
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	chatPart struct {
		Type  string         `json:"type"`
		Text  string         `json:"text,omitempty"`
		Image *chatImagePart `json:"image_url,omitempty"`
	}
	chatImagePart struct {
		URL string `json:"url"`
	}
	chatTool struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	chatCall struct {
		Index    *int   `json:"index,omitempty"` // in answers
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	chatChunk struct {
		Choices []struct {
			Index int `json:"index"`
			Delta struct {
				Content          string     `json:"content"`
				Reasoning        string     `json:"reasoning"`
				ReasoningContent string     `json:"reasoning_content"`
				ToolCalls        []chatCall `json:"tool_calls"`
			} `json:"delta"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage *chatUsage `json:"usage"`
	}
	chatUsage struct {
		Prompt        int64   `json:"prompt_tokens"`
		Completion    int64   `json:"completion_tokens"`
		Cost          float64 `json:"cost"` // in dollars; only OpenRouter's
		PromptDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// tokens counts as we do: what was read from the cache is not input.
func (u chatUsage) tokens() terret.Usage {
	cached := min(u.PromptDetails.Cached, u.Prompt)
	return terret.Usage{Input: u.Prompt - cached, Output: u.Completion, CacheRead: cached, Reasoning: u.CompletionDetails.Reasoning}
}

// request is what the model is asked, as the API takes it.
func (c *chat) request(q query) chatRequest {
	r := chatRequest{
		Model: c.model, Stream: true, Effort: q.effort, StreamOptions: map[string]any{"include_usage": true},
		Messages: []chatMessage{{Role: "system", Content: q.system}},
	}
	for _, t := range q.tools {
		r.Tools = append(r.Tools, chatTool{Type: "function", Function: chatFunction{Name: t.name, Description: t.description, Parameters: t.schema}})
	}
	for _, m := range q.messages {
		if m.role == terret.RoleAssistant {
			r.Messages = append(r.Messages, chatSaid(m.blocks))
		} else {
			r.Messages = append(r.Messages, chatHeard(m.blocks)...)
		}
	}
	return r
}

// chatSaid is what the model said.
func chatSaid(blocks []terret.Block) chatMessage {
	m := chatMessage{Role: "assistant", Content: terret.TextOf(blocks)}
	for _, b := range callsIn(blocks) {
		call := chatCall{ID: b.ToolID, Type: "function"}
		call.Function.Name, call.Function.Arguments = b.Name, string(b.Input)
		if !isObject(b.Input) {
			call.Function.Arguments = "{}" // servers accept nothing else back
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	if m.Content == "" && len(m.ToolCalls) == 0 {
		m.Content = nothing
	}
	return m
}

// chatHeard is what the model was told: the results of tools, each a message of its
// own, and what the user said.
func chatHeard(blocks []terret.Block) []chatMessage {
	var out []chatMessage
	var parts []chatPart
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockToolResult:
			out = append(out, chatMessage{Role: "tool", ToolCallID: b.ToolID, Content: resultText(b)})
			for _, i := range imagesIn(b.Content) { // the result itself can only be text
				parts = append(parts, chatAttachment(i))
			}
		case terret.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				parts = append(parts, chatPart{Type: "text", Text: b.Text})
			}
		case terret.BlockImage, terret.BlockDocument:
			parts = append(parts, chatAttachment(b))
		case terret.BlockThinking, terret.BlockToolUse: // the model's own
		}
	}
	if len(parts) == 0 && len(out) == 0 {
		parts = []chatPart{{Type: "text", Text: nothing}}
	}
	if len(parts) > 0 {
		out = append(out, chatMessage{Role: "user", Content: parts})
	}
	return out
}

// resultText is the result of a tool in words, for APIs that know no errors of tools.
func resultText(b terret.Block) string {
	text := terret.TextOf(b.Content)
	if strings.TrimSpace(text) == "" {
		text = nothing
	}
	if b.IsError {
		text = "Error: " + text
	}
	return text
}

func chatAttachment(b terret.Block) chatPart {
	kind, _, _ := strings.Cut(b.MediaType, ";")
	switch {
	case b.Type == terret.BlockImage && len(b.Bytes) > 0 && strings.HasPrefix(kind, "image/"):
		return chatPart{Type: "image_url", Image: &chatImagePart{"data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes)}}
	case b.Type == terret.BlockImage && b.URL != "":
		return chatPart{Type: "image_url", Image: &chatImagePart{b.URL}}
	case len(b.Bytes) > 0 && (strings.HasPrefix(kind, "text/") || kind == "application/json"):
		return chatPart{Type: "text", Text: fmt.Sprintf("The document %q:\n\n%s", b.Name, strings.ToValidUTF8(string(b.Bytes), "\uFFFD"))}
	}
	return chatPart{Type: "text", Text: notShown(b).Text}
}
