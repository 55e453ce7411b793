package sim

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// gemini is Google's generateContent API.
type gemini struct{}

var _ Dialect = gemini{}

// Routes implements Dialect. The path of a request to a model is its name, a colon and
// a verb, which patterns cannot tell apart.
func (d gemini) Routes() map[string]Aside {
	return map[string]Aside{
		"POST /v1beta/models/{call}": d.call,
		"GET /v1beta/models":         d.listModels,
		"GET /v1beta/models/{id}":    d.oneModel,
	}
}

// call answers requests that do not ask the model.
func (d gemini) call(_ *Scenario, r *http.Request, body []byte) (any, error) {
	switch _, verb, _ := strings.Cut(r.PathValue("call"), ":"); verb {
	case "generateContent", "streamGenerateContent":
		return nil, errAskModel
	case "countTokens":
		return struct {
			TotalTokens int `json:"totalTokens"`
		}{tokens(len(body))}, nil
	default:
		return nil, nothingAt(r)
	}
}

type geminiModel struct {
	Name       string   `json:"name"`
	Display    string   `json:"displayName"`
	InputLimit int      `json:"inputTokenLimit"`
	Limit      int      `json:"outputTokenLimit"`
	Methods    []string `json:"supportedGenerationMethods"`
}

func geminiModelOf(id string) geminiModel {
	return geminiModel{
		Name: "models/" + id, Display: id, InputLimit: 1 << 20, Limit: 1 << 16,
		Methods: []string{"generateContent", "streamGenerateContent", "countTokens"},
	}
}

func (gemini) listModels(s *Scenario, _ *http.Request, _ []byte) (any, error) {
	list := struct {
		Models []geminiModel `json:"models"`
	}{}
	for _, id := range s.modelIDs() {
		list.Models = append(list.Models, geminiModelOf(id))
	}
	return list, nil
}

func (gemini) oneModel(s *Scenario, r *http.Request, _ []byte) (any, error) {
	id := r.PathValue("id")
	if len(s.models) > 0 && !slices.Contains(s.models, id) {
		return nil, &Error{Status: http.StatusNotFound, Message: "models/" + id + " is not found"}
	}
	return geminiModelOf(id), nil
}

// Error implements Dialect.
func (gemini) Error(e *Error, _ string) any {
	type detail struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
	}
	d := detail{Code: e.Status, Message: e.Message, Status: e.Type}
	if d.Status == "" {
		d.Status = geminiStatuses[e.Status]
	}
	if d.Status == "" {
		d.Status = "INVALID_ARGUMENT"
		if e.Status >= 500 {
			d.Status = "INTERNAL"
		}
	}
	return struct {
		Error detail `json:"error"`
	}{d}
}

// geminiStatuses are the API's names for errors by status.
var geminiStatuses = map[int]string{
	401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
}

type (
	geminiRequest struct {
		System   geminiContent   `json:"systemInstruction"`
		Contents []geminiContent `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
				Schema      json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			Schema     json.RawMessage `json:"responseSchema"`
			JSONSchema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	geminiContent struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	}
	geminiPart struct {
		Text    string `json:"text"`
		Thought bool   `json:"thought"`
		Data    *struct {
			Data string `json:"data"`
		} `json:"inlineData"`
		Call *struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
		Response *struct {
			ID       string          `json:"id"`
			Name     string          `json:"name"`
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	}
)

// Decode implements Dialect.
func (gemini) Decode(r *http.Request, body []byte) (Request, error) {
	model, verb, _ := strings.Cut(r.PathValue("call"), ":")
	var wire geminiRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, invalid("Invalid JSON payload received: " + err.Error())
	}
	if len(wire.Contents) == 0 {
		return Request{}, invalid("contents is not specified")
	}
	req := Request{Model: model, Stream: verb == "streamGenerateContent", Raw: body, Schema: wire.Config.Schema}
	if len(wire.Config.JSONSchema) > 0 {
		req.Schema = wire.Config.JSONSchema
	}
	req.System = joinText(geminiBlocks(wire.System.Parts))
	for _, c := range wire.Contents {
		role := c.Role
		if role == "model" {
			role = "assistant"
		} else {
			role = "user" // also for "function", and for none
		}
		req.add(role, geminiBlocks(c.Parts)...)
	}
	for _, t := range wire.Tools {
		for _, f := range t.Functions {
			tool := Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters}
			if len(f.Schema) > 0 {
				tool.Schema = f.Schema
			}
			req.Tools = append(req.Tools, tool)
		}
	}
	return req, nil
}

func geminiBlocks(parts []geminiPart) []Block {
	blocks := make([]Block, 0, len(parts))
	for _, p := range parts {
		b := Block{Type: BlockText, Text: p.Text}
		switch {
		case p.Call != nil:
			b = Block{Type: BlockToolUse, ID: p.Call.ID, Name: p.Call.Name, Input: p.Call.Args}
		case p.Response != nil:
			b = Block{Type: BlockToolResult, ID: p.Response.ID, Name: p.Response.Name}
			b.Text, b.Error = geminiResult(p.Response.Response)
		case p.Data != nil:
			b = Block{Type: BlockImage, Data: p.Data.Data}
		case p.Thought:
			b.Type = BlockThinking
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// geminiResult is what a tool returned: its output, its error, or all of it.
func geminiResult(response json.RawMessage) (text string, failed bool) {
	var known struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	switch err := json.Unmarshal(response, &known); {
	case err == nil && known.Error != nil:
		return *known.Error, true
	case err == nil && known.Output != nil:
		return *known.Output, false
	default:
		return string(response), false
	}
}

// Write implements Dialect.
func (d gemini) Write(ctx context.Context, out *Output, req Request, reply Reply) error {
	if !req.Stream {
		return out.Whole(ctx, reply, geminiOf(reply))
	}
	for ev, err := range reply.Events(ctx) {
		if e, ok := errors.AsType[*Error](err); ok {
			return out.Event("", d.Error(e, out.RequestID()))
		}
		if err != nil {
			return err
		}
		if err := d.streamEvent(out, reply, ev); err != nil {
			return err
		}
	}
	return out.Event("", geminiEnd(reply))
}
