package sim

import "encoding/json"

// The shapes of answers. Fields are in the API's order.
type (
	geminiReply struct {
		Candidates []geminiCandidate `json:"candidates"`
		Usage      geminiUsage       `json:"usageMetadata"`
		Model      string            `json:"modelVersion"`
		ID         string            `json:"responseId"`
	}
	geminiCandidate struct {
		Content struct {
			Parts []geminiOut `json:"parts"`
			Role  string      `json:"role"`
		} `json:"content"`
		Finish string `json:"finishReason,omitempty"`
		Index  int    `json:"index"`
	}
	geminiOut struct {
		Text      *string     `json:"text,omitempty"`
		Thought   bool        `json:"thought,omitempty"`
		Call      *geminiCall `json:"functionCall,omitempty"`
		Signature string      `json:"thoughtSignature,omitempty"`
	}
	geminiCall struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	geminiUsage struct {
		Prompt     int `json:"promptTokenCount"`
		Candidates int `json:"candidatesTokenCount,omitempty"`
		Total      int `json:"totalTokenCount"`
		Cached     int `json:"cachedContentTokenCount,omitempty"`
	}
)

// geminiFinish is why the model stopped, in the API's words.
func geminiFinish(stop string) string {
	switch stop {
	case stopEnd, stopTools:
		return "STOP"
	case stopLength:
		return "MAX_TOKENS"
	case stopRefusal:
		return "SAFETY"
	default:
		return stop
	}
}

// geminiShell is a reply, or a piece of one, with these parts.
func geminiShell(r Reply, parts ...geminiOut) geminiReply {
	out := geminiReply{Model: r.Model, ID: renamed(r.ID, "msg_", ""), Candidates: make([]geminiCandidate, 1)}
	out.Candidates[0].Content.Role = "model"
	out.Candidates[0].Content.Parts = append([]geminiOut{}, parts...)
	out.Usage = geminiUsage{Prompt: r.Usage.all(), Total: r.Usage.all(), Cached: r.Usage.CacheRead}
	return out
}

// geminiOf is the whole reply.
func geminiOf(r Reply) geminiReply {
	var parts []geminiOut
	for _, b := range r.Blocks {
		parts = append(parts, geminiPartOf(b, b.Text))
	}
	return finished(geminiShell(r, parts...), r)
}

// geminiEnd is the last piece of a stream.
func geminiEnd(r Reply) geminiReply {
	empty := ""
	return finished(geminiShell(r, geminiOut{Text: &empty}), r)
}

func finished(out geminiReply, r Reply) geminiReply {
	out.Candidates[0].Finish = geminiFinish(r.Stop)
	out.Usage.Candidates = r.Usage.Output
	out.Usage.Total = r.Usage.all() + r.Usage.Output
	return out
}

func geminiPartOf(b ReplyBlock, text string) geminiOut {
	switch b.Type {
	case BlockThinking:
		return geminiOut{Text: &text, Thought: true}
	case BlockToolUse:
		return geminiOut{Call: &geminiCall{ID: callID(b), Name: b.Name, Args: b.Input}, Signature: defaultSignature}
	default:
		return geminiOut{Text: &text}
	}
}

// streamEvent writes what an event adds. Calls are not sent in pieces.
func (gemini) streamEvent(out *Output, r Reply, ev Event) error {
	call := ev.Block.Type == BlockToolUse
	switch {
	case ev.Kind == Noise:
		return out.Raw(ev.Text + "\n\n")
	case ev.Kind == BlockPiece && !call, ev.Kind == BlockEnd && call:
		return out.Event("", geminiShell(r, geminiPartOf(ev.Block, ev.Text)))
	default:
		return nil
	}
}
