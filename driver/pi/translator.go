package pi

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// diagLimit is how many bytes of a text of Pi's an event keeps where it is no message.
const diagLimit = 4 << 10

// translator makes events of what one process says. It does no I/O and starts no
// goroutines. It is not safe for concurrent use.
type translator struct {
	cwd     string
	keepRaw bool
	whole   bool // leave out pieces of messages

	// Of the line at hand.
	now    time.Time
	source string
	raw    []byte
	events []terret.Event

	turn    turn
	moment  int // counts what may be the end of the turn, and what shows that it was not
	calls   map[string]*call
	message string // that is being said
	context stats
}

// turn is what must be remembered of a turn.
type turn struct {
	running  bool
	gates    []terret.Gate
	steered  []steered // messages that were added, and that Pi has not taken up
	prompted bool      // the next message of a person's is the prompt, which is known
	begun    bool      // Pi works on it
	stopping bool      // we want it to end
	settle   bool      // Pi may be done

	retrying   bool // Pi waits to try again
	promised   bool // it has said so after compacting, and may forget it
	compacting bool
	summing    bool // compacting is all that it is about
	again      bool // it was told to go on

	began      time.Time
	text       string // that was said last
	usage      terret.Usage
	cost       terret.Cost
	steps      int
	denials    []terret.Denial
	structured terret.JSON
	stopReason string
	errorText  string // of the last reply
	blocked    string // why there is nothing more to do
}

type steered struct{ id, text string }

// busy reports whether Pi goes on although it has said that it is done.
func (u *turn) busy() bool { return u.retrying || u.compacting }

// wants reports whether somebody wants to decide at the gate.
func (u *turn) wants(g terret.Gate) bool { return slices.Contains(u.gates, g) }

func newTranslator(cwd string) *translator { return &translator{cwd: cwd, calls: map[string]*call{}} }

// begin begins a turn of ours.
func (t *translator) begin(in terret.Settings, now time.Time) {
	t.turn = turn{running: true, prompted: true, began: now, gates: in.Gates}
	t.moment++
	t.keepRaw, t.whole = in.KeepRaw, in.WholeMessages
}

// set says where the next events come from.
func (t *translator) set(source string, raw []byte, now time.Time) {
	t.now, t.source, t.raw, t.events = now, source, raw, nil
}

// take hands out what came of the line.
func (t *translator) take() []terret.Event {
	events := t.events
	for i := range events {
		if _, unknown := events[i].Data.(terret.Unknown); unknown || t.keepRaw && i == 0 {
			events[i].Raw = slices.Clone(t.raw)
		}
	}
	t.events, t.raw = nil, nil
	if t.whole {
		events = slices.DeleteFunc(events, func(ev terret.Event) bool { return ev.Kind().Delta() })
	}
	return events
}

func (t *translator) emit(data terret.Data) {
	t.events = append(t.events, terret.Event{Source: t.source, Data: data})
}

// ignored are lines that say nothing that we need.
var ignored = map[string]bool{
	"turn_start": true, "turn_end": true, "queue_update": true, "thinking_level_changed": true, "session_info_changed": true,
}

// hear takes in a line; take hands out what comes of it.
func (t *translator) hear(l line, raw []byte, now time.Time) {
	t.set(l.Type, raw, now)
	switch l.Type {
	case "agent_start":
		if !t.turn.running { // an extension has begun
			t.turn = turn{running: true, began: now}
		}
		t.turn.begun, t.turn.retrying, t.turn.promised = true, false, false
		t.moment++
	case "agent_end":
		t.maybeOver(t.turn.running)
	case "message_start", "message_update", "message_end":
		t.speech(l)
	case "tool_execution_start":
		t.call(l.ToolCallID, l.ToolName).input = terret.JSON(l.Args)
	case "tool_execution_update":
		t.progress(l)
	case "tool_execution_end":
		t.finish(l)
	case "compaction_start", "compaction_end":
		t.compaction(l)
	case "auto_retry_start":
		t.turn.retrying = true
		t.emit(terret.Retry{
			Attempt: l.Attempt, Max: l.MaxAttempts, DelayMS: l.DelayMS, HTTPStatus: statusOf(l.ErrorMessage), Error: brief.Cut(l.ErrorMessage, diagLimit),
		})
	case "auto_retry_end":
		t.turn.retrying = false
		t.maybeOver(t.turn.running && !l.Success)
	case "extension_ui_request":
		t.notice(l)
	case "extension_error":
		t.emit(terret.Notification{Text: brief.Cut("an extension of Pi failed: "+l.Extension+": "+l.Error, diagLimit), Level: "warning", Type: l.Type})
	default:
		if !ignored[l.Type] {
			t.emit(terret.Unknown{NativeType: l.Type})
		}
	}
}

