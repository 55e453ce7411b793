package opencode

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// options is what a translator is told about the session.
type options struct {
	native  string // the agent's own id of it
	cwd     string
	names   names
	keepRaw bool
	// contextOf is how many tokens fit into a model; nil if that is not known.
	contextOf func(provider, model string) int64
}

// translator translates what the server says about one session and its subagents. It
// does no I/O, and is not safe for concurrent use. Saying the same again changes
// nothing, so that what was missed can be read from the stored messages.
type translator struct {
	opts options

	// Of the event at hand.
	now    time.Time
	source string
	raw    []byte
	events []terret.Event

	// horizon is the last message of the turns that are over. Ids sort by time.
	horizon  string
	turn     *turn // nil between turns
	messages map[string]*message
	calls    map[string]*call // by id
	children map[string]*child
}

// message is a message of the running turn.
type message struct {
	info       messageInfo
	actor      string
	parentTool string
	parts      []*piece // in their order
	told       bool     // as a whole
}

// piece is a part of a message.
type piece struct {
	part
	index int
}

// child is a subagent: a session of its own.
type child struct {
	id      string
	tool    string // call that started it; empty while that is not known
	agent   string
	said    string // last
	started bool
	stopped bool
}

func newTranslator(o options) *translator {
	t := &translator{opts: o}
	t.clear()
	return t
}

func (t *translator) clear() {
	t.messages, t.calls, t.children = map[string]*message{}, map[string]*call{}, map[string]*child{}
}

// translate takes in one event. What it returns is the caller's; data is not kept.
func (t *translator) translate(ev event, data []byte, now time.Time) []terret.Event {
	t.start(ev.Type, data, now)
	t.dispatch(ev)
	return t.take()
}

func (t *translator) start(source string, raw []byte, now time.Time) {
	t.now, t.source, t.raw, t.events = now, source, raw, nil
}

// take hands out what came of the event.
func (t *translator) take() []terret.Event {
	out := t.events
	for i := range out {
		if _, unknown := out[i].Data.(terret.Unknown); unknown || t.opts.keepRaw && i == 0 {
			out[i].Raw = slices.Clone(t.raw)
		}
	}
	t.events, t.raw = nil, nil
	return out
}

func (t *translator) emit(actor, parentTool string, d terret.Data) {
	ev := terret.Event{Source: t.source, Data: d, ParentTool: parentTool}
	if actor != "" {
		ev.Actor = terret.SubActor(actor)
	}
	t.events = append(t.events, ev)
}

// noise are events that tell nothing about a session, or nothing that another event
// does not tell as well.
var noise = []string{
	"server.", "plugin.", "catalog.", "integration.", "reference.", "project.", "file.", "lsp.", "mcp.", "pty.", "tui.", "vcs.",
	"installation.", "ide.", "worktree.", "workspace.", "command.executed", "session.updated", "session.deleted", "session.diff",
	"message.removed", "message.part.removed", "models-dev.", "account.",
}

func (t *translator) dispatch(ev event) {
	switch ev.Type {
	case "message.updated":
		read(t, ev, t.messageUpdated)
	case "message.part.updated":
		read(t, ev, func(d partEvent) { t.partUpdated(d.Part) })
	case "message.part.delta":
		read(t, ev, t.delta)
	case "session.created":
		read(t, ev, func(d sessionEvent) { t.created(d.Info) })
	case "session.status":
		read(t, ev, t.status)
	case "session.error":
		read(t, ev, t.failed)
	case "session.compacted":
		read(t, ev, t.compacted)
	case "todo.updated":
		read(t, ev, t.todos)
	case "session.idle", "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected":
		// They are for whoever runs the turn.
	default:
		t.unknown(ev)
	}
}

// read gives the content of an event to take, or keeps the event as unknown.
func read[T any](t *translator, ev event, take func(T)) {
	var d T
	if err := json.Unmarshal(ev.Properties, &d); err != nil {
		t.unknown(ev)
		return
	}
	take(d)
}

// unknown keeps an event that nothing is known of, unless it is about another session.
// actor is who speaks in a session of the agent: nobody in particular in ours, and
// else the subagent. ok says that the session is one of these.
func (t *translator) actor(session string) (c *child, ok bool) {
	if session == t.opts.native {
		return nil, true
	}
	c, ok = t.children[session]
	return c, ok
}

// message returns the message with that id, which is new unless it is known; nil if it
// is not one of the running turn.
func (t *translator) message(session, id string) *message {
	if m := t.messages[id]; m != nil {
		return m
	}
	c, ok := t.actor(session)
	if !ok || t.turn == nil || id == "" || c == nil && id <= t.horizon {
		return nil
	}
	m := &message{info: messageInfo{ID: id, SessionID: session}}
	if c != nil {
		m.actor, m.parentTool = c.id, c.tool
	}
	t.messages[id] = m
	return m
}

func (t *translator) messageUpdated(d messageEvent) {
	m := t.message(d.Info.SessionID, d.Info.ID)
	if m == nil {
		return
	}
	before := m.info
	m.info = d.Info
	if d.Info.Role == "user" {
		if m.actor == "" && !slices.Contains(t.turn.users, m.info.ID) {
			t.turn.users = append(t.turn.users, m.info.ID)
		}
		return
	}
	if m.actor == "" && m.info.ID >= t.turn.lastID {
		t.turn.lastID = m.info.ID
	}
	if before.Role == "" { // its parts came first
		for _, p := range m.parts {
			said := p.Text
			p.Text = ""
			t.show(m, p, part{Type: p.Type, Text: said, State: p.State, Tool: p.Tool, CallID: p.CallID, ID: p.ID})
		}
	}
	t.completeWhole(m)
}

