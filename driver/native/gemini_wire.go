package native

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
)

// What Google's generateContent API takes and sends, as far as we use it.
type (
	geminiRequest struct {
		System   *geminiContent  `json:"systemInstruction,omitempty"`
		Contents []geminiContent `json:"contents"`
		Tools    []geminiTools   `json:"tools,omitempty"`
		Config   *geminiConfig   `json:"generationConfig,omitempty"`
	}
	geminiConfig struct {
		Thinking geminiThink `json:"thinkingConfig"`
	}
	geminiThink struct {
		Include bool   `json:"includeThoughts"`
		Level   string `json:"thinkingLevel,omitempty"`
	}
	geminiTools struct {
		Functions []geminiFunction `json:"functionDeclarations"`
	}
	geminiFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"parametersJsonSchema"`
	}
	geminiContent struct {
		Role  string       `json:"role,omitempty"`
		Parts []geminiPart `json:"parts"`
	}
	geminiPart struct {
		Text      string          `json:"text,omitempty"`
		Thought   bool            `json:"thought,omitempty"`
		Signature string          `json:"thoughtSignature,omitempty"`
		Data      *geminiData     `json:"inlineData,omitempty"`
		Call      *geminiCall     `json:"functionCall,omitempty"`
		Response  *geminiResponse `json:"functionResponse,omitempty"`
	}
	geminiData struct {
		Type string `json:"mimeType"`
		Data string `json:"data"`
	}
	geminiCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	geminiResponse struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	}
	geminiChunk struct {
		Candidates []struct {
			Index   int           `json:"index"`
			Content geminiContent `json:"content"`
			Finish  string        `json:"finishReason"`
		} `json:"candidates"`
		Feedback struct {
			Block string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage *geminiUsage `json:"usageMetadata"`
	}
	geminiUsage struct {
		Prompt     int64 `json:"promptTokenCount"`
		Tools      int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
	}
)

// tokens counts as we do: what was read from the cache is not input, and thoughts are
// output.
func (u geminiUsage) tokens() terret.Usage {
	cached := min(u.Cached, u.Prompt)
	return terret.Usage{Input: u.Prompt - cached + u.Tools, Output: u.Candidates + u.Thoughts, CacheRead: cached, Reasoning: u.Thoughts}
}

// request is what the model is asked, as the API takes it.
func (g *gemini) request(q query) geminiRequest {
	r := geminiRequest{System: &geminiContent{Parts: []geminiPart{{Text: q.system}}}, Contents: []geminiContent{}}
	if !g.plain.Load() && g.card.Thinking != thinkNone {
		r.Config = &geminiConfig{geminiThink{Include: true, Level: q.effort}}
	}
	if len(q.tools) > 0 {
		var functions []geminiFunction
		for _, t := range q.tools {
			functions = append(functions, geminiFunction{t.name, t.description, t.schema})
		}
		r.Tools = []geminiTools{{functions}}
	}
	names := map[string]string{} // of calls
	for _, m := range q.messages {
		for _, c := range callsIn(m.blocks) {
			names[c.ToolID] = c.Name
		}
		role := "user"
		if m.role == terret.RoleAssistant {
			role = "model"
		}
		r.Contents = append(r.Contents, geminiContent{role, g.parts(m.blocks, names)})
	}
	return r
}

// parts are the blocks as the API takes them, at least one.
func (g *gemini) parts(blocks []terret.Block, names map[string]string) []geminiPart {
	var out []geminiPart
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, geminiPart{Text: b.Text})
			}
		case terret.BlockToolUse:
			args := json.RawMessage(b.Input)
			if !isObject(b.Input) {
				args = json.RawMessage("{}")
			}
			model, signature, _ := strings.Cut(string(b.Bytes), "\n")
			if model != g.id() {
				signature = ""
			}
			out = append(out, geminiPart{Call: &geminiCall{b.ToolID, b.Name, args}, Signature: signature})
		case terret.BlockToolResult:
			key := "output"
			if b.IsError {
				key, b.IsError = "error", false
			}
			out = append(out, geminiPart{Response: &geminiResponse{b.ToolID, names[b.ToolID], map[string]string{key: resultText(b)}}})
			for _, i := range imagesIn(b.Content) {
				out = append(out, geminiAttachment(i))
			}
		case terret.BlockImage, terret.BlockDocument:
			out = append(out, geminiAttachment(b))
		case terret.BlockThinking: // not sent back
		}
	}
	if len(out) == 0 {
		out = append(out, geminiPart{Text: nothing})
	}
	return out
}

func geminiAttachment(b terret.Block) geminiPart {
	kind, _, _ := strings.Cut(b.MediaType, ";")
	if len(b.Bytes) > 0 && (strings.HasPrefix(kind, "image/") || kind == "application/pdf") {
		return geminiPart{Data: &geminiData{kind, base64.StdEncoding.EncodeToString(b.Bytes)}}
	}
	if p := chatAttachment(b); p.Image == nil {
		return geminiPart{Text: p.Text}
	}
	return geminiPart{Text: notShown(b).Text}
}
