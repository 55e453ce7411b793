package codex

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// translator makes events of what one process says. It does no I/O and starts no
// goroutines. It is not safe for concurrent use.
type translator struct {
	thread  string // the agent's own; others are those of its subagents
	cwd     string
	keepRaw bool
	whole   bool // leave out pieces of messages

	// Of the message at hand.
	now    time.Time
	source string
	raw    []byte
	actor  string
	events []terret.Event

	turn     turn
	ended    string              // Codex's id of the turn that ended last: it may say so again
	speakers map[string]*speaker // by actor
	tools    map[string]*toolCall
	tasks    map[string]bool      // commands that go on after their turn
	hooks    map[string]int       // hooks that Codex says it has started, by hookKey
	agents   map[string]*subagent // by thread
	usage    tokenUsage
}

// subagent is a thread that a tool call of the agent has started.
type subagent struct {
	tool string // the call
	text string // that it said last
	done bool
}

// turn is what must be remembered of a turn.
type turn struct {
	running bool
	id      string          // Codex's own, once it is known
	steered map[string]bool // ids of messages that were added
	schema  bool            // the answer is JSON
	// planning says that Codex ends with a plan, which is plan once it is there.
	planning bool
	plan     string
	limit    int // of replies of the model; zero means none

	began    time.Time
	text     string // that was said last
	usage    terret.Usage
	steps    int
	tooled   bool // the model's last reply has called tools
	denials  []terret.Denial
	stopping bool   // we want it to end
	blocked  string // why a hook has ended it
	over     *terret.Error
	failure  *turnFailure
	retries  int
}

func newTranslator() *translator {
	return &translator{
		speakers: map[string]*speaker{}, tools: map[string]*toolCall{}, tasks: map[string]bool{}, hooks: map[string]int{},
		agents: map[string]*subagent{},
	}
}

// begin begins a turn of ours.
func (t *translator) begin(in terret.Settings, now time.Time) {
	t.turn = turn{running: true, began: now, schema: len(in.OutputSchema) > 0, limit: in.MaxTurns, steered: map[string]bool{}}
	t.keepRaw, t.whole = in.KeepRaw, in.WholeMessages
}

// set says where the next events come from.
func (t *translator) set(source string, raw []byte, now time.Time) {
	t.now, t.source, t.raw, t.actor, t.events = now, source, raw, "", nil
}

// take hands out what came of the message.
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

// emit adds an event of whoever speaks.
func (t *translator) emit(data terret.Data) {
	ev := terret.Event{Actor: t.actor, Source: t.source, Data: data}
	if a := t.agents[strings.TrimPrefix(t.actor, terret.SubActor(""))]; a != nil {
		ev.ParentTool = a.tool
	}
	t.events = append(t.events, ev)
}

// hear takes in a notification. What it returns is the caller's.
func (t *translator) hear(method string, params json.RawMessage, raw []byte, now time.Time) []terret.Event {
	t.set(method, raw, now)
	var n note
	if err := json.Unmarshal(params, &n); err != nil {
		t.emit(terret.Unknown{NativeType: method}) // something in it is lost
		if !drifted(err) {
			return t.take()
		}
	}
	if n.ThreadID != "" && t.thread != "" && n.ThreadID != t.thread {
		t.actor = terret.SubActor(n.ThreadID)
		if !t.turn.running { // its turn is over, and it must not begin another
			t.actor = ""
			if !ignored[method] && method != "thread/tokenUsage/updated" { // which is also said of a thread that is being loaded
				t.emit(terret.Unknown{NativeType: method})
			}
			return t.take()
		}
	}
	if !t.talk(method, n) && !t.aside(method, n) && !ignored[method] {
		t.emit(terret.Unknown{NativeType: method})
	}
	return t.take()
}

// drifted reports that a field has another type than it had. All others are read.
func drifted(err error) bool {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok && e.Field != ""
}

