package pi

import (
	"bytes"
	"encoding/json"
)

type object map[string]any

// line is what Pi says. Each type sets what it has.
type line struct {
	Type string `json:"type"`
	// Answers to commands.
	ID      string          `json:"id"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Error   string          `json:"error"` // also of extension_error
	Data    json.RawMessage `json:"data"`
	// Dialogs and notices of extensions.
	Method      string   `json:"method"`
	Title       string   `json:"title"`
	Placeholder string   `json:"placeholder"`
	Prefill     string   `json:"prefill"`
	Options     []string `json:"options"`
	StatusKey   string   `json:"statusKey"`
	StatusText  string   `json:"statusText"`
	NotifyType  string   `json:"notifyType"`
	Extension   string   `json:"extensionPath"`
	// Messages. That of a notice or a question is a text.
	Message json.RawMessage `json:"message"`
	Update  piece           `json:"assistantMessageEvent"`
	// Tools.
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Args       json.RawMessage `json:"args"`
	Partial    toolResult      `json:"partialResult"`
	Result     json.RawMessage `json:"result"` // of a tool, or of a compaction
	IsError    bool            `json:"isError"`
	// Compaction, and trying again.
	Reason       string `json:"reason"`
	WillRetry    bool   `json:"willRetry"`
	Aborted      bool   `json:"aborted"`
	ErrorMessage string `json:"errorMessage"`
	FinalError   string `json:"finalError"`
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts"`
	DelayMS      int64  `json:"delayMs"`
}

// piece is a piece of a message.
type piece struct {
	Type    string   `json:"type"`
	Index   int      `json:"contentIndex"`
	Delta   string   `json:"delta"`
	Partial *message `json:"partial"` // the message so far
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // a text, or blocks
	Timestamp  json.Number     `json:"timestamp"`
	ToolCallID string          `json:"toolCallId"`
	IsError    bool            `json:"isError"`
	Display    bool            `json:"display"` // of an extension's message: people may see it
	Usage      struct {
		Input      int64 `json:"input"`
		Output     int64 `json:"output"`
		CacheRead  int64 `json:"cacheRead"`
		CacheWrite int64 `json:"cacheWrite"`
		Cost       struct {
			Total float64 `json:"total"`
		} `json:"cost"`
	} `json:"usage"`
	StopReason   string `json:"stopReason"`
	ErrorMessage string `json:"errorMessage"`
}

// id is how we call a message: Pi gives it an id only when it is over. The extension
// knows what we mean.
func (m message) id() string {
	if m.ToolCallID != "" {
		return m.Role + m.ToolCallID
	}
	return m.Role + m.Timestamp.String()
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Data      []byte          `json:"data"`
	MimeType  string          `json:"mimeType"`
}

// blocks are the content of a message or of a tool's result.
func blocks(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil && text != "" {
		return []block{{Type: "text", Text: text}}
	}
	var out []block
	_ = json.Unmarshal(content, &out) // what is readable counts
	return out
}

type toolResult struct {
	Content json.RawMessage `json:"content"`
	Details json.RawMessage `json:"details"`
}

type compaction struct {
	Summary      string `json:"summary"`
	TokensBefore int64  `json:"tokensBefore"`
}

type state struct {
	Model struct {
		ID       string `json:"id"`
		Provider string `json:"provider"`
	} `json:"model"`
	SessionID   string `json:"sessionId"`
	IsStreaming bool   `json:"isStreaming"`
}

type stats struct {
	Context struct {
		Tokens int64 `json:"tokens"`
		Window int64 `json:"contextWindow"`
	} `json:"contextUsage"`
}

var (
	updateHead = []byte(`{"type":"message_update","assistantMessageEvent":{"type":"`)
	updateTail = []byte(`,"partial":{"role":`)
)

// parse reads a line. Each piece of a message comes with the whole message so far, twice:
// reading that for each of them would take minutes. So a piece is cut off before it.
func parse(raw []byte) (line, error) {
	var l line
	if bytes.HasPrefix(raw, updateHead) && !bytes.HasPrefix(raw[len(updateHead):], []byte("toolcall_start")) {
		// The text of a piece has its quotes escaped, so the tail is not part of it.
		if short, _, ok := bytes.Cut(raw, updateTail); ok && json.Unmarshal(append(bytes.Clone(short), "}}"...), &l) == nil {
			return l, nil
		}
		l = line{}
	}
	err := json.Unmarshal(raw, &l)
	return l, err
}
