package acp

import (
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// teller turns events of a session into updates. Only the goroutine that follows the
// session, or opens it, uses its fields.
type teller struct {
	s     *session
	texts map[string]*said  // by message, while it is being written
	tools map[string]*shown // by tool use, while it runs
	heard map[string]bool   // messages of people that were told
}

// said is what was told of a message in pieces.
type said struct{ text, thought strings.Builder }

// shown is a tool use that the editor shows.
type shown struct {
	output string // the end of what it has printed
	told   time.Time
}

const (
	maxOutput   = 8 << 10                // bytes of live output that are shown
	outputPause = 250 * time.Millisecond // between two updates of it, by the log's clock
)

func (t *teller) update(u any) { t.s.d.tell(t.s.id, u) }

func (t *teller) chunk(kind, message string, b block) {
	u := object{"sessionUpdate": kind, "content": b}
	if message != "" {
		u["messageId"] = message
	}
	t.update(u)
}

func (t *teller) event(ev terret.Event) {
	if ev.Hidden() {
		return
	}
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		t.person(d.MessageID, d.Prompt)
	case terret.UserPrompt:
		t.person(d.MessageID, d.Blocks)
	case terret.TurnComplete, terret.TurnError:
		clear(t.texts)
		clear(t.tools)
	case terret.MessageDelta, terret.ReasoningDelta, terret.MessageComplete:
		if ev.Actor == "" || ev.Actor == terret.ActorRoot { // what subagents do is shown by their tool uses
			t.message(ev.Data)
		}
	case terret.ToolStart, terret.ToolPre, terret.ToolProgress, terret.ToolPost, terret.ToolFailure:
		t.tool(ev)
	case terret.PlanUpdate:
		entries := make([]object, 0, len(d.Entries))
		for _, e := range d.Entries {
			entries = append(entries, object{"content": e.Text, "priority": "medium", "status": e.Status})
		}
		t.update(object{"sessionUpdate": "plan", "entries": entries})
	case terret.SessionCommands:
		t.commands(d.Commands)
	case terret.SessionUpdated:
		if d.Title != nil {
			t.update(object{"sessionUpdate": "session_info_update", "title": *d.Title})
		}
	case terret.UsageUpdate:
		if d.ContextMax > 0 {
			t.update(object{"sessionUpdate": "usage_update", "used": d.ContextUsed, "size": d.ContextMax, "cost": object{"amount": d.CostUSD, "currency": "USD"}})
		}
	}
}

// person tells what somebody else has said; the editor shows what its own person says.
func (t *teller) person(id string, blocks []terret.Block) {
	if t.s.isOwn(id, blocks) || id != "" && t.heard[id] {
		return
	}
	if t.heard == nil {
		t.heard = map[string]bool{}
	}
	t.heard[id] = true
	for _, b := range blocks {
		if c, ok := contentOf(b); ok {
			t.chunk("user_message_chunk", id, c)
		}
	}
}

// message tells the pieces of a message as they come, and what they did not hold when it
// is complete.
func (t *teller) message(data terret.Data) {
	switch d := data.(type) {
	case terret.MessageDelta:
		t.said(d.MessageID).text.WriteString(d.Text)
		t.chunk("agent_message_chunk", d.MessageID, block{Type: "text", Text: d.Text})
	case terret.ReasoningDelta:
		t.said(d.MessageID).thought.WriteString(d.Text)
		t.chunk("agent_thought_chunk", d.MessageID, block{Type: "text", Text: d.Text})
	case terret.MessageComplete:
		if d.Role == terret.RoleUser {
			t.person(d.MessageID, slices.DeleteFunc(slices.Clone(d.Blocks), func(b terret.Block) bool { return b.Type != terret.BlockText && b.Type != terret.BlockImage }))
		}
		if d.Role != terret.RoleAssistant {
			return
		}
		var text, thought strings.Builder
		for _, b := range d.Blocks {
			switch b.Type { //nolint:exhaustive // the others are told as tool uses
			case terret.BlockText:
				text.WriteString(b.Text)
			case terret.BlockThinking:
				thought.WriteString(b.Text)
			}
		}
		before := t.said(d.MessageID)
		t.rest("agent_thought_chunk", d.MessageID, before.thought.String(), thought.String())
		t.rest("agent_message_chunk", d.MessageID, before.text.String(), text.String())
		delete(t.texts, d.MessageID)
	}
}