// ignored are notifications that say nothing that we need.
var ignored = map[string]bool{
	"thread/started": true, "thread/status/changed": true, "thread/readState/changed": true, "thread/settings/updated": true,
	"thread/name/updated": true, "thread/closed": true, "thread/reverted": true, "thread/compacted": true,
	"thread/environment/connected": true, "thread/environment/disconnected": true, "thread/queue/changed": true,
	"account/updated": true, "account/rateLimits/updated": true, "remoteControl/status/changed": true, "skills/changed": true,
	"mcpServer/startupStatus/updated": true, "serverRequest/resolved": true, "app/list/updated": true,
	"hook/completed": true, "item/plan/delta": true, "item/reasoning/summaryPartAdded": true,
	"item/fileChange/outputDelta": true, "item/fileChange/patchUpdated": true, "item/commandExecution/terminalInteraction": true,
	"turn/diff/updated":         true, // each change is told with its tool
	"turn/moderationMetadata":   true,
	"thread/attachment/updated": true, "thread/project/updated": true,
	"thread/goal/updated": true, "thread/goal/cleared": true,
}

// talk takes in what belongs to a turn.
func (t *translator) talk(method string, n note) bool {
	switch method {
	case "turn/started":
		t.turnStarted(n)
	case "turn/completed":
		t.turnCompleted(n)
	case "item/started":
		return t.itemStarted(n.Item)
	case "item/completed":
		return t.itemCompleted(n.Item)
	case "item/agentMessage/delta":
		t.piece(n.ItemID, terret.BlockText, n.Delta)
	case "item/reasoning/summaryTextDelta", "item/reasoning/textDelta":
		t.piece(n.ItemID, terret.BlockThinking, n.Delta)
	case "item/commandExecution/outputDelta":
		t.progress(n.ItemID, n.Delta)
	case "item/mcpToolCall/progress":
		t.progress(n.ItemID, n.Message)
	case "turn/plan/updated":
		t.planUpdated(n.Plan)
	case "thread/tokenUsage/updated":
		t.usageUpdated(n.TokenUsage)
	default:
		return false
	}
	return true
}

// aside takes in what does not.
func (t *translator) aside(method string, n note) bool {
	switch method {
	case "error":
		t.failed(n)
	case "warning", "guardianWarning":
		t.emit(terret.Notification{Text: n.Message, Level: "warning", Type: method})
	case "configWarning", "deprecationNotice":
		var text string
		seat.Decode(n.Summary, &text)
		t.emit(terret.DiagWarning{Text: brief.Cut(text, diagLimit)})
	case "model/rerouted":
		t.emit(terret.ModelFallback{From: n.FromModel, To: n.ToModel, Why: strings.Trim(string(n.Reason), `"`)})
	case "hook/started":
		t.hooks[hookKey(n.Run.EventName, n.Run.ID)]++
	default:
		return false
	}
	return true
}

func (t *translator) turnStarted(n note) {
	if t.actor != "" {
		return
	}
	if !t.turn.running { // Codex goes on by itself
		t.turn = turn{running: true, began: t.now, steered: map[string]bool{}}
	}
	t.turn.id = cmp.Or(n.Turn.Root, n.Turn.ID) // a review has a turn within its turn
}

// startAgent tells of a subagent, when the call that starts it is over.
func (t *translator) startAgent(c *toolCall, it item) {
	if it.Type != "collabAgentToolCall" || it.Tool != "spawnAgent" {
		return
	}
	for _, thread := range it.Receivers {
		t.agents[thread] = &subagent{tool: c.id}
		t.actor = terret.SubActor(thread)
		t.emit(terret.SubagentStart{ID: thread, Prompt: it.Prompt})
	}
}

// stopAgent tells that a subagent is done, once.
func (t *translator) stopAgent(thread string) {
	if a := t.agents[thread]; a != nil && !a.done {
		a.done = true
		t.actor = terret.SubActor(thread)
		t.emit(terret.SubagentStop{ID: thread, Result: a.text})
	}
}

func (t *translator) planUpdated(plan []planStep) {
	words := map[string]string{"inProgress": "in_progress"}
	out := terret.PlanUpdate{Entries: []terret.PlanEntry{}}
	for _, s := range plan {
		status := s.Status
		if w := words[status]; w != "" {
			status = w
		}
		out.Entries = append(out.Entries, terret.PlanEntry{Text: s.Step, Status: status})
	}
	t.emit(out)
}

