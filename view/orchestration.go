package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// maxResult is how many characters of a tool's result are passed on.
const maxResult = 4000

// teamMessage is a message between agents of a team.
type teamMessage struct {
	ID         string      `json:"id"`
	Sender     string      `json:"sender"`
	Recipients []string    `json:"recipients"`
	Content    string      `json:"content"`
	Type       string      `json:"message_type"` // chat, system
	Timestamp  terret.Time `json:"timestamp"`
	Metadata   object      `json:"metadata"`
}

// orchestration yields messages to the team. What an agent's own subagents say is not
// for the team.
type orchestration struct {
	known
	sender string
	turn   string
	calls  calls
	uses   map[string]terret.ToolPre // calls whose message has not come yet
	spoken int                       // messages, for events without a number
}

func newOrchestration(o Options) *orchestration {
	return &orchestration{known: knownOf(o.Session), sender: o.Sender, calls: newCalls(), uses: map[string]terret.ToolPre{}}
}

func (o *orchestration) Event(e terret.Event) []Message {
	o.learn(e)
	if e.Turn != "" && e.Turn != o.turn {
		o.turn = e.Turn
		o.calls.nextTurn()
		clear(o.uses)
	}
	if subagent(e) != "" || e.Hidden() {
		return nil
	}
	s := speech{view: o, event: e}
	switch d := e.Data.(type) {
	case terret.MessageComplete:
		s.blocks(d)
	case terret.ToolPre:
		if !o.calls.begun[d.ToolID] {
			o.uses[d.ToolID] = d
		}
	case terret.ToolPost:
		s.result(d.ToolID, d.Name, plain(d.Content))
	case terret.ToolFailure:
		s.result(d.ToolID, d.Name, failed(d))
	case terret.TurnComplete:
		s.say("chat", d.Text, object{"sdk_type": "result", "subtype": "success"})
	case terret.TurnError:
		s.say("system", why(d), object{"sdk_type": "result", "subtype": "error"})
	}
	return s.said
}

// speech is what the agent says with one event.
type speech struct {
	view  *orchestration
	event terret.Event
	said  []Message
}

func (s *speech) say(kind, content string, metadata object) {
	o := s.view
	o.spoken++
	s.said = append(s.said, say("message", teamMessage{
		ID: s.id(), Sender: cmp.Or(o.sender, o.agent, "agent"), Recipients: []string{"all"}, Content: content,
		Type: kind, Timestamp: s.event.Time, Metadata: metadata,
	}))
}

// id is the message's UUID: version 8, derived from the event's number, so that reading
// the log again yields the same.
func (s *speech) id() string {
	name := fmt.Sprintf("%s %d %d", s.view.id, s.event.Seq, len(s.said))
	if s.event.Seq == 0 {
		name = fmt.Sprintf("%s %s %d", s.view.id, s.event.Time, s.view.spoken)
	}
	u := sha256.Sum256([]byte("terret orchestration " + name))
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	x := hex.EncodeToString(u[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// blocks sends a complete message, block by block.
func (s *speech) blocks(d terret.MessageComplete) {
	for _, b := range d.Blocks {
		switch {
		case b.Type == terret.BlockText && d.Role == terret.RoleAssistant && b.Text != "":
			s.say("chat", b.Text, object{"sdk_type": "assistant_text"})
		case b.Type == terret.BlockToolUse && d.Role == terret.RoleAssistant:
			s.use(b.ToolID, b.Name, b.Input)
		case b.Type == terret.BlockToolResult:
			s.result(b.ToolID, "", plain(b.Content))
		}
	}
}

func (s *speech) use(id, name string, input terret.JSON) {
	delete(s.view.uses, id)
	if s.view.calls.begin(id, true) {
		s.say("system", "Using tool: "+name, object{"sdk_type": "tool_use", "tool_name": name, "tool_input": inputOf(input)})
	}
}

// result sends what a tool returned, and before that its use, if no message has
// reported it.
func (s *speech) result(id, name, text string) {
	if !s.view.calls.end(id) {
		return
	}
	if use, ok := s.view.uses[id]; ok {
		s.use(id, use.Name, use.Input)
	} else if name != "" {
		s.use(id, name, nil)
	}
	s.say("system", cut(text), object{"sdk_type": "tool_result"})
}

// cut shortens a very long text, and says so.
func cut(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= maxResult {
		return text
	}
	at, seen := 0, 0
	for at = range text {
		if seen == maxResult {
			break
		}
		seen++
	}
	return fmt.Sprintf("%s\n[cut: %d more characters]", text[:at], n-maxResult)
}
