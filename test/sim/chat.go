package sim

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// chat is OpenAI's Chat Completions API, which most other providers support too.
type chat struct{}

var _ Dialect = chat{}

// Routes implements Dialect. The list of models is shared with Anthropic's.
func (chat) Routes() map[string]Aside {
	return map[string]Aside{"POST /v1/chat/completions": nil}
}

// Error implements Dialect.
func (chat) Error(e *Error, _ string) any { return openAIError(e) }

// openAIError is the body of an error in both of OpenAI's APIs.
func openAIError(e *Error) any {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	d := detail{Message: e.Message, Type: e.Type}
	if d.Type == "" {
		d.Type = openAIErrorTypes[e.Status]
	}
	if d.Type == "" {
		d.Type = "invalid_request_error"
		if e.Status >= 500 {
			d.Type = "server_error"
		}
	}
	if code := openAIErrorCodes[e.Status]; code != "" {
		d.Code = &code
	}
	return struct {
		Error detail `json:"error"`
	}{d}
}

// The API's names for errors by status; others are invalid_request_error, and
// server_error from 500 on.
var (
	openAIErrorTypes = map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error",
	}
	openAIErrorCodes = map[int]string{
		401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 503: "server_is_overloaded", 529: "server_is_overloaded",
	}
)

type (
	chatRequest struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
		Tools    []struct {
			Function chatFunction `json:"function"`
		} `json:"tools"`
		Stream        bool `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Format struct {
			Schema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	chatFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	chatMessage struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Reasoning string          `json:"reasoning_content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
)

// Decode implements Dialect.
func (chat) Decode(r *http.Request, body []byte) (Request, error) {
	var wire chatRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, invalid("We could not parse the JSON body of your request: " + err.Error())
	}
	if wire.Model == "" {
		return Request{}, invalid("you must provide a model parameter")
	}
	if len(wire.Messages) == 0 {
		return Request{}, invalid("Missing required parameter: 'messages'.")
	}
	req := Request{
		Model: wire.Model, Stream: wire.Stream, Schema: wire.Format.Schema.Schema, Raw: body,
		Conversation: firstHeader(r, "X-Session-Id", "X-Session-Affinity"),
		wantUsage:    wire.StreamOptions.IncludeUsage,
	}
	for _, m := range wire.Messages {
		if err := req.addChat(m); err != nil {
			return Request{}, err
		}
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return req, nil
}

// addChat adds a message. Its error is an *Error.
func (r *Request) addChat(m chatMessage) error {
	blocks, err := decodeParts(m.Content)
	if err != nil {
		return invalid("Invalid type for 'messages[].content': " + err.Error())
	}
	switch m.Role {
	case "system", "developer":
		r.addSystem(joinText(blocks))
		return nil
	case "tool":
		r.add("user", Block{Type: BlockToolResult, ID: m.ToolCallID, Text: joinText(blocks)})
		return nil
	}
	if m.Reasoning != "" {
		blocks = append([]Block{{Type: BlockThinking, Text: m.Reasoning}}, blocks...)
	}
	for _, c := range m.ToolCalls {
		blocks = append(blocks, Block{Type: BlockToolUse, ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(c.Function.Arguments)})
	}
	r.add(m.Role, blocks...)
	return nil
}

func (r *Request) add(role string, blocks ...Block) {
	r.Messages = append(r.Messages, Message{Role: role, Blocks: blocks})
}

func (r *Request) addSystem(text string) {
	r.System = strings.TrimPrefix(r.System+"\n"+text, "\n")
}

// decodeParts reads the content of a message in OpenAI's APIs, which is a string or a
// list of parts.
func decodeParts(content json.RawMessage) ([]Block, error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []Block{{Type: BlockText, Text: text}}, nil
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Refusal  string          `json:"refusal"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, errors.New("expected a string or a list of parts: " + err.Error())
	}
	var blocks []Block
	for _, p := range parts {
		b := Block{Type: BlockType(p.Type), Text: p.Text + p.Refusal}
		switch p.Type {
		case "text", "input_text", "output_text", "summary_text", "refusal":
			b.Type = BlockText
		case "image_url", "input_image":
			b = Block{Type: BlockImage, Data: imageData(p.ImageURL)}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// imageData is the base64 of an image, which is a data URL, or an object that holds
// one.
func imageData(value json.RawMessage) string {
	var url string
	if json.Unmarshal(value, &url) != nil {
		var object struct {
			URL string `json:"url"`
		}
		_ = json.Unmarshal(value, &object) // otherwise it stays empty
		url = object.URL
	}
	if _, data, ok := strings.Cut(url, ";base64,"); ok {
		return data
	}
	return url
}

// firstHeader is the value of the first header that is set.
func firstHeader(r *http.Request, names ...string) string {
	for _, name := range names {
		if value := r.Header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// Write implements Dialect.
func (d chat) Write(ctx context.Context, out *Output, req Request, reply Reply) error {
	if req.Stream {
		return d.stream(ctx, out, req, reply)
	}
	return out.Whole(ctx, reply, chatOf(reply))
}
