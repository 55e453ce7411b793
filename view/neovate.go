package view

import (
	"strconv"

	"github.com/terret-dev/terret"
)

// SDKMessage is a message of the neovate view: a *NormalizedMessage, a
// *SystemMessage or a *ResultMessage. In JSON the field type tells them apart.
type SDKMessage interface{ messageType() string }

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
	// CostUSD is what the turn cost, if the agent reports it.
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
	return encode(struct {
		Type string `json:"type"`
		*plain
	}{m.messageType(), (*plain)(m)}), nil
}

// MarshalJSON adds the type.
func (m *SystemMessage) MarshalJSON() ([]byte, error) {
	type plain SystemMessage
	return encode(struct {
		Type string `json:"type"`
		*plain
	}{m.messageType(), (*plain)(m)}), nil
}

// MarshalJSON adds the type.
func (m *ResultMessage) MarshalJSON() ([]byte, error) {
	type plain ResultMessage
	return encode(struct {
		Type string `json:"type"`
		*plain
	}{m.messageType(), (*plain)(m)}), nil
}

// Neovate is the view of that name: only complete messages, each with the one that it
// follows. Ids of messages are UUIDs here: see [terret.MessageUUID]. The zero value is
// ready for the first event.
type Neovate struct{ session, last string }

// Event implements View.
func (n *Neovate) Event(e terret.Event) []Message {
	m := n.Message(e)
	if m == nil {
		return nil
	}
	return []Message{say(m.messageType(), m)}
}

// Message returns the event as a message, or nil.
func (n *Neovate) Message(e terret.Event) SDKMessage {
	if e.Session != "" {
		n.session = e.Session
	}
	if subagent(e) != "" || e.Hidden() {
		return nil
	}
	switch d := e.Data.(type) {
	case terret.SessionStart:
		return &SystemMessage{Subtype: "init", SessionID: n.session, Model: d.Model, Cwd: d.Cwd, Tools: append([]string{}, d.Tools...)}
	case terret.TurnStart:
		if d.Origin == terret.OriginBackground {
			return nil
		}
		return n.message(e, d.MessageID, d.ParentID, d.Root, terret.RoleUser, d.Prompt)
	case terret.UserPrompt:
		return n.message(e, d.MessageID, d.ParentID, d.Root, terret.RoleUser, d.Blocks)
	case terret.MessageComplete:
		return n.message(e, d.MessageID, d.ParentID, false, d.Role, d.Blocks)
	case terret.TurnComplete:
		return &ResultMessage{Subtype: "success", Content: d.Text, Usage: d.Usage, CostUSD: d.CostUSD}
	case terret.TurnError:
		return &ResultMessage{Subtype: "error", IsError: true, Content: d.Error.Error(), Usage: d.Usage, CostUSD: d.CostUSD, Error: &d.Error}
	}
	return nil
}

// message is a message of the thread. Without its own parent it follows the last one,
// unless it begins a thread. A repeated message is sent once.
func (n *Neovate) message(e terret.Event, id, parent string, root bool, role terret.Role, blocks []terret.Block) SDKMessage {
	if id == "" { // the agent gave it none
		id = "event " + strconv.FormatInt(e.Seq, 10)
	}
	if id == n.last {
		return nil
	}
	m := &NormalizedMessage{Role: role, Content: append([]terret.Block{}, blocks...), Timestamp: e.Time, UUID: terret.MessageUUID(n.session, id)}
	if parent == "" && !root {
		parent = n.last
	}
	if parent != "" {
		uuid := terret.MessageUUID(n.session, parent)
		m.ParentUUID = &uuid
	}
	n.last = id
	return m
}
