package native

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/terret-dev/terret"
)

// request is what the model is asked, as the API takes it.
func (c *claude) request(q query) wireRequest {
	r := wireRequest{
		Model: c.model, MaxTokens: maxOutputTokens, Stream: true,
		System:   []wireBlock{{Type: wireText, Text: q.system, CacheControl: cached()}},
		Messages: []wireMessage{},
	}
	for _, t := range q.tools {
		r.Tools = append(r.Tools, wireTool{Name: t.name, Description: t.description, InputSchema: t.schema})
	}
	for _, m := range q.messages {
		role := terret.RoleUser
		if m.role == terret.RoleAssistant {
			role = terret.RoleAssistant
		}
		r.Messages = append(r.Messages, wireMessage{Role: role, Content: wireBlocks(m.blocks)})
	}
	// What was said so far is read from the cache at the next step.
	if n := len(r.Messages); n > 0 {
		last := r.Messages[n-1].Content
		last[len(last)-1].CacheControl = cached()
	}
	return r
}

// nothing replaces an empty text, which the API rejects.
const nothing = "(nothing)"

// wireBlocks are the blocks as the API takes them, at least one.
func wireBlocks(blocks []terret.Block) []wireBlock {
	var out []wireBlock
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, wireBlock{Type: wireText, Text: b.Text})
			}
		case terret.BlockToolUse:
			input := json.RawMessage(b.Input)
			if !isObject(b.Input) {
				input = json.RawMessage("{}") // the API accepts nothing else back
			}
			out = append(out, wireBlock{Type: wireToolUse, ID: b.ToolID, Name: b.Name, Input: input})
		case terret.BlockToolResult:
			text := terret.TextOf(b.Content)
			if strings.TrimSpace(text) == "" {
				text = nothing
			}
			out = append(out, wireBlock{Type: wireToolResult, ToolUseID: b.ToolID, Content: []wireBlock{{Type: wireText, Text: text}}, IsError: b.IsError})
		case terret.BlockImage:
			out = append(out, image(b))
		case terret.BlockDocument:
			out = append(out, document(b))
		case terret.BlockThinking: // not sent back: it is not signed
		}
	}
	if len(out) == 0 {
		out = append(out, wireBlock{Type: wireText, Text: nothing})
	}
	return out
}

func image(b terret.Block) wireBlock {
	switch b.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "":
	default:
		return notShown(b)
	}
	switch {
	case len(b.Bytes) > 0 && b.MediaType != "":
		return wireBlock{Type: wireImage, Source: encoded(b.MediaType, b.Bytes)}
	case b.URL != "":
		return wireBlock{Type: wireImage, Source: &wireSource{Type: "url", URL: b.URL}}
	}
	return notShown(b)
}

func encoded(mediaType string, content []byte) *wireSource {
	return &wireSource{Type: "base64", MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(content)}
}

func document(b terret.Block) wireBlock {
	const pdf = "application/pdf"
	out := wireBlock{Type: wireDocument, Title: b.Name}
	kind, _, _ := strings.Cut(b.MediaType, ";")
	switch {
	case len(b.Bytes) > 0 && kind == pdf:
		out.Source = encoded(pdf, b.Bytes)
	case len(b.Bytes) > 0 && (strings.HasPrefix(kind, "text/") || kind == "application/json"):
		out.Source = &wireSource{Type: "text", MediaType: "text/plain", Data: strings.ToValidUTF8(string(b.Bytes), "\uFFFD")}
	case b.URL != "" && (kind == pdf || kind == ""):
		out.Source = &wireSource{Type: "url", URL: b.URL}
	default:
		return notShown(b)
	}
	return out
}

// notShown tells the model of an attachment that it cannot be given.
func notShown(b terret.Block) wireBlock {
	return wireBlock{Type: wireText, Text: fmt.Sprintf("[There is an attachment that cannot be shown to you: %s %q of type %q]", b.Type, b.Name, b.MediaType)}
}
