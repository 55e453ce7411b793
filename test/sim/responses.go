package sim

import (
	"context"
	"encoding/json"
	"net/http"
)

// responses is OpenAI's Responses API.
type responses struct{}

var _ Dialect = responses{}

// Routes implements Dialect. The list of models is shared with Anthropic's.
func (responses) Routes() map[string]Aside {
	return map[string]Aside{"POST /v1/responses": nil}
}

// Error implements Dialect.
func (responses) Error(e *Error, _ string) any { return openAIError(e) }

type (
	responsesRequest struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []responsesTool `json:"tools"`
		Stream       bool            `json:"stream"`
		CacheKey     string          `json:"prompt_cache_key"`
		Text         struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
	}
	responsesTool struct {
		Type        string          `json:"type"` // function, custom, or a tool of the provider
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Tools       []responsesTool `json:"tools"` // of a namespace
	}
	responsesItem struct {
		Type      string          `json:"type"` // a message if it is empty
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Output    json.RawMessage `json:"output"`
		Summary   json.RawMessage `json:"summary"`
	}
)

// Decode implements Dialect.
func (responses) Decode(r *http.Request, body []byte) (Request, error) {
	var wire responsesRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, invalid("We could not parse the JSON body of your request: " + err.Error())
	}
	if wire.Model == "" {
		return Request{}, invalid("Missing required parameter: 'model'.")
	}
	req := Request{
		Model: wire.Model, System: wire.Instructions, Stream: wire.Stream, Schema: wire.Text.Format.Schema, Raw: body,
		Conversation: firstHeader(r, "Session_id", "Session-Id", "X-Session-Id"),
	}
	if req.Conversation == "" {
		req.Conversation = wire.CacheKey
	}
	if err := req.addInput(wire.Input); err != nil {
		return Request{}, err
	}
	for _, t := range wire.Tools {
		if t.Type != "namespace" {
			req.Tools = append(req.Tools, t.tool(""))
			continue
		}
		for _, inner := range t.Tools {
			req.Tools = append(req.Tools, inner.tool(t.Name+"/"))
		}
	}
	return req, nil
}

// tool is the tool in no API's words. One in a namespace is called NAMESPACE/NAME.
func (t responsesTool) tool(namespace string) Tool {
	name := t.Name
	if name == "" {
		name = t.Type
	}
	return Tool{Name: namespace + name, Description: t.Description, Schema: t.Parameters, Freeform: t.Type == "custom"}
}

// addInput adds the conversation, which is a text or a list of items. Its error is an
// *Error.
func (r *Request) addInput(input json.RawMessage) error {
	var text string
	if json.Unmarshal(input, &text) == nil && text != "" {
		r.add("user", Block{Type: BlockText, Text: text})
		return nil
	}
	var items []responsesItem
	if err := json.Unmarshal(input, &items); err != nil {
		return invalid("Invalid type for 'input': " + err.Error())
	}
	if len(items) == 0 {
		return invalid("Missing required parameter: 'input'.")
	}
	for _, item := range items {
		if err := r.addItem(item); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) addItem(item responsesItem) error {
	content := item.Content
	switch item.Type {
	case "reasoning":
		content = item.Summary
	case "function_call_output", "custom_tool_call_output":
		content = item.Output
	}
	blocks, err := decodeParts(content)
	if err != nil {
		return invalid("Invalid type for 'input[].content': " + err.Error())
	}
	switch item.Type {
	case "", "message":
		if item.Role == "system" || item.Role == "developer" {
			r.addSystem(joinText(blocks))
		} else {
			r.add(item.Role, blocks...)
		}
	case "reasoning":
		r.add("assistant", Block{Type: BlockThinking, Text: joinText(blocks)})
	case "function_call":
		r.add("assistant", Block{Type: BlockToolUse, ID: item.CallID, Name: item.Name, Input: json.RawMessage(item.Arguments)})
	case "custom_tool_call":
		r.add("assistant", Block{Type: BlockToolUse, ID: item.CallID, Name: item.Name, Text: item.Input})
	case "function_call_output", "custom_tool_call_output":
		r.add("user", Block{Type: BlockToolResult, ID: item.CallID, Text: joinText(blocks)})
	default:
		r.add("assistant", Block{Type: BlockType(item.Type)})
	}
	return nil
}

// Write implements Dialect.
func (d responses) Write(ctx context.Context, out *Output, req Request, reply Reply) error {
	w := responsesWriter{out: out, reply: reply, freeform: map[string]bool{}}
	for _, t := range req.Tools {
		w.freeform[t.Name] = t.Freeform
	}
	if req.Stream {
		return w.stream(ctx)
	}
	return out.Whole(ctx, reply, w.whole())
}
