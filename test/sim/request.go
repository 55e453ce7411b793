package sim

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Request is what an agent asks the model, independent of the API.
type Request struct {
	Model    string
	System   string
	Messages []Message
	Tools    []Tool // a request without any is a side call, as are some others
	// Schema, if set, is the JSON schema that the answer must follow.
	Schema json.RawMessage
	Stream bool
	// Conversation tells conversations apart if the scenario says "conversations: id".
	// Dialects take it from a header.
	Conversation string
	// Raw is the body as it came; its size stands in for the number of tokens.
	Raw json.RawMessage

	wantUsage bool // at the end of a stream, in the dialect where clients must ask for it
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
	Data  string          // of image: base64, or an address
}

// BlockType is the type of a block. Types that a dialect does not know keep their own
// name.
type BlockType string

// The blocks that steps look at and replies consist of.
const (
	BlockText       BlockType = "text"
	BlockThinking   BlockType = "thinking"
	BlockToolUse    BlockType = "tool_use"
	BlockToolResult BlockType = "tool_result"
	BlockImage      BlockType = "image"
)

// Tool is a tool that the agent offers.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of its input
	Freeform    bool            // its input is text, not JSON
}

// heard is what came after the model's last message.
type heard struct {
	user    []string // texts, without reminders, none empty
	results []string // of tools
}

// heard collects the user's texts and the tool results since the model last spoke.
// Agents add their own messages after the user's, so the last one is not enough.
func (r Request) heard() heard {
	var h heard
	for _, m := range r.Messages[r.spoke():] {
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

// sideTexts begin side calls of agents that still offer their tools, to make use of the
// model's cache: Claude Code and Qwen ask what the user may say next, Qwen what to
// remember.
var sideTexts = []string{"[SUGGESTION MODE:", "Managed memory has TWO directories."}

// aside reports whether the agent asks for itself and not for the user.
func (r Request) aside(h heard) bool {
	return len(r.Tools) == 0 || slices.ContainsFunc(sideTexts, func(text string) bool {
		return strings.HasPrefix(h.last(), text)
	})
}

// madeBy finds, in the id of a call, the reply that made it. Agents may add something
// around ids.
var madeBy = lazyregexp.New(`sim_\d+_\d+`)

// spoke is the index of the message after the beginning of the model's last reply: some
// agents split a reply with several calls into several messages, each followed by its
// result.
func (r Request) spoke() int {
	from, reply := 0, ""
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != "assistant" {
			continue
		}
		by := ""
		for _, b := range m.Blocks {
			if b.Type == BlockToolUse {
				by = madeBy.FindString(b.ID)
			}
		}
		if from == 0 {
			from, reply = i+1, by
		} else if by != "" && by == reply {
			from = i + 1
		} else {
			break
		}
	}
	return from
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

// reminderTags enclose what agents put into the user's messages only for the model:
// Claude Code, OpenCode and Qwen; Codex; Gemini; Copilot; Goose.
var reminderTags = []string{"system-reminder", "environment_context", "session_context", "current_datetime", "turn-context"}

// cutReminder finds the first reminder in a text. An unclosed tag is text.
func cutReminder(s string) (before, reminder, after string, found bool) {
	for rest, from := s, 0; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			return s, "", "", false
		}
		from, rest = from+i+1, rest[i+1:]
		for _, tag := range reminderTags {
			inner, ok := strings.CutPrefix(rest, tag+">")
			if text, after, closed := strings.Cut(inner, "</"+tag+">"); ok && closed {
				return s[:from-1], text, after, true
			}
		}
	}
}

// withoutReminders removes what agents tell only the model.
func withoutReminders(s string) string {
	var out strings.Builder
	for {
		before, _, after, found := cutReminder(s)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		s = after
	}
}

// reminders are what the agent tells only the model, in the whole conversation: in the
// user's messages between tags, or in messages of their own.
func (r Request) reminders() []string {
	var out []string
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if m.Role == "system" && b.Text != "" {
				out = append(out, b.Text)
			}
			if m.Role != "user" {
				continue
			}
			for rest := b.Text; ; {
				_, text, after, found := cutReminder(rest)
				if !found {
					break
				}
				out, rest = append(out, text), after
			}
		}
	}
	return out
}
