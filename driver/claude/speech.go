package claude

import (
	"encoding/json"
	"fmt"

	"github.com/terret-dev/terret"
)

// speaker is whoever writes messages: the agent or a subagent.
type speaker struct {
	parentTool string
	// message is the id of the message in progress, empty if there is none.
	message   string
	blocks    []terret.Block
	usage     apiUsage
	aside     bool // not for people
	streaming bool // its pieces are arriving
	streamed  map[int]*toolCall
	// complete counts how often a message with that id was reported in this turn.
	complete map[string]int
	said     string // the text of the last message that has any
}

// speaker returns the speaker of the current line.
func (t *translator) speaker() (actor string, s *speaker) {
	actor, parent := t.actor()
	s = t.speakers[actor]
	if s == nil {
		s = &speaker{parentTool: parent, complete: map[string]int{}}
		t.speakers[actor] = s
	}
	return actor, s
}

// assistant handles a block of a message.
func (t *translator) assistant(m *assistantMessage) {
	for _, uuid := range m.UserMessageUUIDs {
		t.turn.takeUp(uuid)
	}
	actor, s := t.speaker()
	if s.message != m.Message.ID {
		t.completeMessage(actor, s)
		s.message, s.usage, s.streaming = m.Message.ID, m.Message.Usage, false
	}
	if s.message == "" {
		s.message = t.head.UUID
	}
	if m.Error != "" {
		s.aside = true // the end of the turn reports it
		if actor == "" {
			t.turn.failure = m.Error
		}
	}
	for _, b := range m.Message.Content {
		block := b.block()
		if b.Type == "tool_use" {
			block.Input = t.use(actor, s, b)
		}
		s.blocks = append(s.blocks, block)
	}
	if terret.TextOf(s.blocks) == "(no content)" {
		s.aside = true
	}
	if m.Message.StopReason != "" && !s.streaming {
		t.completeMessage(actor, s)
	}
}

// completeMessage reports the speaker's message in progress, if any.
func (t *translator) completeMessage(actor string, s *speaker) {
	if s.message == "" || len(s.blocks) == 0 {
		s.reset()
		return
	}
	id := s.message
	if n := s.complete[id]; n > 0 { // it continued after it seemed complete
		id = fmt.Sprintf("%s#%d", id, n+1)
	}
	s.complete[s.message]++
	visibility := terret.Visibility("")
	if s.aside {
		visibility = terret.VisibleInternal
	}
	t.emitBy(actor, s.parentTool, visibility, terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: s.blocks})
	if text := terret.TextOf(s.blocks); text != "" && !s.aside {
		s.said = text
	}
	u := s.usage
	s.reset()
	if u == (apiUsage{}) {
		return
	}
	t.turn.estimate = t.turn.estimate.Add(u.usage())
	if actor == "" {
		t.spent.context = u.context()
	}
	if t.head.Type != "result" { // a result knows better
		t.emitBy("", "", "", t.usageSoFar())
	}
}

func (s *speaker) reset() {
	s.message, s.blocks, s.usage, s.aside, s.streaming, s.streamed = "", nil, apiUsage{}, false, false, nil
}

// stream handles a piece of a message.
func (t *translator) stream(m *streamMessage) {
	actor, s := t.speaker()
	switch e := &m.Event; e.Type {
	case "message_start":
		t.completeMessage(actor, s)
		s.message, s.usage, s.streaming, s.streamed = e.Message.ID, e.Message.Usage, true, map[int]*toolCall{}
	case "content_block_start":
		switch {
		case e.ContentBlock.Type == "tool_use" && e.ContentBlock.ID != "":
			t.startTool(actor, s, e.ContentBlock.ID, e.ContentBlock.Name, e.Index)
		case e.ContentBlock.Text != "":
			t.emit(terret.MessageDelta{MessageID: s.message, Index: e.Index, Text: e.ContentBlock.Text})
		}
	case "content_block_delta":
		t.delta(s, m)
	case "content_block_stop", "ping":
	case "message_delta":
		s.addUsage(e.Usage)
	case "message_stop":
		if s.streaming {
			t.completeMessage(actor, s)
		}
	default:
		t.emit(terret.Unknown{NativeType: t.head.Type + "/" + e.Type})
	}
}

