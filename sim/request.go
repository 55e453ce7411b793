package sim

import (
	"encoding/json"
	"strings"
)

// Request is what an agent asks of the model, in no API's words.
type Request struct {
	Model    string
	System   string
	Messages []Message
	Tools    []Tool // without any it is a side call
	Stream   bool
	// Conversation tells conversations apart if the scenario says
	// "conversations: id". Dialects take it from a header.
	Conversation string
	// Raw is the body as it came; its size stands in for the number of tokens.
	Raw json.RawMessage
}

// Message is one message of a conversation.
type Message struct {
	Role   string // user, assistant or system
	Blocks []Block
}

// Block is a part of a message.
type Block struct {
	Type  BlockType
	Text  string          // of text, thinking and tool_result
	ID    string          // of tool_use and tool_result: the call's
	Name  string          // of tool_use
	Input json.RawMessage // of tool_use
	Error bool            // of tool_result
}

// BlockType says what a block is. Types that a dialect does not know are kept under
// their own name.
type BlockType string

// The blocks that steps look at and replies are made of.
const (
	BlockText       BlockType = "text"
	BlockThinking   BlockType = "thinking"
	BlockToolUse    BlockType = "tool_use"
	BlockToolResult BlockType = "tool_result"
)

// Tool is a tool that the agent offers.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// heard is what came after the model's last message.
type heard struct {
	user    []string // texts, without reminders, none empty
	results []string // of tools
}

// heard collects the user's texts and the tool results since the model last spoke.
// Agents add messages of their own after the user's, so the last one is not enough.
func (r Request) heard() heard {
	from := 0
	for i, m := range r.Messages {
		if m.Role == "assistant" {
			from = i + 1
		}
	}
	var h heard
	for _, m := range r.Messages[from:] {
		if m.Role != "user" {
			continue
		}
		for _, b := range m.Blocks {
			text := strings.TrimSpace(withoutReminders(b.Text))
			switch {
			case b.Type == BlockToolResult:
				h.results = append(h.results, text)
			case b.Type == BlockText && text != "":
				h.user = append(h.user, text)
			}
		}
	}
	return h
}

// last is the user's text, or else the tool results.
func (h heard) last() string {
	if len(h.user) > 0 {
		return strings.Join(h.user, "\n")
	}
	return strings.Join(h.results, "\n")
}

// first is the text that the conversation began with.
func (r Request) first() string {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		if texts := (Request{Messages: []Message{m}}).heard().user; len(texts) > 0 {
			return strings.Join(texts, "\n")
		}
	}
	return ""
}

const (
	reminderOpen  = "<system-reminder>"
	reminderClose = "</system-reminder>"
)

// withoutReminders cuts out what agents tell the model on the side. A reminder that
// is not closed stays.
func withoutReminders(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, reminderOpen)
		_, after, closed := strings.Cut(rest, reminderClose)
		if !found || !closed {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(before)
		s = after
	}
}

// reminders are what the agent tells the model on the side, in all of the
// conversation.
func (r Request) reminders() []string {
	var out []string
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			for rest := b.Text; m.Role == "user"; {
				_, after, found := strings.Cut(rest, reminderOpen)
				text, next, closed := strings.Cut(after, reminderClose)
				if !found || !closed {
					break
				}
				out, rest = append(out, text), next
			}
		}
	}
	return out
}