// completeWhole tells a message if nothing of it can be missing. That it is done may be
// said before its last parts are.
func (t *translator) completeWhole(m *message) {
	if !m.info.done() {
		return
	}
	steps, open := 0, len(m.parts) == 0 && m.info.Error == nil
	for _, p := range m.parts {
		switch p.Type {
		case "step-start":
			steps++
		case "step-finish":
			steps--
		case "text", "reasoning":
			open = open || p.Time.End == 0
		}
	}
	if !open && (steps <= 0 || m.info.Error != nil) {
		t.complete(m)
	}
}

// complete tells a message as a whole, once.
func (t *translator) complete(m *message) {
	if m.told || m.info.Role == "user" || m.info.Role == "" {
		return
	}
	m.told = true
	u := t.turn
	u.usage = u.usage.Add(m.info.Tokens.usage())
	u.cost += terret.CostOf(max(m.info.Cost, 0))
	if m.actor == "" {
		u.steps++
		if n := m.info.Tokens.context(); n > 0 {
			u.context = n
		}
	}
	blocks := m.blocks(t)
	text := terret.TextOf(blocks)
	switch c := t.children[m.actor]; {
	case m.info.summary():
		u.summary = text
		blocks = nil
	case c != nil:
		c.said = text
	default:
		u.text = text
	}
	if len(blocks) > 0 {
		t.emit(m.actor, m.parentTool, terret.MessageComplete{
			MessageID: m.info.ID, ParentID: m.info.ParentID, Role: terret.RoleAssistant, Blocks: blocks,
		})
	}
	limit := int64(0)
	if t.opts.contextOf != nil {
		limit = t.opts.contextOf(m.info.ProviderID, m.info.ModelID)
	}
	t.emit("", "", terret.UsageUpdate{Usage: u.usage, CostUSD: u.cost, ContextUsed: u.context, ContextMax: limit})
}

func (m *message) blocks(t *translator) []terret.Block {
	var out []terret.Block
	for _, p := range m.parts {
		switch {
		case p.Type == "text" && p.Text != "" && !p.Ignored:
			out = append(out, terret.Text(p.Text))
		case p.Type == "reasoning" && p.Text != "":
			out = append(out, terret.Block{Type: terret.BlockThinking, Text: p.Text})
		case p.Type == "tool":
			b := terret.Block{Type: terret.BlockToolUse, ToolID: p.CallID, Name: t.opts.names.ours(p.Tool), Input: terret.JSON(p.State.Input)}
			if c := t.calls[p.CallID]; c != nil {
				b.Name = c.name
			}
			out = append(out, b)
		}
	}
	return out
}

// piece returns the part with that id, which is new unless it is known.
func (m *message) piece(p part) *piece {
	for _, old := range m.parts {
		if old.ID == p.ID {
			return old
		}
	}
	fresh := &piece{part: part{ID: p.ID, Type: p.Type}, index: len(m.parts)}
	m.parts = append(m.parts, fresh)
	return fresh
}

func (t *translator) partUpdated(p part) {
	m := t.message(p.SessionID, p.MessageID)
	if m == nil {
		return
	}
	old := m.piece(p)
	switch m.info.Role {
	case "user":
		if p.Type == "compaction" && m.actor == "" && !t.turn.compacting {
			t.turn.compacting = true
			t.emit("", "", terret.CompactPre{Trigger: map[bool]string{true: "auto", false: "manual"}[p.Auto]})
		}
	case "":
		said := old.Text
		old.part = p
		old.Text = longer(said, p.Text)
	default:
		t.show(m, old, p)
		t.completeWhole(m)
	}
}

func longer(a, b string) string {
	if len(a) > len(b) {
		return a
	}
	return b
}

// show takes in the new state of a part.
func (t *translator) show(m *message, old *piece, p part) {
	said := old.Text
	switch p.Type {
	case "text", "reasoning":
		if p.Text == "" && said != "" {
			return // as it is stored while it is being said
		}
		old.part = p
		if rest, ok := strings.CutPrefix(p.Text, said); ok && rest != "" {
			t.say(m, old, rest)
		}
	case "tool":
		old.part = p
		t.toolUpdated(m, p, old.index)
	default: // steps, snapshots, patches and the like
		old.part = p
	}
}

func (t *translator) delta(d deltaEvent) {
	m := t.message(d.SessionID, d.MessageID)
	if m == nil || d.Field != "text" {
		return
	}
	p := m.piece(part{ID: d.PartID, Type: "text"})
	p.Text += d.Delta
	if m.info.Role == "assistant" {
		t.say(m, p, d.Delta)
	}
}

// say tells a piece of text.
func (t *translator) say(m *message, p *piece, text string) {
	switch {
	case m.info.summary() || p.Ignored || p.Synthetic:
	case p.Type == "reasoning":
		t.emit(m.actor, m.parentTool, terret.ReasoningDelta{MessageID: m.info.ID, Index: p.index, Text: text})
	default:
		t.emit(m.actor, m.parentTool, terret.MessageDelta{MessageID: m.info.ID, Index: p.index, Text: text})
	}
}

// stored takes in messages as they are stored. What is known of them already changes
// nothing.
