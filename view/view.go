// Package view translates events from Terret's vocabulary into the dialects of other
// harnesses: athena, hive, orchestration, neovate and chirality. It also translates
// decisions from the dialects of athena and hive.
//
// A view is a pure function of the events of one session: it only remembers what it has
// seen so far.
package view

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
)

// View translates the events of one session, in the order of the log. It may begin
// anywhere in the log. It is not safe for concurrent use.
type View interface {
	// Event returns the event in the dialect: nothing, one message, or several in
	// order. A reader can resume only after the last of several, never in the middle of
	// an event.
	Event(e terret.Event) []Message
}

// Message is a message in a dialect.
type Message struct {
	// Name is the kind of message: the name of a server-sent event.
	Name string
	// Data is valid JSON.
	Data json.RawMessage
}

// Options holds what a view cannot learn from the events. The zero value is fine for a
// long-lived agent, read from the beginning.
type Options struct {
	// Session is what is known about the session. Later events override it.
	Session terret.Session
	// Sender is the agent's name in its team; default: the kind of agent.
	Sender string
}

// views are the views in display order.
var views = []struct {
	name string
	make func(Options) View
}{
	{"athena", func(o Options) View { return newAthena(o) }},
	{"hive", func(o Options) View { return newHive(o) }},
	{"orchestration", func(o Options) View { return newOrchestration(o) }},
	{"neovate", func(o Options) View { return &Neovate{session: o.Session.ID} }},
	{"chirality", func(o Options) View { return newChirality(o) }},
}

// Names lists the views.
func Names() []string {
	out := make([]string, 0, len(views))
	for _, v := range views {
		out = append(out, v.name)
	}
	return out
}

// New makes the view with that name for one reader of one session.
func New(name string, o Options) (View, error) {
	for _, v := range views {
		if v.name == name {
			return v.make(o), nil
		}
	}
	return nil, terret.Invalid("view", "there is no view %q; use one of %s", name, strings.Join(Names(), ", "))
}

// known is what the stream has said about the session so far.
type known struct {
	id, agent, native, model, cwd, mode string
	tools                               []string
}

func knownOf(s terret.Session) known {
	return known{
		id: s.ID, agent: s.Agent, native: string(s.NativeID), model: s.Model, cwd: s.Cwd, mode: s.PermissionMode,
		tools: []string{},
	}
}

// learn picks up what an event says about the session.
func (k *known) learn(e terret.Event) {
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	set(&k.id, e.Session)
	switch d := e.Data.(type) {
	case terret.SessionStart:
		set(&k.agent, d.Agent)
		set(&k.native, d.NativeID)
		set(&k.model, d.Model)
		set(&k.cwd, d.Cwd)
		set(&k.mode, d.PermissionMode)
		k.tools = append([]string{}, d.Tools...)
	case terret.SessionNativeID:
		set(&k.native, d.New)
	case terret.SessionUpdated:
		if d.Model != nil {
			set(&k.model, *d.Model)
		}
		if d.PermissionMode != nil {
			set(&k.mode, *d.PermissionMode)
		}
	}
}

// subagent is the id of the subagent that the event belongs to, empty for the agent
// itself.
func subagent(e terret.Event) string {
	if e.Actor == terret.ActorRoot {
		return ""
	}
	return strings.TrimPrefix(e.Actor, terret.SubActor(""))
}

// object is a small JSON object.
type object map[string]any

func say(name string, body any) Message { return Message{Name: name, Data: encode(body)} }

// encode returns valid JSON in valid UTF-8, without HTML escapes, as in the log. Its
// input always encodes, unless an agent's JSON in it is nested absurdly deep: that
// becomes null.
func encode(body any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil || !json.Valid(buf.Bytes()) {
		return json.RawMessage("null")
	}
	return bytes.ToValidUTF8(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), []byte("\uFFFD"))
}

// inputOf is a tool's input where the dialect wants an object.
func inputOf(input terret.JSON) terret.JSON {
	in := bytes.TrimSpace(input)
	switch {
	case len(in) == 0 || string(in) == "null":
		return terret.JSON("{}")
	case in[0] == '{' && json.Valid(in):
		return terret.JSON(in)
	}
	return terret.JSON(encode(object{"input": input}))
}

// plain is a tool's result as text: other blocks are only named.
func plain(blocks []terret.Block) string {
	lines := make([]string, 0, len(blocks))
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText, terret.BlockThinking:
			lines = append(lines, b.Text)
		case terret.BlockToolResult:
			lines = append(lines, plain(b.Content))
		case terret.BlockImage, terret.BlockDocument, terret.BlockToolUse:
			lines = append(lines, "["+string(b.Type)+"]")
		}
	}
	return strings.Join(lines, "\n")
}

// failed is a failed tool's result as text.
func failed(d terret.ToolFailure) string {
	if text := plain(d.Content); text != "" {
		return text
	}
	return d.Error
}

// why says why a turn failed, as fully as possible.
func why(d terret.TurnError) string {
	text := d.Error.Error()
	for _, more := range d.Errors {
		if !strings.Contains(text, more) {
			text += "\n" + more
		}
	}
	return text
}

// calls remembers which tool calls were reported, since the vocabulary reports a call
// more than once and agents differ.
type calls struct {
	begun map[string]bool // whether with its input
	ended map[string]bool
}

func newCalls() calls { return calls{begun: map[string]bool{}, ended: map[string]bool{}} }

// nextTurn forgets the finished calls. Others may continue in the background.
func (c calls) nextTurn() {
	for id := range c.ended {
		delete(c.begun, id)
	}
	clear(c.ended)
}

// begin reports whether the call is new: its first report, or the first with its input.
func (c calls) begin(id string, input bool) bool {
	if had, ok := c.begun[id]; ok && (had || !input) {
		return false
	}
	c.begun[id] = input
	return true
}

// end reports whether the call's result is new.
func (c calls) end(id string) bool {
	if c.ended[id] {
		return false
	}
	c.ended[id] = true
	return true
}