// usageUpdated takes in what a reply of the model has used: the reply is over, and so are
// the tools that it called.
func (t *translator) usageUpdated(u tokenUsage) {
	t.complete()
	t.settleTools()
	if t.turn.running {
		t.turn.usage = t.turn.usage.Add(u.Last.usage())
	}
	if t.actor != "" {
		return
	}
	t.usage = u
	t.emit(terret.UsageUpdate{Usage: t.turn.usage, ContextUsed: u.Last.Total, ContextMax: u.Window})
	t.turn.steps++
	if l := t.turn.limit; l > 0 && t.turn.steps >= l && t.turn.tooled && t.turn.over == nil {
		t.turn.over = terret.Errorf(terret.CodeMaxTurns, "the agent took the %d steps that it may take; raise max_turns to let it go on", l)
	}
	t.turn.tooled = false
}

func (u tokens) usage() terret.Usage {
	return terret.Usage{
		Input: max(0, u.Input-u.CacheRead-u.CacheWrite), Output: u.Output,
		CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
	}
}

// failed takes in an error that Codex tells of before, or instead of, the end of the turn.
func (t *translator) failed(n note) {
	if n.Error == nil {
		t.emit(terret.Unknown{NativeType: t.source})
		return
	}
	if !n.WillRetry {
		if t.actor == "" {
			t.turn.failure = n.Error
		}
		return
	}
	t.turn.retries++
	t.emit(terret.Retry{Attempt: t.turn.retries, HTTPStatus: n.Error.status(), Error: brief.Cut(n.Error.said(), diagLimit)})
}

// turnCompleted ends the turn.
func (t *translator) turnCompleted(n note) {
	if t.actor != "" {
		t.complete()
		t.stopAgent(n.ThreadID)
		return
	}
	id := n.Turn.ID
	if !t.turn.running || id != "" && (id == t.ended || t.turn.id != "" && id != t.turn.id) {
		return
	}
	t.ended = id
	failure := n.Turn.Error
	if failure == nil {
		failure = t.turn.failure
	}
	switch {
	case t.turn.over != nil:
		t.endTurn(t.turn.over)
	case n.Turn.Status == "interrupted" && t.turn.blocked != "" && !t.turn.stopping:
		t.endTurn(nil)
	case n.Turn.Status == "interrupted":
		t.endTurn(terret.Errorf(terret.CodeInterrupted, "the turn was interrupted"))
	case n.Turn.Status == "failed":
		t.endTurn(failure.asError())
	case t.turn.planning && t.turn.plan != "":
		t.complete()
		t.turn.id = "" // the turn goes on when somebody has decided
	default:
		t.endTurn(nil)
	}
}

// endTurn tells the end of the turn, once. Without an error it went well.
func (t *translator) endTurn(why *terret.Error) {
	t.leaveTools(why)
	t.actor = ""
	for _, actor := range sortedKeys(t.speakers) {
		t.actor = actor
		t.complete()
	}
	t.actor = ""
	for _, thread := range sortedKeys(t.agents) {
		t.stopAgent(thread)
	}
	t.actor = ""
	clear(t.agents)
	end := t.turn
	t.turn = turn{}
	took := t.now.Sub(end.began).Milliseconds()
	if why != nil {
		t.emit(terret.TurnError{Error: *why, Text: end.text, Usage: end.usage, DurationMS: took, Denials: end.denials})
		return
	}
	out := terret.TurnComplete{
		Text: end.text, StopReason: "end_turn", Usage: end.usage, DurationMS: took, NumSteps: end.steps, Denials: end.denials,
	}
	if end.blocked != "" {
		out.Text, out.StopReason = end.blocked, "blocked"
	}
	if end.schema && json.Valid([]byte(end.text)) {
		out.Structured = terret.JSON(end.text)
	}
	t.emit(out)
}

// abandon tells the end of all that the process leaves behind when it is gone.
func (t *translator) abandon(why *terret.Error, now time.Time) []terret.Event {
	t.set("", nil, now)
	for _, id := range sortedKeys(t.tasks) {
		t.emit(terret.TaskEnd{ID: id, Status: "lost"})
	}
	clear(t.tasks)
	if t.turn.running {
		t.endTurn(why)
	}
	return t.take()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
