package claude

import (
	"bytes"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// agentName is Terret's name for Claude Code.
const agentName = "claude"

// diagLimit is how many characters of an unreadable line are kept.
const diagLimit = 500

// options is what a translator needs to know about the process before its first line.
type options struct {
	// source says how the session began: new, resume or fork.
	source string
	// nativeID is the agent's own session id, as known before.
	nativeID string
	// expect, if set, is the id that the agent was told to use.
	expect string
	// reason, if set, is why the session has another id now, and failed what went wrong
	// with the old one.
	reason, failed string
	// keepRaw keeps each line with its first event.
	keepRaw bool
	// replay says that the agent repeats prompts when it starts on them.
	replay bool
	// preToolHook says that a PreToolUse hook is registered over the stream. Then the
	// request at that hook reports a tool call, and not the message that holds it.
	preToolHook bool
	// tools are Claude Code's names for the tools of an agent that was made after it.
	tools map[string]string
	// read, if set, returns the content of a file, for the diffs of edits that have not
	// been made yet.
	read func(path string) (content string, ok bool)
}

// translator translates the output of one process. It does no I/O and starts no
// goroutines. It is not safe for concurrent use.
type translator struct {
	opts options

	// About the current line.
	now    time.Time
	head   header
	line   []byte
	events []terret.Event
	others []control

	session  session
	turn     turn
	speakers map[string]*speaker  // by actor
	tools    map[string]*toolCall // by id, while they run
	finished map[string]bool      // tools that ran in this turn
	cut      map[string]bool      // tools that the end of their turn left without a result
	overdue  []string             // open requests about those, until the caller cancels them
	tasks    map[string]*task     // by id, until they end
	agents   map[string]string    // tool calls by the id of the subagent they started
	starters map[string]string    // the reverse
	asked    map[string]string    // tool calls by the id of the open request about them
	plan     []planItem
	compact  compaction
	spent    spending
}

// session is what the agent last said about the session.
type session struct {
	started     bool
	nativeID    string
	cwd         string
	model, mode string
	commands    []string
}

func newTranslator(o options) *translator {
	if o.source == "" {
		o.source = "new"
	}
	return &translator{
		opts: o, speakers: map[string]*speaker{}, tools: map[string]*toolCall{}, finished: map[string]bool{}, cut: map[string]bool{},
		tasks: map[string]*task{}, agents: map[string]string{}, starters: map[string]string{}, asked: map[string]string{},
		session: session{nativeID: o.nativeID}, turn: newTurn(),
	}
}

// translate handles one line of output. The caller owns the result; the line is not
// retained.
func (t *translator) translate(line []byte, now time.Time) ([]terret.Event, []control) {
	line = bytes.TrimSpace(line)
	t.begin(line, now)
	if len(line) == 0 {
		return nil, nil
	}
	m, ok := parse(line)
	if !ok {
		t.turn.malformed++
		t.emit(terret.DiagParseError{Text: brief.Cut(string(line), diagLimit)})
		return t.take()
	}
	t.head = m.head()
	t.noteSession()
	t.noteSummary(m)
	t.dispatch(m)
	return t.take()
}

func (t *translator) begin(line []byte, now time.Time) {
	t.now, t.line, t.head, t.events, t.others = now, line, header{}, nil, nil
}

// take returns the results of the line.
func (t *translator) take() ([]terret.Event, []control) {
	events, others := t.events, t.others
	for i := range events {
		if _, unknown := events[i].Data.(terret.Unknown); unknown || t.opts.keepRaw && i == 0 {
			events[i].Raw = slices.Clone(t.line)
		}
	}
	t.line, t.events, t.others = nil, nil, nil
	return events, others
}

func (t *translator) dispatch(m message) {
	switch m := m.(type) {
	case *assistantMessage:
		t.assistant(m)
	case *userMessage:
		t.user(m)
	case *streamMessage:
		t.stream(m)
	case *resultMessage:
		t.result(m)
	case *controlRequest:
		t.request(m)
	case *controlResponse:
		t.response(m)
	default:
		if t.head.Type == "system" {
			t.system(m)
		} else {
			t.aside(m)
		}
	}
}

// aside handles lines that are not part of the conversation.
func (t *translator) aside(m message) {
	switch m := m.(type) {
	case *rateLimitMessage:
		t.rateLimit(m)
	case *toolProgressMessage:
		t.toolProgress(m)
	case *authMessage:
		t.authStatus(m)
	case *lifecycleMessage:
		if m.State == "started" {
			t.turn.takeUp(m.CommandUUID)
		}
	case *suggestionMessage:
		t.emitAs(terret.VisibleInternal, terret.Notification{Text: m.Suggestion, Level: "info", Type: t.head.Type})
	case *summaryMessage:
		t.emitAs(terret.VisibleInternal, terret.Notification{Text: m.Summary, Level: "info", Type: t.head.Type})
	default:
		t.other()
	}
}

// other handles lines whose type says everything.
func (t *translator) other() {
	switch {
	case t.head.Type == "control_cancel_request":
		t.withdraw()
	case t.head.Type == "keep_alive" || t.head.Type == "transcript_mirror":
		// The one says nothing, the other what we already know.
	case t.head.Type == "" && t.head.HookEventName != "": // the forwarded input of a command hook
		t.emit(terret.HookEvent{Hook: t.head.HookEventName, Data: terret.JSON(slices.Clone(t.line))})
	default:
		t.unknown()
	}
}

// unknown keeps a line that is not understood.
func (t *translator) unknown() { t.emit(terret.Unknown{NativeType: t.head.name()}) }

// actor returns whose line it is: the actor of its events, and the tool call that
// started it.
func (t *translator) actor() (actor, parentTool string) {
	tool := t.head.ParentToolUseID
	if t.head.Type == "control_request" {
		tool = ""
	}
	return t.actorOf(tool, t.head.AgentID)
}

// actorOf is the actor with that id, or the one that the tool call started.
func (t *translator) actorOf(tool, agent string) (actor, parentTool string) {
	switch {
	case tool == "" && agent == "":
		return "", ""
	case agent == "":
		if agent = t.starters[tool]; agent == "" {
			agent = tool // the task was not announced
		}
	case tool == "":
		tool = t.agents[agent]
	}
	if tool != "" && t.starters[tool] == "" {
		t.starters[tool], t.agents[agent] = agent, tool
	}
	return terret.SubActor(agent), tool
}

// emit adds an event of the current line's speaker.
func (t *translator) emit(data terret.Data) { t.emitAs("", data) }

func (t *translator) emitAs(v terret.Visibility, data terret.Data) {
	actor, parent := t.actor()
	t.emitBy(actor, parent, v, data)
}

// emitBy adds an event.
func (t *translator) emitBy(actor, parent string, v terret.Visibility, data terret.Data) {
	ev := terret.Event{Actor: actor, ParentTool: parent, Visibility: v, Source: t.head.name(), Data: data}
	if ev.Kind().InTurn() {
		t.turn.open = true
		t.turn.root = t.turn.root || actor == ""
	}
	t.events = append(t.events, ev)
}
