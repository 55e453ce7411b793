package claude

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// toolCall is a tool call in progress.
type toolCall struct {
	id, name   string
	actor      string
	parentTool string
	input      terret.JSON
	partial    []byte    // of its input, as streamed
	told       bool      // tool.pre was emitted, or asked
	began      time.Time // when that happened
	asked      bool      // somebody was asked about it
	denied     bool
	refused    bool // permission.denied was emitted
}

// startTool handles the start of a call.
func (t *translator) startTool(actor string, s *speaker, id, name string, index int) {
	c := t.call(id, name, actor, s.parentTool)
	if s.streamed == nil {
		s.streamed = map[int]*toolCall{}
	}
	s.streamed[index] = c
	t.emit(terret.ToolStart{ToolID: id, Name: name, Class: classOf(name), MessageID: s.message, Index: index})
}

// call returns the call with that id, or a new one.
func (t *translator) call(id, name, actor, parentTool string) *toolCall {
	c := t.tools[id]
	if c == nil {
		c = &toolCall{id: id, name: name, actor: actor, parentTool: parentTool, began: t.now}
		t.tools[id] = c
	}
	return c
}

// use handles a complete call and returns its input.
func (t *translator) use(actor string, s *speaker, b contentBlock) terret.JSON {
	if b.ID == "" {
		return whole(b.Input, nil)
	}
	c := t.call(b.ID, b.Name, actor, s.parentTool)
	c.input = whole(b.Input, c.partial)
	if !t.opts.preToolHook {
		t.tell(c)
	}
	return c.input
}

// tell emits the call, once.
func (t *translator) tell(c *toolCall) {
	if c.told {
		return
	}
	c.told, c.began = true, t.now
	t.emitBy(c.actor, c.parentTool, "", t.toolPre(c.id, c.name, c.input))
}

// toolPre is the event for a call before it runs.
func (t *translator) toolPre(id, name string, input terret.JSON) terret.ToolPre {
	f, known := decodeInput(input), t.known(name)
	return terret.ToolPre{
		ToolID: id, Name: name, Class: classOf(known), Input: input,
		Title: f.title(known, t.session.cwd), Paths: f.paths(), Diff: f.diff(known, t.session.cwd, t.opts.read),
	}
}

// toolResults handles the results of calls.
func (t *translator) toolResults(actor string, m *userMessage, results []contentBlock) {
	if !slices.ContainsFunc(results, func(b contentBlock) bool { return !t.cut[b.ToolUseID] }) {
		t.unknown() // they come after the end of their turn, and would open another
		return
	}
	var told []terret.Block
	for _, b := range results {
		told = append(told, b.block())
		structured := m.ToolUseResult
		if len(results) > 1 {
			structured = nil // unclear which result it belongs to
		}
		t.toolResult(actor, m, b, structured)
	}
	t.emit(terret.MessageComplete{MessageID: t.head.UUID, Role: terret.RoleTool, Blocks: told})
}

func (t *translator) toolResult(actor string, m *userMessage, b contentBlock, structured json.RawMessage) {
	id := b.ToolUseID
	if t.finished[id] || t.cut[id] {
		return // a tool has one result; the message holds what there is
	}
	_, parent := t.actor()
	c := t.tools[id]
	if c == nil {
		c = &toolCall{id: id, actor: actor, parentTool: parent, began: t.now, told: true}
	}
	if !c.told {
		t.tell(c)
	}
	delete(t.tools, id)
	t.finished[id] = true
	var extra toolOutcome
	decode(structured, &extra)
	if isString(structured) {
		structured = nil
	}
	t.noteTask(c, extra)
	t.stopAgentOf(c, cmp.Or(extra.Content.blocks.text(), terret.TextOf(b.content())))
	took := t.now.Sub(c.began).Milliseconds()
	if b.IsError {
		t.failTool(c, m, b, structured, extra, took)
	} else {
		t.emitBy(c.actor, c.parentTool, "", terret.ToolPost{
			ToolID: id, Name: c.name, Content: b.content(), Structured: terret.JSON(structured), DurationMS: took,
			Diff: extra.diff(t.session.cwd), MessageID: t.head.UUID,
		})
		t.changed(c, extra)
		t.planned(c, extra)
	}
}

