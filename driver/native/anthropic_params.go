package native

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/terret-dev/terret"
)

func (c *claude) params(q query) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model: anthropic.Model(c.name), MaxTokens: maxOutputTokens,
		System: []anthropic.TextBlockParam{{Text: q.system, CacheControl: anthropic.NewCacheControlEphemeralParam()}},
	}
	for _, t := range q.tools {
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: toolParam(t)})
	}
	for _, m := range q.messages {
		role := anthropic.MessageParamRoleUser
		if m.role == terret.RoleAssistant {
			role = anthropic.MessageParamRoleAssistant
		}
		p.Messages = append(p.Messages, anthropic.MessageParam{Role: role, Content: blockParams(m.blocks)})
	}
	// What was said so far is read from the cache at the next step.
	if n := len(p.Messages); n > 0 {
		last := p.Messages[n-1].Content
		if cache := last[len(last)-1].GetCacheControl(); cache != nil {
			*cache = anthropic.NewCacheControlEphemeralParam()
		}
	}
	return p
}

func toolParam(t toolSpec) *anthropic.ToolParam {
	var schema map[string]any
	_ = json.Unmarshal(t.schema, &schema) // our own schemas; a test reads them all
	in := anthropic.ToolInputSchemaParam{Properties: schema["properties"], ExtraFields: map[string]any{}}
	for name, v := range schema {
		if name != "properties" && name != "type" {
			in.ExtraFields[name] = v
		}
	}
	return &anthropic.ToolParam{Name: t.name, Description: anthropic.String(t.description), InputSchema: in}
}

// nothing stands where the API does not take an empty text.
const nothing = "(nothing)"

// blockParams are the blocks as the API takes them, at least one.
func blockParams(blocks []terret.Block) []anthropic.ContentBlockParamUnion {
	var out []anthropic.ContentBlockParamUnion
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, anthropic.NewTextBlock(b.Text))
			}
		case terret.BlockToolUse:
			input := json.RawMessage(b.Input)
			if !isObject(b.Input) {
				input = json.RawMessage("{}") // the API takes nothing else back
			}
			out = append(out, anthropic.NewToolUseBlock(b.ToolID, input, b.Name))
		case terret.BlockToolResult:
			text := terret.TextOf(b.Content)
			if strings.TrimSpace(text) == "" {
				text = nothing
			}
			out = append(out, anthropic.NewToolResultBlock(b.ToolID, text, b.IsError))
		case terret.BlockImage:
			out = append(out, imageParam(b))
		case terret.BlockDocument:
			out = append(out, documentParam(b))
		case terret.BlockThinking: // not sent back: it is not signed
		}
	}
	if len(out) == 0 {
		out = append(out, anthropic.NewTextBlock(nothing))
	}
	return out
}

func imageParam(b terret.Block) anthropic.ContentBlockParamUnion {
	switch b.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "":
	default:
		return notShown(b)
	}
	switch {
	case len(b.Bytes) > 0 && b.MediaType != "":
		return anthropic.NewImageBlockBase64(b.MediaType, base64.StdEncoding.EncodeToString(b.Bytes))
	case b.URL != "":
		return anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: b.URL})
	}
	return notShown(b)
}

func documentParam(b terret.Block) anthropic.ContentBlockParamUnion {
	var out anthropic.ContentBlockParamUnion
	kind, _, _ := strings.Cut(b.MediaType, ";")
	pdf := kind == "application/pdf"
	switch {
	case len(b.Bytes) > 0 && pdf:
		out = anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(b.Bytes)})
	case len(b.Bytes) > 0 && (strings.HasPrefix(kind, "text/") || kind == "application/json"):
		out = anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: strings.ToValidUTF8(string(b.Bytes), "\uFFFD")})
	case b.URL != "" && (pdf || kind == ""):
		out = anthropic.NewDocumentBlock(anthropic.URLPDFSourceParam{URL: b.URL})
	default:
		return notShown(b)
	}
	if b.Name != "" {
		out.OfDocument.Title = anthropic.String(b.Name)
	}
	return out
}

// notShown tells the model of an attachment that it cannot be given.
func notShown(b terret.Block) anthropic.ContentBlockParamUnion {
	return anthropic.NewTextBlock(fmt.Sprintf("[There is an attachment that cannot be shown to you: %s %q of type %q]", b.Type, b.Name, b.MediaType))
}
