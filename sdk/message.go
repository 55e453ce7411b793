package sdk

import (
	"encoding/json"

	"github.com/terret-dev/terret"
)

// Message is what Receive yields: a *NormalizedMessage, a *SystemMessage or a
// *ResultMessage. In JSON the field type tells them apart.
type Message interface{ messageType() string }

// NormalizedMessage is a complete message of the conversation.
type NormalizedMessage struct {
	Role       terret.Role    `json:"role"`
	Content    []terret.Block `json:"content"`
	Timestamp  terret.Time    `json:"timestamp"`
	UUID       string         `json:"uuid"`
	ParentUUID *string        `json:"parentUuid"`
}

// Text is the text of the message.
func (m *NormalizedMessage) Text() string { return terret.TextOf(m.Content) }

// SystemMessage comes when the agent is ready.
type SystemMessage struct {
	Subtype   string   `json:"subtype"` // init
	SessionID string   `json:"sessionId"`
	Model     string   `json:"model"`
	Cwd       string   `json:"cwd"`
	Tools     []string `json:"tools"`
}

// ResultMessage is the last message of a turn.
type ResultMessage struct {
	Subtype string       `json:"subtype"` // success, error
	IsError bool         `json:"isError"`
	Content string       `json:"content"`
	Usage   terret.Usage `json:"usage"`
	// CostUSD is what the turn cost, where the agent tells.
	CostUSD terret.Cost `json:"costUsd"`
	// Error says what went wrong.
	Error *terret.Error `json:"error,omitempty"`
}

func (*NormalizedMessage) messageType() string { return "message" }
func (*SystemMessage) messageType() string     { return "system" }
func (*ResultMessage) messageType() string     { return "result" }

// MarshalJSON adds the type.
func (m *NormalizedMessage) MarshalJSON() ([]byte, error) {
	type plain NormalizedMessage
	return json.Marshal(struct {
		Type string `json:"type"`
		*plain
	}{m.messageType(), (*plain)(m)})
}

// MarshalJSON adds the type.
func (m *SystemMessage) MarshalJSON() ([]byte, error) {
	type plain SystemMessage
	return json.Marshal(struct {
		Type string `json:"type"`
		*plain
	}{m.messageType(), (*plain)(m)})
}

// MarshalJSON adds the type.
func (m *ResultMessage) MarshalJSON() ([]byte, error) {
	type plain ResultMessage
	return json.Marshal(struct {
		Type string `json:"type"`
		*plain
	}{m.messageType(), (*plain)(m)})
}

// converter turns events into messages. It remembers the thread.
type converter struct{ last string }

// convert returns the message that an event is, or nil.
func (c *converter) convert(session string, ev terret.Event) Message {
	if ev.Actor != terret.ActorRoot {
		return nil
	}
	switch d := ev.Data.(type) {
	case terret.SessionStart:
		return &SystemMessage{Subtype: "init", SessionID: session, Model: d.Model, Cwd: d.Cwd, Tools: append([]string{}, d.Tools...)}
	case terret.TurnStart:
		if d.Origin == terret.OriginBackground {
			return nil
		}
		return c.message(ev, d.MessageID, d.ParentID, terret.RoleUser, d.Prompt)
	case terret.UserPrompt:
		return c.message(ev, d.MessageID, d.ParentID, terret.RoleUser, d.Blocks)
	case terret.MessageComplete:
		return c.message(ev, d.MessageID, d.ParentID, d.Role, d.Blocks)
	case terret.TurnComplete:
		return &ResultMessage{Subtype: "success", Content: d.Text, Usage: d.Usage, CostUSD: d.CostUSD}
	case terret.TurnError:
		return &ResultMessage{Subtype: "error", IsError: true, Content: d.Error.Message, Usage: d.Usage, CostUSD: d.CostUSD, Error: &d.Error}
	}
	return nil
}

// message is a message of the thread. Without a parent of its own it follows the
// last one.
func (c *converter) message(ev terret.Event, id, parent string, role terret.Role, blocks []terret.Block) Message {
	m := &NormalizedMessage{Role: role, Content: blocks, Timestamp: ev.Time, UUID: id}
	if parent == "" {
		parent = c.last
	}
	if parent != "" {
		m.ParentUUID = &parent
	}
	c.last = id
	return m
}
