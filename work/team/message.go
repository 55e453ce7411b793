package team

import (
	"maps"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// All is the recipient that stands for everybody whom the topology lets the sender reach.
const All = "all"

// MessageType says what a message is.
type MessageType string

// The types of messages.
const (
	Chat    MessageType = "chat"
	System  MessageType = "system"
	Command MessageType = "command"
)

// Validate rejects an unknown type.
func (t MessageType) Validate() error {
	switch t {
	case Chat, System, Command:
		return nil
	}
	return terret.Invalid("message_type", "%q is not a type of message; use chat, system or command", t)
}

// Message is a message between members of a team, or what an agent says while it handles
// one.
type Message struct {
	ID         string         `json:"id"` // a UUID
	Sender     string         `json:"sender"`
	Recipients []string       `json:"recipients"`
	Content    string         `json:"content"`
	Type       MessageType    `json:"message_type"`
	Timestamp  time.Time      `json:"timestamp"` // UTC
	Metadata   map[string]any `json:"metadata"`
}

// NewMessage makes a chat message with a new id, as of now.
func NewMessage(sender, content string, recipients ...string) Message {
	return Message{
		ID: terret.NewID(""), Sender: sender, Recipients: recipients, Content: content,
		Type: Chat, Timestamp: time.Now().UTC(), Metadata: map[string]any{},
	}
}

// ReplyTo returns the message as a reply to another, or to none if the id is empty.
func (m Message) ReplyTo(id string) Message {
	m.Metadata = maps.Clone(m.Metadata)
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	delete(m.Metadata, metaReply)
	if id != "" {
		m.Metadata[metaReply] = id
	}
	return m
}

// Validate reports what a message lacks.
func (m Message) Validate() error {
	switch {
	case !terret.ValidID("", m.ID):
		return terret.Invalid("id", "%q is not a UUID", m.ID)
	case m.Sender == "":
		return terret.Invalid("sender", "say who sends the message")
	case len(m.Recipients) == 0:
		return terret.Invalid("recipients", "the message is for nobody; name a member, all, or #topic")
	case strings.TrimSpace(m.Content) == "":
		return terret.Invalid("content", "the message is empty")
	case m.Timestamp.IsZero():
		return terret.Invalid("timestamp", "it is missing")
	}
	return m.Type.Validate()
}

// text returns the metadata's value as a string, or nothing if it is not one.
func (m Message) text(key string) string {
	s, _ := m.Metadata[key].(string)
	return s
}

// derivedID is an id of a team that is computed from parts.
func derivedID(parts ...string) string {
	return terret.DerivedID("", append([]string{"terret team"}, parts...)...)
}
