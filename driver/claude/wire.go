package claude

import (
	"encoding/base64"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

type outgoingResponse struct {
	Type     string `json:"type"`
	Response struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Response  any    `json:"response,omitempty"`
		Error     string `json:"error,omitempty"`
	} `json:"response"`
}

// successLine answers a request of the agent.
func successLine(id string, body any) []byte {
	m := outgoingResponse{Type: "control_response"}
	m.Response.Subtype, m.Response.RequestID, m.Response.Response = "success", id, body
	return seat.Encode(m)
}

// errorLine refuses a request of the agent.
func errorLine(id, why string) []byte {
	m := outgoingResponse{Type: "control_response"}
	m.Response.Subtype, m.Response.RequestID, m.Response.Error = "error", id, why
	return seat.Encode(m)
}

// requestLine is a request to the agent. The body holds the subtype.
func requestLine(id string, body any) []byte {
	return seat.Encode(struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Request   any    `json:"request"`
	}{"control_request", id, body})
}

type outgoingBlock struct {
	Type   string          `json:"type"`
	Text   string          `json:"text,omitempty"`
	Title  string          `json:"title,omitempty"`
	Source *outgoingSource `json:"source,omitempty"`
}

type outgoingSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// promptLine is a message to the agent. Blocks that a prompt cannot hold are omitted.
func promptLine(uuid string, blocks []terret.Block) []byte {
	var content any
	out := []outgoingBlock{}
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			out = append(out, outgoingBlock{Type: "text", Text: b.Text})
		case terret.BlockImage, terret.BlockDocument:
			out = append(out, outgoingBlock{Type: string(b.Type), Title: documentTitle(b), Source: sourceOf(b)})
		default:
		}
	}
	content = out
	if len(out) == 1 && out[0].Type == "text" {
		content = out[0].Text
	}
	type message struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	return seat.Encode(struct {
		Type            string  `json:"type"`
		Message         message `json:"message"`
		ParentToolUseID *string `json:"parent_tool_use_id"`
		SessionID       string  `json:"session_id"`
		UUID            string  `json:"uuid,omitempty"`
	}{Type: "user", Message: message{"user", content}, UUID: uuid})
}

// documentTitle is the name of a file; only documents have one.
func documentTitle(b terret.Block) string {
	if b.Type == terret.BlockDocument {
		return b.Name
	}
	return ""
}

func sourceOf(b terret.Block) *outgoingSource {
	switch {
	case b.URL != "":
		return &outgoingSource{Type: "url", URL: b.URL}
	case b.Type == terret.BlockDocument && b.MediaType == "text/plain":
		return &outgoingSource{Type: "text", MediaType: b.MediaType, Data: string(b.Bytes)}
	}
	return &outgoingSource{Type: "base64", MediaType: b.MediaType, Data: base64.StdEncoding.EncodeToString(b.Bytes)}
}
