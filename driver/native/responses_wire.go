package native

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
)

// What OpenAI's Responses API takes and sends, as far as we use it.
type (
	responsesRequest struct {
		Model        string           `json:"model"`
		Instructions string           `json:"instructions"`
		Input        []responsesItem  `json:"input"`
		Tools        []responsesTool  `json:"tools,omitempty"`
		Stream       bool             `json:"stream"`
		Store        bool             `json:"store"`
		Include      []string         `json:"include,omitempty"`
		Reasoning    *responsesReason `json:"reasoning,omitempty"`
	}
	responsesReason struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary"`
	}
	responsesTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
	// responsesItem is a part of the conversation; its type says which fields count.
	responsesItem struct {
		Type      string           `json:"type"`
		Role      string           `json:"role,omitempty"`
		Content   []responsesPart  `json:"content,omitempty"` // message
		CallID    string           `json:"call_id,omitempty"` // function_call, function_call_output
		Name      string           `json:"name,omitempty"`
		Arguments string           `json:"arguments,omitempty"`
		Output    string           `json:"output,omitempty"`
		Summary   *[]responsesPart `json:"summary,omitempty"` // reasoning
		Encrypted string           `json:"encrypted_content,omitempty"`
	}
	responsesPart struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
		FileName string `json:"filename,omitempty"`
		FileData string `json:"file_data,omitempty"`
	}
	responsesEvent struct {
		Type     string        `json:"type"`
		Index    int           `json:"output_index"`
		Delta    string        `json:"delta"`
		Item     responsesItem `json:"item"`
		Response struct {
			Error      json.RawMessage `json:"error"`
			Incomplete struct {
				Reason string `json:"reason"`
			} `json:"incomplete_details"`
			Usage responsesUsage `json:"usage"`
		} `json:"response"`
	}
	responsesUsage struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
)

// tokens counts as we do: what was read from the cache is not input.
func (u responsesUsage) tokens() terret.Usage {
	cached := min(u.InputDetails.Cached, u.Input)
	return terret.Usage{Input: u.Input - cached, Output: u.Output, CacheRead: cached, Reasoning: u.OutputDetails.Reasoning}
}

// request is what the model is asked, as the API takes it. The API keeps nothing: what the
// model thought comes encrypted, and is sent back.
func (m *responses) request(q query) responsesRequest {
	r := responsesRequest{Model: m.model, Instructions: q.system, Stream: true, Input: []responsesItem{}}
	if !m.plain.Load() && m.card.Thinking != thinkNone {
		r.Include = []string{"reasoning.encrypted_content"}
		r.Reasoning = &responsesReason{Effort: q.effort, Summary: "auto"}
	}
	for _, t := range q.tools {
		r.Tools = append(r.Tools, responsesTool{Type: "function", Name: t.name, Description: t.description, Parameters: t.schema})
	}
	for _, msg := range q.messages {
		if msg.role == terret.RoleAssistant {
			r.Input = append(r.Input, m.said(msg.blocks)...)
		} else {
			r.Input = append(r.Input, responsesHeard(msg.blocks)...)
		}
	}
	return r
}

// said is what the model said.
func (m *responses) said(blocks []terret.Block) []responsesItem {
	var out []responsesItem
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, responsesItem{Type: "message", Role: "assistant", Content: []responsesPart{{Type: "output_text", Text: b.Text}}})
			}
		case terret.BlockThinking:
			if len(b.Bytes) > 0 && b.Name == m.id() && !m.plain.Load() {
				summary := []responsesPart{}
				if b.Text != "" {
					summary = append(summary, responsesPart{Type: "summary_text", Text: b.Text})
				}
				out = append(out, responsesItem{Type: "reasoning", Summary: &summary, Encrypted: string(b.Bytes)})
			}
		case terret.BlockToolUse:
			arguments := string(b.Input)
			if !isObject(b.Input) {
				arguments = "{}"
			}
			out = append(out, responsesItem{Type: "function_call", CallID: b.ToolID, Name: b.Name, Arguments: arguments})
		case terret.BlockToolResult, terret.BlockImage, terret.BlockDocument: // not the model's
		}
	}
	if len(out) == 0 {
		out = append(out, responsesItem{Type: "message", Role: "assistant", Content: []responsesPart{{Type: "output_text", Text: nothing}}})
	}
	return out
}

// responsesHeard is what the model was told: the results of tools, and what the user said.
func responsesHeard(blocks []terret.Block) []responsesItem {
	var out []responsesItem
	var parts []responsesPart
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockToolResult:
			out = append(out, responsesItem{Type: "function_call_output", CallID: b.ToolID, Output: resultText(b)})
			for _, i := range imagesIn(b.Content) {
				parts = append(parts, responsesAttachment(i))
			}
		case terret.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				parts = append(parts, responsesPart{Type: "input_text", Text: b.Text})
			}
		case terret.BlockImage, terret.BlockDocument:
			parts = append(parts, responsesAttachment(b))
		case terret.BlockThinking, terret.BlockToolUse: // the model's own
		}
	}
	if len(parts) == 0 && len(out) == 0 {
		parts = []responsesPart{{Type: "input_text", Text: nothing}}
	}
	if len(parts) > 0 {
		out = append(out, responsesItem{Type: "message", Role: "user", Content: parts})
	}
	return out
}

func responsesAttachment(b terret.Block) responsesPart {
	if kind, _, _ := strings.Cut(b.MediaType, ";"); kind == "application/pdf" && len(b.Bytes) > 0 {
		return responsesPart{Type: "input_file", FileName: b.Name, FileData: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes)}
	}
	p := chatAttachment(b)
	if p.Image != nil {
		return responsesPart{Type: "input_image", ImageURL: p.Image.URL}
	}
	return responsesPart{Type: "input_text", Text: p.Text}
}