func (t *translator) delta(s *speaker, m *streamMessage) {
	e := &m.Event
	switch e.Delta.Type {
	case "text_delta":
		t.emit(terret.MessageDelta{MessageID: s.message, Index: e.Index, Text: e.Delta.Text})
	case "thinking_delta":
		t.emit(terret.ReasoningDelta{MessageID: s.message, Index: e.Index, Text: e.Delta.Thinking})
	case "input_json_delta":
		if c := s.streamed[e.Index]; c != nil {
			c.partial = append(c.partial, e.Delta.PartialJSON...)
			t.emit(terret.ToolDelta{ToolID: c.id, MessageID: s.message, Index: e.Index, PartialInput: e.Delta.PartialJSON})
		}
	case "signature_delta", "citations_delta":
	default:
		t.emit(terret.Unknown{NativeType: t.head.Type + "/" + e.Type + "/" + e.Delta.Type})
	}
}

// addUsage takes the counters that are known only at the end of a message. They are
// totals; unchanged ones may be missing.
func (s *speaker) addUsage(u apiUsage) {
	if s.message == "" {
		return
	}
	for _, c := range []struct {
		to   *int64
		from int64
	}{
		{&s.usage.InputTokens, u.InputTokens},
		{&s.usage.OutputTokens, u.OutputTokens},
		{&s.usage.CacheReadInputTokens, u.CacheReadInputTokens},
		{&s.usage.CacheCreationInputTokens, u.CacheCreationInputTokens},
		{&s.usage.OutputTokensDetails.ThinkingTokens, u.OutputTokensDetails.ThinkingTokens},
	} {
		*c.to = max(*c.to, c.from)
	}
}

// user handles tool results, prompts, and text that nobody said.
func (t *translator) user(m *userMessage) {
	actor, s := t.speaker()
	var results, words []contentBlock
	for _, b := range m.Message.Content {
		if b.Type == "tool_result" {
			results = append(results, b)
		} else {
			words = append(words, b)
		}
	}
	// A tool may be done before the message that calls it, among others, is complete.
	if len(words) > 0 || !s.streaming {
		t.completeMessage(actor, s)
	}
	if len(results) > 0 {
		t.toolResults(actor, m, results)
	}
	if len(words) > 0 {
		t.words(actor, m, rawContent(words))
	}
}

// words handles the text of a user message.
func (t *translator) words(actor string, m *userMessage, words rawContent) {
	switch {
	case m.IsReplay && isCommandOutput(words.text()) && !t.busy(): // a message would begin a turn, which nothing ends
		t.emitAs(terret.VisibleInternal, terret.Notification{Text: words.text(), Level: "info", Type: "local_command"})
	case m.IsReplay && isCommandOutput(words.text()):
		t.emitAs(terret.VisibleInternal, terret.MessageComplete{MessageID: t.head.UUID, Role: terret.RoleUser, Blocks: words.blocks()})
	case m.IsReplay:
		if !t.turn.replayed(t.head.UUID) {
			t.emit(terret.UserPrompt{MessageID: t.head.UUID, Blocks: words.blocks()})
		}
	case actor != "": // what a subagent is told to do
		t.emit(terret.MessageComplete{MessageID: t.head.UUID, Role: terret.RoleUser, Blocks: words.blocks()})
	default:
		t.emitAs(terret.VisibleInternal, terret.MessageComplete{MessageID: t.head.UUID, Role: terret.RoleUser, Blocks: words.blocks()})
	}
}

// whole returns the input of a call: the message's, or what was streamed if the message
// has none.
func whole(said json.RawMessage, partial []byte) terret.JSON {
	empty := len(said) == 0 || string(said) == "{}" || string(said) == "null"
	if empty && len(partial) > 0 && json.Valid(partial) {
		return terret.JSON(partial)
	}
	if len(said) == 0 {
		return terret.JSON("{}")
	}
	return terret.JSON(said)
}