// maybeOver notes that Pi may be done.
func (t *translator) maybeOver(is bool) {
	if is {
		t.turn.settle = true
		t.moment++
	}
}

// speech takes in a message, or a piece of one.
func (t *translator) speech(l line) {
	if l.Type == "message_update" {
		t.piece(l.Update)
		return
	}
	var m message
	seat.Decode(l.Message, &m)
	switch end := l.Type == "message_end"; {
	case m.Role == "assistant" && end:
		t.reply(m)
	case m.Role == "assistant":
		t.message = m.id()
	case m.Role == "user" && end:
		t.heard(m)
	case m.Role == "toolResult" && end:
		content := blocksOf(m.Content)
		t.emit(terret.MessageComplete{MessageID: m.id(), ParentID: t.message, Role: terret.RoleTool, Blocks: []terret.Block{
			{Type: terret.BlockToolResult, ToolID: m.ToolCallID, Content: content, IsError: m.IsError},
		}})
	case m.Role == "custom" && end && m.Display:
		t.emit(terret.Notification{Text: brief.Cut(terret.TextOf(blocksOf(m.Content)), diagLimit), Level: "info", Type: m.Role})
	case end && m.Role != "user" && m.Role != "toolResult" && m.Role != "custom":
		t.emit(terret.Unknown{NativeType: l.Type})
	}
}

// piece takes in a piece of a message of the model.
func (t *translator) piece(u piece) {
	switch u.Type {
	case "text_delta":
		t.turn.text += u.Delta
		t.emit(terret.MessageDelta{MessageID: t.message, Index: u.Index, Text: u.Delta})
	case "text_start":
		t.turn.text = ""
	case "thinking_delta":
		t.emit(terret.ReasoningDelta{MessageID: t.message, Index: u.Index, Text: u.Delta})
	case "toolcall_start":
		if c := t.startedIn(u); c != nil {
			t.emit(terret.ToolStart{ToolID: c.id, Name: c.name, Class: classOf(c.name), MessageID: t.message, Index: u.Index})
		}
	case "toolcall_delta":
		if id := t.callAt(u.Index); id != "" {
			t.emit(terret.ToolDelta{ToolID: id, MessageID: t.message, Index: u.Index, PartialInput: u.Delta})
		}
	}
}

// startedIn is the call that a message has begun.
func (t *translator) startedIn(u piece) *call {
	if u.Partial == nil {
		return nil
	}
	all := blocks(u.Partial.Content)
	if u.Index < 0 || u.Index >= len(all) || all[u.Index].ID == "" {
		return nil
	}
	c := t.call(all[u.Index].ID, all[u.Index].Name)
	c.message, c.index = t.message, u.Index
	return c
}

// callAt is the call at that place of the message at hand.
func (t *translator) callAt(index int) string {
	for id, c := range t.calls {
		if c.message == t.message && c.index == index {
			return id
		}
	}
	return ""
}

// reply takes in a whole message of the model.
func (t *translator) reply(m message) {
	t.message = m.id()
	u := &t.turn
	if out := blocksOf(m.Content); len(out) > 0 {
		if text := terret.TextOf(out); text != "" {
			u.text = text
		}
		t.emit(terret.MessageComplete{MessageID: t.message, Role: terret.RoleAssistant, Blocks: out})
	}
	u.stopReason, u.errorText = m.StopReason, m.ErrorMessage
	u.usage = u.usage.Add(terret.Usage{Input: m.Usage.Input, Output: m.Usage.Output, CacheRead: m.Usage.CacheRead, CacheWrite: m.Usage.CacheWrite})
	u.cost += terret.CostOf(m.Usage.Cost.Total)
	if m.StopReason != "error" {
		u.steps++
		t.emit(t.spent())
	}
}