func (t *teller) rest(kind, message, told, whole string) {
	if rest, ok := strings.CutPrefix(whole, told); ok && rest != "" {
		t.chunk(kind, message, block{Type: "text", Text: rest})
	}
}

func (t *teller) said(message string) *said {
	if t.texts[message] == nil {
		t.texts[message] = &said{}
	}
	return t.texts[message]
}

func (t *teller) tool(ev terret.Event) {
	c := toolCall{Update: "tool_call_update"}
	if ev.ParentTool != "" {
		c.Meta = object{"terret": object{"parentToolCallId": ev.ParentTool}}
	}
	switch d := ev.Data.(type) {
	case terret.ToolStart:
		c.ID, c.Title, c.Name, c.Kind, c.Status = d.ToolID, d.Name, d.Name, kindOf(d.Class), "pending"
	case terret.ToolPre:
		c = t.s.call(d.ToolID, d.Name, d.Title, d.Class, d.Input, d.Diff)
		c.Update, c.Status = "tool_call_update", "in_progress"
		for _, path := range d.Paths {
			c.Locations = append(c.Locations, location{Path: path})
		}
	case terret.ToolProgress:
		if !t.output(d, ev.Time.Time) {
			return
		}
		c.ID, c.Content = d.ToolID, []toolContent{contentText(t.tools[d.ToolID].output)}
	case terret.ToolPost:
		c.ID, c.Status, c.Content = d.ToolID, "completed", t.result(d.Content, d.Diff, "")
	case terret.ToolFailure:
		c.ID, c.Status, c.Content = d.ToolID, "failed", t.result(d.Content, d.Diff, d.Error)
	}
	if t.tools[c.ID] == nil {
		t.tools[c.ID] = &shown{}
		c.Update = "tool_call"
		if c.Title == "" { // a result of which nobody has seen the beginning
			c.Title = "Tool"
		}
	}
	t.update(c)
}

// output adds to what a tool prints, and reports whether it is time to show it.
func (t *teller) output(d terret.ToolProgress, now time.Time) bool {
	o := t.tools[d.ToolID]
	if o == nil || d.Text == "" {
		return false
	}
	o.output += d.Text
	if len(o.output) > maxOutput {
		o.output = strings.ToValidUTF8(o.output[len(o.output)-maxOutput:], "")
	}
	if now.Sub(o.told) < outputPause {
		return false
	}
	o.told = now
	return true
}

func (t *teller) result(content []terret.Block, diff, failure string) []toolContent {
	out := changes(t.s.cwd, diff)
	for _, b := range content {
		if c, ok := contentOf(b); ok {
			out = append(out, toolContent{Type: "content", Content: &c})
		}
	}
	if failure != "" && len(content) == 0 {
		out = append(out, contentText(failure))
	}
	return out
}

// call is a tool use as editors show it.
func (s *session) call(id, name, title string, class terret.ToolClass, input terret.JSON, diff string) toolCall {
	c := toolCall{ID: id, Title: title, Name: name, Kind: kindOf(class), Content: changes(s.cwd, diff)}
	if c.Title == "" {
		c.Title = name
	}
	if len(input) > 0 {
		c.RawInput = []byte(input)
	}
	return c
}

func (t *teller) commands(list []terret.Command) {
	commands := make([]object, 0, len(list))
	for _, c := range list {
		o := object{"name": c.Name, "description": c.Description}
		if c.Hint != "" {
			o["input"] = object{"hint": c.Hint}
		}
		commands = append(commands, o)
	}
	t.update(object{"sessionUpdate": "available_commands_update", "availableCommands": commands})
}
