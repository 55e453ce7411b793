package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// tool is a call of a tool on its way. It is put together from all that is said of it.
type tool struct {
	id, name string
	title    string
	kind     string
	status   string
	input    json.RawMessage
	output   json.RawMessage
	content  []callContent
	terminal strings.Builder
	exit     *int
	paths    []string
	parent   string

	told   bool // tool.pre was emitted
	done   bool // its end was told
	began  time.Time
	denied bool
	reason string // for which it was denied

	planned string // what it would change, see diff
}

// find returns the call with that id, or nil.
func (t *turn) find(id string) *tool {
	for _, c := range t.tools {
		if c.id == id {
			return c
		}
	}
	return nil
}

// upsert takes in what is said of a call, which may be new.
func (t *turn) upsert(u call) (c *tool, events []terret.Event) {
	c = t.find(u.ID)
	isNew := c == nil
	if isNew {
		c = &tool{id: u.ID, began: time.Now()}
		t.tools = append(t.tools, c)
	}
	c.merge(u)
	if isNew {
		c.name = t.nameOf(u)
		c.kind = cmp.Or(t.profile.quirks.kinds[c.name], c.kind)
		events = []terret.Event{{Data: terret.ToolStart{ToolID: c.id, Name: c.name, Class: t.classOf(c)}}}
	}
	return c, events
}

// merge takes over what is said. What is not said did not change.
func (c *tool) merge(u call) {
	c.title, c.kind, c.status = cmp.Or(u.Title, c.title), cmp.Or(c.kind, u.Kind), cmp.Or(u.Status, c.status)
	c.parent = cmp.Or(u.Meta.ClaudeCode.Parent, c.parent)
	if filled(u.Input) || c.input == nil {
		c.input = u.Input
	}
	if len(u.Output) > 0 {
		c.output = u.Output
	}
	if u.Content != nil { // an empty list takes away what was shown
		c.content = u.Content
	}
	c.terminal.WriteString(u.Meta.Terminal.Data)
	if u.Meta.Exit.Code != nil {
		c.exit = u.Meta.Exit.Code
	}
	for _, l := range u.Locations {
		if l.Path != "" && !slices.Contains(c.paths, l.Path) {
			c.paths = append(c.paths, l.Path)
		}
	}
}

// filled reports whether it is an object with something in it.
func filled(input json.RawMessage) bool {
	var object map[string]json.RawMessage
	return seat.Decode(input, &object) && len(object) > 0
}

// nameOf is the name of a tool, as the agent says it or as it is known to be.
func (t *turn) nameOf(u call) string {
	q := t.profile.quirks
	name := cmp.Or(u.Name, u.Meta.ToolName, u.Meta.ClaudeCode.ToolName)
	if name == "" && q.idName != "" {
		if before, _, ok := strings.Cut(u.ID, q.idName); ok {
			name = before
		}
	}
	if name == "" && q.titleName != "" {
		name, _, _ = strings.Cut(u.Title, q.titleName)
	}
	return cmp.Or(name, q.names[u.Kind], u.Kind, u.Title, "tool")
}

// classOf groups a call by what it does.
func (t *turn) classOf(c *tool) terret.ToolClass {
	if strings.HasPrefix(c.name, "mcp__") || slices.ContainsFunc(t.servers, func(s string) bool {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(c.name, "mcp_"), s)
		return ok && strings.IndexAny(rest, "_:./") == 0
	}) {
		return terret.ClassMCP
	}
	switch c.kind {
	case "read":
		return terret.ClassRead
	case "edit", "delete", "move":
		return terret.ClassEdit
	case "search":
		return terret.ClassSearch
	case "execute":
		return terret.ClassExecute
	case "fetch":
		return terret.ClassFetch
	case "think":
		return terret.ClassThink
	}
	return terret.ClassOther
}

// callInput is the input of a call. Some agents do not tell it: then it is made of what
// they show to people.
func (t *turn) callInput(c *tool) terret.JSON {
	if filled(c.input) {
		return terret.JSON(c.input)
	}
	out := object{}
	switch class := t.classOf(c); {
	case class == terret.ClassExecute:
		out["command"] = c.title
	case len(c.paths) > 0:
		out["file_path"] = c.paths[0]
	case c.title != "":
		out["title"] = c.title
	}
	for _, part := range c.content {
		if part.Type == "diff" {
			out["file_path"], out["old_string"], out["new_string"] = part.Path, part.Old, part.New
			break
		}
	}
	return terret.JSON(seat.Encode(out))
}

// tell tells a call with its input, unless that was done. The model's message ends with
// it.
func (t *turn) tell(c *tool) []terret.Event {
	if c.told {
		return nil
	}
	c.told, c.began = true, time.Now()
	input := t.callInput(c)
	events := t.complete(terret.Block{Type: terret.BlockToolUse, ToolID: c.id, Name: c.name, Input: input})
	paths := c.paths
	for _, part := range c.content {
		if part.Type == "diff" && !slices.Contains(paths, part.Path) {
			paths = append(slices.Clip(paths), part.Path)
		}
	}
	return append(events, terret.Event{Data: terret.ToolPre{
		ToolID: c.id, Name: c.name, Class: t.classOf(c), Input: input, Title: cmp.Or(brief.Line(strings.TrimSpace(c.title)), c.name), Paths: paths, Diff: t.diff(c),
	}})
}

