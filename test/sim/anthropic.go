package sim

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

var _ Dialect = anthropic{}

// Routes implements Dialect.
func (d anthropic) Routes() map[string]Aside {
	return map[string]Aside{
		"POST /v1/messages":              nil,
		"POST /v1/messages/count_tokens": d.countTokens,
		"GET /v1/models":                 d.listModels,
		"GET /v1/models/{id}":            d.oneModel,
		// Claude Code's bootstrap, telemetry and feature flags. Nobody reads the
		// answer.
		"/api/": func(*Scenario, *http.Request, []byte) (any, error) { return struct{}{}, nil },
	}
}

// countTokens answers with a quarter of the number of characters.
func (d anthropic) countTokens(_ *Scenario, _ *http.Request, body []byte) (any, error) {
	if _, _, err := decodeMessages(body); err != nil {
		return nil, err
	}
	return struct {
		InputTokens int `json:"input_tokens"`
	}{tokens(len(body))}, nil
}

// wireModel is a model as Anthropic lists it, and as OpenAI does under the same path.
type wireModel struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
}

func modelOf(id string) wireModel {
	return wireModel{
		Type: "model", ID: id, DisplayName: id, CreatedAt: "2026-01-01T00:00:00Z",
		Object: "model", Created: created, OwnedBy: "sim",
	}
}

// modelIDs are the listed models.
func (s *Scenario) modelIDs() []string {
	if len(s.models) == 0 {
		return []string{defaultModel}
	}
	return s.models
}

func (d anthropic) listModels(s *Scenario, _ *http.Request, _ []byte) (any, error) {
	ids := s.modelIDs()
	list := struct {
		Object  string      `json:"object"`
		Data    []wireModel `json:"data"`
		HasMore bool        `json:"has_more"`
		FirstID string      `json:"first_id"`
		LastID  string      `json:"last_id"`
	}{Object: "list", FirstID: ids[0], LastID: ids[len(ids)-1]}
	for _, id := range ids {
		list.Data = append(list.Data, modelOf(id))
	}
	return list, nil
}

func (d anthropic) oneModel(s *Scenario, r *http.Request, _ []byte) (any, error) {
	id := r.PathValue("id")
	if len(s.models) > 0 && !slices.Contains(s.models, id) {
		return nil, &Error{Status: http.StatusNotFound, Message: "model: " + id}
	}
	return modelOf(id), nil
}

// Error implements Dialect.
func (anthropic) Error(e *Error, requestID string) any {
	name := e.Type
	if name == "" {
		name = errorTypes[e.Status]
	}
	switch {
	case name != "":
	case e.Status >= 500:
		name = "api_error"
	default:
		name = "invalid_request_error"
	}
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return struct {
		Type      string `json:"type"`
		Error     detail `json:"error"`
		RequestID string `json:"request_id"`
	}{"error", detail{name, e.Message}, requestID}
}

// errorTypes are the API's names for errors by status; other 5xx are api_error.
var errorTypes = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	402: "billing_error",
	403: "permission_error",
	404: "not_found_error",
	409: "conflict_error",
	413: "request_too_large",
	429: "rate_limit_error",
	504: "timeout_error",
	529: "overloaded_error",
}

// Decode implements Dialect.
func (anthropic) Decode(r *http.Request, body []byte) (Request, error) {
	req, limit, err := decodeMessages(body)
	if err != nil {
		return Request{}, err
	}
	if limit == nil {
		return Request{}, invalid("max_tokens: Field required")
	}
	if *limit < 1 {
		return Request{}, invalid("max_tokens: must be greater than or equal to 1")
	}
	req.Conversation = r.Header.Get("X-Claude-Code-Session-Id")
	return req, nil
}

func invalid(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Message: message}
}

type wireRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []wireMessage   `json:"messages"`
	Tools     []wireTool      `json:"tools"`
	Stream    bool            `json:"stream"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		Data string `json:"data"`
		URL  string `json:"url"`
	} `json:"source"`
}

// decodeMessages reads what asking the model and counting tokens have in common, and
// the limit, which only the former needs.
func decodeMessages(body []byte) (Request, *int, error) {
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, nil, invalid("The request body is not valid JSON: " + err.Error())
	}
	if wire.Model == "" {
		return Request{}, nil, invalid("model: Field required")
	}
	if len(wire.Messages) == 0 {
		return Request{}, nil, invalid("messages: at least one message is required")
	}
	req := Request{Model: wire.Model, Stream: wire.Stream, Raw: body}
	system, err := decodeBlocks(wire.System)
	if err != nil {
		return Request{}, nil, invalid("system: " + err.Error())
	}
	req.System = joinText(system)
	for _, m := range wire.Messages {
		blocks, err := decodeBlocks(m.Content)
		if err != nil {
			return Request{}, nil, invalid("messages: " + err.Error())
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Blocks: blocks})
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return req, wire.MaxTokens, nil
}

// decodeBlocks reads content, which is a string or a list of blocks.
func decodeBlocks(content json.RawMessage) ([]Block, error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []Block{{Type: BlockText, Text: text}}, nil
	}
	var wire []wireBlock
	if err := json.Unmarshal(content, &wire); err != nil {
		return nil, errors.New("content is neither a string nor a list of blocks: " + err.Error())
	}
	blocks := make([]Block, 0, len(wire))
	for _, w := range wire {
		b := Block{Type: BlockType(w.Type), Text: w.Text, ID: w.ID, Name: w.Name, Input: w.Input}
		switch b.Type {
		case BlockThinking:
			b.Text = w.Thinking
		case BlockImage:
			b.Data = w.Source.Data + w.Source.URL
		case BlockToolResult:
			inner, err := decodeBlocks(w.Content)
			if err != nil {
				return nil, err
			}
			b.ID, b.Error, b.Text = w.ToolUseID, w.IsError, joinText(inner)
		default:
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func joinText(blocks []Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Write implements Dialect.
func (d anthropic) Write(ctx context.Context, out *Output, req Request, reply Reply) error {
	if req.Stream {
		return d.stream(ctx, out, reply)
	}
	return out.Whole(ctx, reply, messageOf(reply))
}
