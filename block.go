package terret

import "strings"

// BlockType says what a [Block] holds.
type BlockType string

// The types of a block.
const (
	BlockText       BlockType = "text"
	BlockThinking   BlockType = "thinking"
	BlockToolUse    BlockType = "tool_use"
	BlockToolResult BlockType = "tool_result"
	BlockImage      BlockType = "image"
	BlockDocument   BlockType = "document"
)

// Block is a piece of a message. Which fields are set depends on its type:
//
//	text             Text
//	thinking         Text; what the provider wants back with it is in Bytes, and Name is the model
//	tool_use         ToolID, Name, Input; Bytes as for thinking
//	tool_result      ToolID, Content, IsError
//	image, document  MediaType with Bytes or URL; Name where there is a file name
type Block struct {
	Type      BlockType `json:"type"`
	Text      string    `json:"text,omitempty"`
	ToolID    string    `json:"tool_id,omitempty"`
	Name      string    `json:"name,omitempty"`
	Input     JSON      `json:"input,omitempty"`
	Content   []Block   `json:"content,omitempty"`
	IsError   bool      `json:"is_error,omitempty"`
	MediaType string    `json:"media_type,omitempty"`
	Bytes     []byte    `json:"bytes,omitempty"` // base64 in JSON
	URL       string    `json:"url,omitempty"`
}

// Text makes a text block.
func Text(s string) Block { return Block{Type: BlockText, Text: s} }

// TextOf joins the text blocks, ignoring all others.
func TextOf(blocks []Block) string {
	var out strings.Builder
	for _, b := range blocks {
		if b.Type == BlockText {
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

// Role says whose words a message holds.
type Role string

// The roles of a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)