func (t *translator) failTool(c *toolCall, m *userMessage, b contentBlock, structured json.RawMessage, extra toolOutcome, took int64) {
	text := terret.TextOf(b.content())
	denied := c.denied || m.rejected(c.id) || saysDenied(text)
	if denied || t.turn.reasons[c.id] == "" {
		t.turn.reasons[c.id] = text
	}
	if denied && !c.asked && !c.refused {
		t.emitBy(c.actor, c.parentTool, "", terret.PermissionDenied{ToolID: c.id, Tool: c.name, Reason: brief.Cut(text, diagLimit)})
	}
	t.emitBy(c.actor, c.parentTool, "", terret.ToolFailure{
		ToolID: c.id, Name: c.name, Content: b.content(), Structured: terret.JSON(structured), DurationMS: took,
		Diff: extra.diff(t.session.cwd), MessageID: t.head.UUID,
		Error: brief.Cut(text, diagLimit), Denied: denied, Interrupted: !denied && (extra.Interrupted || strings.HasPrefix(text, rejectedText)),
	})
}

// changed reports the file that a tool has changed.
func (t *translator) changed(c *toolCall, extra toolOutcome) {
	if extra.FilePath == "" || classOf(t.known(c.name)) != terret.ClassEdit {
		return
	}
	change := "modified"
	if extra.Type == "create" {
		change = "created"
	}
	t.emitBy(c.actor, c.parentTool, "", terret.FileChanged{Path: extra.FilePath, Change: change, ToolID: c.id})
}

// breakOff ends the calls that the end of the turn left open, except those of subagents
// that continue by themselves. Those that were deferred are yet to run. The agent may have
// asked about the others just before, or may still ask: they must not run any more.
func (t *translator) breakOff(why string, deferred bool) {
	if len(t.cut) > mostCut {
		clear(t.cut)
	}
	for _, c := range sortedCalls(t.tools) {
		if t.inBackground(c.actor) {
			continue
		}
		if len(c.input) == 0 {
			c.input, c.told = whole(nil, c.partial), true // the call was never completed
		}
		t.tell(c)
		delete(t.tools, c.id)
		t.finished[c.id] = true
		if !deferred {
			t.cutOff(c.id)
		}
		t.emitBy(c.actor, c.parentTool, "", terret.ToolFailure{
			ToolID: c.id, Name: c.name, DurationMS: t.now.Sub(c.began).Milliseconds(), Error: why, Interrupted: true,
		})
		t.stopAgentOf(c, "")
	}
}

// mostCut bounds how many calls are remembered that were cut off.
const mostCut = 1000

// cutOff gives up the requests about a call.
func (t *translator) cutOff(call string) {
	t.cut[call] = true
	for id, tool := range t.asked {
		if tool == call {
			t.overdue = append(t.overdue, id)
			delete(t.asked, id)
		}
	}
}

// rejectedText begins the result of a call that ended because the turn did, or because
// somebody denied it and wanted the turn to end.
const rejectedText = "The user doesn't want to proceed with this tool use"

// saysDenied reports whether the agent's own words mean that a tool was not allowed. If
// a person denies it, their words are all there is.
func saysDenied(text string) bool {
	for _, start := range []string{
		"Permission to use ", "Claude requested permissions to ", "Tool permission request failed:",
		"The user doesn't want to take this action right now", "PreToolUse:",
	} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	if strings.HasPrefix(text, "Exit code ") { // output of a command
		return false
	}
	return strings.Contains(text, " was blocked. For security,") || strings.HasSuffix(text, "while in plan mode.")
}

func isString(b json.RawMessage) bool { return len(b) > 0 && b[0] == '"' || string(b) == "null" }

func (t *translator) toolProgress(m *toolProgressMessage) {
	if t.tools[m.ToolUseID] == nil {
		t.unknown() // it would open a turn
		return
	}
	t.emit(terret.ToolProgress{ToolID: m.ToolUseID, ElapsedMS: int64(m.ElapsedSeconds * 1000)})
}