// spent is what the turn has used so far.
func (t *translator) spent() terret.UsageUpdate {
	return terret.UsageUpdate{
		Usage: t.turn.usage, CostUSD: t.turn.cost, ContextUsed: t.context.Context.Tokens, ContextMax: t.context.Context.Window,
	}
}

// heard takes in a person's message. The prompt itself is known already.
func (t *translator) heard(m message) {
	if t.turn.prompted {
		t.turn.prompted = false
		return
	}
	out := blocksOf(m.Content)
	id := m.id()
	if i := slices.IndexFunc(t.turn.steered, func(s steered) bool { return s.text == terret.TextOf(out) }); i >= 0 {
		id = t.turn.steered[i].id
		t.turn.steered = slices.Delete(t.turn.steered, i, i+1)
	}
	t.emit(terret.UserPrompt{MessageID: id, Blocks: out})
}

// blocksOf are blocks in our words.
func blocksOf(content json.RawMessage) []terret.Block {
	out := []terret.Block{}
	for _, b := range blocks(content) {
		switch b.Type {
		case "text":
			if b.Text != "" {
				out = append(out, terret.Text(b.Text))
			}
		case "thinking":
			out = append(out, terret.Block{Type: terret.BlockThinking, Text: b.Thinking})
		case "toolCall":
			out = append(out, terret.Block{Type: terret.BlockToolUse, ToolID: b.ID, Name: b.Name, Input: terret.JSON(b.Arguments)})
		case "image":
			out = append(out, terret.Block{Type: terret.BlockImage, MediaType: b.MimeType, Bytes: b.Data})
		}
	}
	return out
}

// compaction takes in that Pi begins to compress its context, or has done so.
func (t *translator) compaction(l line) {
	if l.Type == "compaction_start" {
		t.turn.compacting = true
		trigger := "auto"
		if l.Reason == "manual" {
			trigger = l.Reason
		}
		t.emit(terret.CompactPre{Trigger: trigger})
		return
	}
	t.turn.compacting = false
	t.turn.retrying, t.turn.promised = l.WillRetry, l.WillRetry
	t.maybeOver(t.turn.running && t.turn.begun && l.Reason != "manual")
	var done compaction
	if seat.Decode(l.Result, &done) {
		t.emit(terret.CompactPost{TokensBefore: done.TokensBefore, Summary: done.Summary})
	} else if l.ErrorMessage != "" {
		t.emit(terret.DiagWarning{Text: brief.Cut(l.ErrorMessage, diagLimit)})
	}
}

// endTurn tells the end of the turn, once. Without an error it went well.
func (t *translator) endTurn(why *terret.Error) {
	if !t.turn.running {
		return
	}
	t.leaveCalls()
	end := t.turn
	t.turn, t.message = turn{}, ""
	took := t.now.Sub(end.began).Milliseconds()
	if why != nil {
		t.emit(terret.TurnError{Error: *why, Text: end.text, Usage: end.usage, CostUSD: end.cost, DurationMS: took, Denials: end.denials})
		return
	}
	out := terret.TurnComplete{
		Text: end.text, StopReason: stopReasons[end.stopReason], Usage: end.usage, CostUSD: end.cost, DurationMS: took, NumSteps: end.steps,
		Denials: end.denials, Structured: end.structured,
	}
	if end.blocked != "" {
		out.Text, out.StopReason = end.blocked, "blocked"
	}
	t.emit(out)
}

// stopReasons are Pi's words for why a reply ended.
var stopReasons = map[string]string{"": "end_turn", "stop": "end_turn", "toolUse": "end_turn", "length": "max_tokens"}

// abandon tells the end of all that the process leaves behind when it is gone.
func (t *translator) abandon(why *terret.Error, now time.Time) []terret.Event {
	t.set("", nil, now)
	t.endTurn(why)
	return t.take()
}
