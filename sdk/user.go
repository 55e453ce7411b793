package sdk

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
)

// UserMessage is a message to the agent. In JSON its type is user, a text message may be
// a string, and a parentUuid of null means Root.
type UserMessage struct {
	Message []Part `json:"message"`
	// ParentUUID is the message that this one follows; nil means the last one.
	ParentUUID *string `json:"parentUuid,omitempty"`
	// Root says that it follows no message, and begins a thread. The agent still
	// remembers the session.
	Root bool `json:"-"`
	// UUID is the message's own id; empty means a new one.
	UUID string `json:"uuid"`
	// SessionID, if set, must be that of the session.
	SessionID string `json:"sessionId"`
}

// Part is a piece of a message: text, or an image with its bytes.
type Part struct {
	Type     string `json:"type"` // text, image
	Text     string `json:"text,omitempty"`
	MIMEType string `json:"mimeType,omitempty"` // of an image, such as image/png
	Data     []byte `json:"data,omitempty"`     // of an image; base64 in JSON
}

// Text makes a text message.
func Text(s string) []Part { return []Part{{Type: "text", Text: s}} }

// MarshalJSON adds the type.
func (m UserMessage) MarshalJSON() ([]byte, error) {
	type plain UserMessage
	out := struct {
		Type string `json:"type"`
		plain
		Parent json.RawMessage `json:"parentUuid,omitempty"` // hides the other
	}{Type: "user", plain: plain(m)}
	switch {
	case m.Root:
		out.Parent = json.RawMessage("null")
	case m.ParentUUID != nil:
		parent, err := json.Marshal(*m.ParentUUID)
		if err != nil {
			return nil, err
		}
		out.Parent = parent
	}
	return json.Marshal(out)
}

// UnmarshalJSON accepts a message of type user.
func (m *UserMessage) UnmarshalJSON(b []byte) error {
	type plain UserMessage
	var in struct {
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
		Parent  json.RawMessage `json:"parentUuid"` // hides the other
		plain
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if in.Type != "user" {
		return terret.Invalid("type", "a message to the agent must be of type user, not %q", in.Type)
	}
	*m = UserMessage(in.plain)
	if m.Root = string(in.Parent) == "null"; !m.Root && in.Parent != nil {
		if err := json.Unmarshal(in.Parent, &m.ParentUUID); err != nil {
			return err
		}
	}
	if text := bytes.TrimSpace(in.Message); len(text) > 0 && text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		m.Message = Text(s)
		return nil
	}
	return json.Unmarshal(in.Message, &m.Message)
}

func (m UserMessage) blocks() ([]terret.Block, error) {
	var out []terret.Block
	for _, p := range m.Message {
		switch p.Type {
		case "text":
			if p.Text != "" {
				out = append(out, terret.Text(p.Text))
			}
		case "image":
			if len(p.Data) == 0 || !strings.HasPrefix(p.MIMEType, "image/") {
				return nil, terret.Invalid("Message", "an image needs its bytes and their type, such as image/png, not %q", p.MIMEType)
			}
			out = append(out, terret.Block{Type: terret.BlockImage, MediaType: p.MIMEType, Bytes: p.Data})
		default:
			return nil, terret.Invalid("Message", "a part must be text or image, not %q", p.Type)
		}
	}
	if len(out) == 0 {
		return nil, terret.Invalid("Message", "it is empty")
	}
	return out, nil
}
