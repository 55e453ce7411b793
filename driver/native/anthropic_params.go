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
		System:   []wireBlock{{Type: wireText, Text: q.system}},
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
		r.Messages = append(r.Messages, wireMessage{Role: role, Content: wireBlocks(m.blocks, c.id())})
	}
	if !off(c.card.Cache) {
		r.mark()
	}
	c.think(&r, q.effort)
	return r
}

// mark has what was said so far kept in the cache. The API finds what it kept at the
// last step only if it is near a mark, so that there is one there, too.
func (r *wireRequest) mark() {
	r.System[0].CacheControl = cached()
	n := len(r.Messages)
	for _, at := range []int{n - 1, n - 3} {
		if at >= 0 && r.Messages[at].Role == terret.RoleUser {
			last := r.Messages[at].Content
			last[len(last)-1].CacheControl = cached()
		}
	}
}

// budgets are for models that are told how many tokens they may think, by effort.
var budgets = map[string]int{"none": 0, "minimal": 1024, "low": 4000, "": 10_000, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 32_000}

// think asks the model to think aloud, if it can.
func (c *claude) think(r *wireRequest, effort string) {
	if c.plain.Load() || c.card.Thinking == thinkNone {
		return
	}
	if c.card.Thinking != thinkBudget {
		r.Thinking = &wireThink{Type: "adaptive", Display: "summarized"}
		if effort != "" {
			r.Output = &wireOutput{Effort: effort}
		}
		return
	}
	budget, known := budgets[effort]
	if !known {
		budget = budgets[""]
	}
	if budget > 0 && !r.midCall() {
		r.Thinking = &wireThink{Type: "enabled", Budget: budget}
		r.MaxTokens += budget
	}
}

// midCall reports whether the model's last message has calls that it did not think
// about, or so that it cannot be shown: then it may not think about their results.
func (r *wireRequest) midCall() bool {
	n := len(r.Messages)
	if n < 2 || r.Messages[n-2].Role != terret.RoleAssistant || r.Messages[n-1].Content[0].Type != wireToolResult {
		return false
	}
	first := r.Messages[n-2].Content[0].Type
	return first != wireThinking && first != wireRedacted
}

// nothing replaces an empty text, which the API rejects.
const nothing = "(nothing)"

// redacted is the type of a thought that only the API can read.
const redacted = "redacted"

// thinking is what the model thought, as the API takes it back: signed by the same model.
func thinking(b terret.Block, model string) (wireBlock, bool) {
	switch {
	case len(b.Bytes) == 0 || b.Name != model:
		return wireBlock{}, false
	case b.MediaType == redacted:
		return wireBlock{Type: wireRedacted, Data: string(b.Bytes)}, true
	}
	return wireBlock{Type: wireThinking, Thinking: &b.Text, Signature: string(b.Bytes)}, true
}

// wireBlocks are the blocks as the API takes them for that model, at least one.
func wireBlocks(blocks []terret.Block, model string) []wireBlock {
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
			content := []wireBlock{{Type: wireText, Text: text}}
			for _, i := range imagesIn(b.Content) {
				content = append(content, image(i))
			}
			out = append(out, wireBlock{Type: wireToolResult, ToolUseID: b.ToolID, Content: content, IsError: b.IsError})
		case terret.BlockImage:
			out = append(out, image(b))
		case terret.BlockDocument:
			out = append(out, document(b))
		case terret.BlockThinking:
			if t, ok := thinking(b, model); ok {
				out = append(out, t)
			}
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
