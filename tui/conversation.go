package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// itemKind says what an item of the conversation is.
type itemKind uint8

const (
	itemUser itemKind = iota
	itemText
	itemThinking
	itemTool
	itemRequest
	itemNotice
	itemEnd
	itemHelper // a subagent, with the items of its own thread
)

// toolState says how far a tool call is.
type toolState uint8

const (
	toolWriting toolState = iota // the model still writes its input
	toolRunning
	toolDone
	toolFailed
	toolDenied
	toolStopped
)

// item is one thing in the conversation.
type item struct {
	kind   itemKind
	key    string
	turn   string
	time   time.Time
	text   string // words, a notice, what a tool has printed
	stream *strings.Builder
	by     string // of a prompt
	undone bool   // of a prompt: its turn was taken back

	name, diff, fail string
	class            terret.ToolClass
	input            terret.JSON
	state            toolState // of a tool; of a helper toolRunning or toolDone
	spent            time.Duration
	note             string // who decided about a tool, or the detail of a notice
	level            look
	ask              request
	end              turnEnd
	items            []*item // of a helper

	turned  bool // a person has folded or unfolded it
	version int  // counts its changes
	kept    keptRows
}

// turnEnd is how a turn ended.
type turnEnd struct {
	usage  terret.Usage
	cost   terret.Cost
	spent  time.Duration
	failed *terret.Error
}

// request is something that waits for a person, or did.
type request struct {
	id       string
	session  string
	gate     terret.Gate
	data     terret.Data
	since    time.Time
	decision *terret.Decision
}

// conversation is a session as its events tell it. It is folded from them in order, and
// is the same however they are split into batches.
type conversation struct {
	session string
	cwd     string
	seq     int64 // of the last event
	items   []*item
	keys    map[string]*item
	open    []*item         // requests that wait, the oldest first
	told    map[string]bool // tools whose questions and plans say everything

	state    terret.SessionState
	agent    string
	version  string
	model    string
	commands []terret.Command
	plan     []terret.PlanEntry
	usage    terret.UsageUpdate
	before   int64 // tokens before this turn
	files    map[string]string
	turn     string // that runs
	since    time.Time
	act      string
	running  []*item // tools
	changes  int     // counts what may have changed files
}

func newConversation(s terret.Session) *conversation {
	c := &conversation{
		session: s.ID, cwd: s.Cwd, agent: s.Agent, model: s.Model, state: s.State,
		keys: map[string]*item{}, told: map[string]bool{}, files: map[string]string{},
	}
	if s.ForkedFrom != "" { // a fork, or what another session was handed over to: its log begins here
		c.items = append(c.items, &item{
			kind: itemNotice, key: "origin", time: s.CreatedAt.Time, level: dim,
			text: "Goes on from another session. What was said before is shown there, and the agent knows of it.",
		})
	}
	return c
}

// maxOutput is how much of a tool's output is kept: the newest.
const maxOutput = 200_000

// apply folds an event into the conversation. Events that were applied before change nothing.
func (c *conversation) apply(e terret.Event) {
	if e.Seq <= c.seq {
		return
	}
	c.seq = e.Seq
	switch d := e.Data.(type) {
	case terret.MessageDelta:
		c.piece(e, itemText, d.MessageID, d.Index, d.Text)
	case terret.ReasoningDelta:
		c.piece(e, itemThinking, d.MessageID, d.Index, d.Text)
	case terret.MessageComplete:
		c.message(e, d)
	case terret.UserPrompt:
		c.add(e, &item{kind: itemUser, key: d.MessageID, text: promptText(d.Blocks), by: e.By})
	case terret.TurnStart:
		c.turn, c.since, c.act, c.before = e.Turn, e.Time.Time, "starting", tokens(c.usage.Usage)
		if len(d.Prompt) > 0 {
			c.add(e, &item{kind: itemUser, key: d.MessageID, text: promptText(d.Prompt), by: e.By})
		}
	case terret.TurnComplete:
		c.ended(e, turnEnd{usage: d.Usage, cost: d.CostUSD, spent: millis(d.DurationMS)})
	case terret.TurnError:
		c.ended(e, turnEnd{usage: d.Usage, cost: d.CostUSD, spent: millis(d.DurationMS), failed: &d.Error})
	case terret.SubagentStart:
		c.helper(e, d)
	case terret.SubagentStop:
		if it := c.keys[terret.SubActor(d.ID)]; it != nil {
			it.state, it.text = toolDone, d.Result
			it.version++
		}
	default:
		if !c.tool(e) && !c.asks(e) {
			c.about(e)
		}
	}
}

// promptText is what a person said; pictures and documents are named.
func promptText(blocks []terret.Block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			parts = append(parts, b.Text)
		case terret.BlockImage, terret.BlockDocument:
			parts = append(parts, "["+string(b.Type)+" "+b.Name+"]")
		case terret.BlockThinking, terret.BlockToolUse, terret.BlockToolResult:
		}
	}
	return strings.Join(parts, "\n")
}

// add puts an item at the end of the thread of an event's actor, unless it is there.
func (c *conversation) add(e terret.Event, it *item) *item {
	if it.key == "" {
		it.key = fmt.Sprintf("#%d", e.Seq)
	}
	if was := c.keys[it.key]; was != nil {
		return was
	}
	it.turn, it.time = e.Turn, e.Time.Time
	c.keys[it.key] = it
	if parent := c.keys[e.Actor]; parent != nil && parent.kind == itemHelper && parent != it {
		parent.items = append(parent.items, it)
		parent.version++
		return it
	}
	c.items = append(c.items, it)
	return it
}

