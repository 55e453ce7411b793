package acp

import "encoding/json"

// protocolVersion is the one version of the protocol that is spoken. Clients that know a
// later one fall back to it.
const protocolVersion = 1

// codeNotFound is the protocol's own code for what is not there.
const codeNotFound = -32002

type object = map[string]any

type initializeParams struct {
	Capabilities struct {
		Elicitation *struct {
			Form *struct{} `json:"form"`
		} `json:"elicitation"`
	} `json:"clientCapabilities"`
}

// sessionParams are those of every method that is about a session; each method has some
// of them.
type sessionParams struct {
	Session  string          `json:"sessionId"`
	Cwd      string          `json:"cwd"`
	Servers  []mcpServer     `json:"mcpServers"`
	Dirs     []string        `json:"additionalDirectories"`
	Prompt   []block         `json:"prompt"`
	Mode     string          `json:"modeId"`
	Model    string          `json:"modelId"`
	Option   string          `json:"configId"`
	Value    json.RawMessage `json:"value"`
	Cursor   string          `json:"cursor"`
	Messages string          `json:"messageId"` // fork: the last one to copy
}

// mcpServer is an MCP server that the editor brings. Those without a type run a command.
type mcpServer struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []pair   `json:"env"`
	URL     string   `json:"url"`
	Headers []pair   `json:"headers"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// block is a piece of content.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     string  `json:"blob,omitempty"`
}

// toolCall is a tool use, or what is new about one.
type toolCall struct {
	Update    string          `json:"sessionUpdate,omitempty"` // not within a request for permission
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Name      string          `json:"name,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Content   []toolContent   `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
	Meta      object          `json:"_meta,omitempty"`
}

// toolContent is a block, or a change of a file.
type toolContent struct {
	Type    string  `json:"type"`
	Content *block  `json:"content,omitempty"`
	Path    string  `json:"path,omitempty"`
	OldText *string `json:"oldText,omitempty"`
	NewText *string `json:"newText,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// choice is one of the answers that an editor offers to a person.
type choice struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// configOption is something that can be chosen in a session.
type configOption struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Category string        `json:"category"`
	Type     string        `json:"type"`
	Current  string        `json:"currentValue"`
	Options  []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}