// progress tells what an update means for a call.
func (t *turn) progress(c *tool, u call) []terret.Event {
	if c.done {
		return nil // a call has one end
	}
	switch c.status {
	case "completed":
		// Some agents take what they have stopped for complete.
		if code, ok := c.exitCode(); ok && code != 0 || t.cancelled {
			return append(t.tell(c), t.fail(c, cmp.Or(c.resultText(), "it failed"), false)...)
		}
		events := t.tell(c)
		c.done = true
		return append(events, terret.Event{Data: terret.ToolPost{
			ToolID: c.id, Name: c.name, Content: c.result(), Structured: structured(c.output), DurationMS: time.Since(c.began).Milliseconds(), Diff: t.diff(c),
		}})
	case "failed":
		return append(t.tell(c), t.fail(c, cmp.Or(c.resultText(), "it failed"), false)...)
	case "in_progress":
		return t.tell(c)
	}
	if filled(u.Input) && u.Status == "" { // the input is whole now
		return t.tell(c)
	}
	return nil
}

// fail tells that a call failed. A call that was denied says why.
func (t *turn) fail(c *tool, why string, over bool) []terret.Event {
	events := t.tell(c)
	c.done = true
	if c.denied {
		why = cmp.Or(c.reason, "denied")
	}
	return append(events, terret.Event{Data: terret.ToolFailure{
		ToolID: c.id, Name: c.name, Content: c.result(), Structured: structured(c.output), DurationMS: time.Since(c.began).Milliseconds(), Diff: t.diff(c),
		Error: brief.Cut(why, 500), Denied: c.denied, Interrupted: !c.denied && (over || t.cancelled),
	}})
}

// structured is a result that is more than text.
func structured(output json.RawMessage) terret.JSON {
	if !filled(output) {
		return nil
	}
	return terret.JSON(output)
}

// shownOutput are the fields in which agents put what a tool said.
type shownOutput struct {
	Output   string `json:"output"`
	Text     string `json:"text"`
	Content  any    `json:"content"`
	Stdout   string `json:"stdout"`
	Message  string `json:"message"`
	Error    any    `json:"error"`
	ExitCode *int   `json:"exitCode"`
	Metadata struct {
		Exit *int `json:"exit"`
	} `json:"metadata"`
	Contents []struct {
		ExitCode *int `json:"exitCode"`
	} `json:"contents"`
}

// exitCode is that of a command, where the agent says it.
func (c *tool) exitCode() (int, bool) {
	var o shownOutput
	seat.Decode(c.output, &o)
	for _, code := range []*int{c.exit, o.ExitCode, o.Metadata.Exit} {
		if code != nil {
			return *code, true
		}
	}
	for _, part := range o.Contents {
		if part.ExitCode != nil {
			return *part.ExitCode, true
		}
	}
	return 0, false
}

// resultText is what a tool said.
func (c *tool) resultText() string {
	var text string
	if seat.Decode(c.output, &text) && text != "" {
		return text
	}
	if c.terminal.Len() > 0 {
		return c.terminal.String()
	}
	if shown := terret.TextOf(c.shown()); shown != "" {
		return shown
	}
	var o shownOutput
	seat.Decode(c.output, &o)
	content, _ := o.Content.(string)
	failure, _ := o.Error.(string)
	return cmp.Or(o.Output, content, o.Text, o.Stdout, o.Message, failure)
}

// shown are the blocks that a call shows.
func (c *tool) shown() []terret.Block {
	var out []terret.Block
	for _, part := range c.content {
		if part.Type == "content" {
			if b, ok := part.Content.block(); ok {
				out = append(out, b)
			}
		}
	}
	return out
}

// result is what came of a call.
func (c *tool) result() []terret.Block {
	out := slices.DeleteFunc(c.shown(), func(b terret.Block) bool { return b.Type == terret.BlockText })
	if text := c.resultText(); text != "" {
		out = append([]terret.Block{terret.Text(text)}, out...)
	}
	return out
}

// block is a block of the protocol in our words.
func (b block) block() (terret.Block, bool) {
	switch b.Type {
	case "text":
		return terret.Text(b.Text), true
	case "image":
		data, err := base64.StdEncoding.DecodeString(b.Data)
		return terret.Block{Type: terret.BlockImage, MediaType: b.MimeType, Bytes: data, URL: b.URI}, err == nil
	case "resource_link":
		return terret.Block{Type: terret.BlockDocument, MediaType: b.MimeType, URL: b.URI, Name: b.Name}, true
	case "resource":
		return terret.Text(b.Resource.Text), b.Resource.Text != ""
	}
	return terret.Block{}, false
}