// touch says that an item has changed, and the helper that it belongs to.
func (c *conversation) touch(e terret.Event, it *item) {
	it.version++
	if parent := c.keys[e.Actor]; parent != nil && parent.kind == itemHelper {
		parent.version++
	}
}

func partKey(actor, message string, index int) string {
	return fmt.Sprintf("%s/%s/%d", actor, message, index)
}

func (c *conversation) piece(e terret.Event, kind itemKind, message string, index int, words string) {
	it := c.add(e, &item{kind: kind, key: partKey(e.Actor, message, index), stream: &strings.Builder{}})
	if it.stream == nil {
		return // it is complete
	}
	it.stream.WriteString(words)
	it.text = it.stream.String()
	c.touch(e, it)
	c.act = "writing"
	if kind == itemThinking {
		c.act = "thinking"
	}
}

func (c *conversation) message(e terret.Event, d terret.MessageComplete) {
	if c.turn != "" && len(c.running) == 0 {
		c.act = "thinking"
	}
	for i, b := range d.Blocks {
		switch {
		case d.Role == terret.RoleTool && b.Type == terret.BlockToolResult:
			c.lateResult(e, b)
		case d.Role != terret.RoleAssistant:
		case b.Type == terret.BlockText, b.Type == terret.BlockThinking:
			kind := itemText
			if b.Type == terret.BlockThinking {
				kind = itemThinking
			}
			words := b.Text
			if e.Hidden() {
				words = ""
			}
			key := partKey(e.Actor, d.MessageID, i)
			it := c.keys[key]
			if it == nil && strings.TrimSpace(words) == "" {
				continue
			}
			if it == nil {
				it = c.add(e, &item{kind: kind, key: key})
				c.putBefore(e, it, d.Blocks[i+1:])
			}
			it.text, it.stream = words, nil
			c.touch(e, it)
		case b.Type == terret.BlockImage, b.Type == terret.BlockDocument:
			c.add(e, &item{kind: itemNotice, key: partKey(e.Actor, d.MessageID, i), text: "[" + string(b.Type) + "] " + b.Name})
		}
	}
}

// putBefore moves words that have come only now before the tools that their message uses: in
// a history without pieces, a message is complete after its tools have begun.
func (c *conversation) putBefore(e terret.Event, it *item, rest []terret.Block) {
	thread := &c.items
	if parent := c.keys[e.Actor]; parent != nil && parent.kind == itemHelper {
		thread = &parent.items
	}
	for _, b := range rest {
		tool := c.keys[b.ToolID]
		if b.Type != terret.BlockToolUse || tool == nil {
			continue
		}
		if at := slices.Index(*thread, tool); at >= 0 {
			last := len(*thread) - 1
			copy((*thread)[at+1:], (*thread)[at:last])
			(*thread)[at] = it
		}
		return
	}
}

func (c *conversation) helper(e terret.Event, d terret.SubagentStart) {
	actor := terret.SubActor(d.ID)
	from := e
	if e.Actor == actor { // its own event; the thread hangs in its parent
		from.Actor = terret.ActorRoot
	}
	c.add(from, &item{kind: itemHelper, key: actor, name: d.Type, note: firstOf(d.Description, d.Prompt), state: toolRunning})
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// ended settles everything that a turn left open.
func (c *conversation) ended(e terret.Event, end turnEnd) {
	settle(c.items)
	c.running, c.turn, c.act = nil, "", ""
	c.changes++
	c.items = append(c.items, &item{kind: itemEnd, key: fmt.Sprintf("#%d", e.Seq), turn: e.Turn, time: e.Time.Time, end: end})
}

func settle(items []*item) {
	for _, it := range slices.Backward(items) {
		if it.kind == itemEnd {
			return
		}
		switch {
		case it.kind == itemTool && it.state <= toolRunning:
			it.state = toolStopped
		case it.kind == itemHelper && it.state == toolRunning:
			it.state = toolDone
			settle(it.items)
		case it.stream != nil:
			it.stream = nil
		default:
			continue
		}
		it.version++
	}
}

// doing is what the agent does now, in words; empty if it does nothing.
func (c *conversation) doing() string {
	switch {
	case len(c.open) > 0:
		return "waits for your answer"
	case c.turn == "":
		return ""
	case len(c.running) > 0:
		it := c.running[len(c.running)-1]
		return doing(it.class, it.name, argument(it.input, c.cwd))
	}
	return firstOf(c.act, "working")
}

// unfinished is the number after which messages may not be complete in a history without
// pieces of text, and whether there is one: each thread writes one message at a time.
func unfinished(events []terret.Event) (after int64, found bool) {
	last := map[string]int64{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case terret.TurnStart:
			last[terret.ActorRoot] = e.Seq
		case terret.TurnComplete, terret.TurnError:
			clear(last)
		case terret.SubagentStart:
			last[terret.SubActor(d.ID)] = e.Seq
		case terret.SubagentStop:
			delete(last, terret.SubActor(d.ID))
		case terret.MessageComplete:
			actor := firstOf(e.Actor, terret.ActorRoot)
			if _, ok := last[actor]; ok && d.Role == terret.RoleAssistant {
				last[actor] = e.Seq
			}
		}
	}
	for _, seq := range last {
		if !found || seq < after {
			after, found = seq, true
		}
	}
	return after, found
}

// pretty is JSON for people.
func pretty(input terret.JSON) string {
	out, err := json.MarshalIndent(json.RawMessage(input), "", "  ")
	if err != nil {
		return string(input)
	}
	return string(out)
}
