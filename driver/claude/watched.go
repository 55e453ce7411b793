package claude

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// Watched is the Driver of sessions that people run themselves, in a terminal of their
// own. It starts nothing: the agent's hooks report what happens there ([Watched.Report]),
// and what the agent asks about can be decided in the terminal and here, if its hooks allow
// for that; whoever is first counts. It is safe for concurrent use.
type Watched struct {
	terminal
	name   string
	mu     sync.Mutex
	agents map[string]*watched // by session
}

// NewWatched makes a Watched for each agent with such hooks, by the agent's name.
func NewWatched() map[string]*Watched {
	out := map[string]*Watched{}
	for agent, about := range terminals {
		out[agent] = &Watched{terminal: about, name: agent + "-terminal", agents: map[string]*watched{}}
	}
	return out
}

// Name implements terret.Driver.
func (d *Watched) Name() string { return d.name }

// Describe implements terret.Describer.
func (d *Watched) Describe() terret.Description {
	can := d.capabilities()
	return terret.Description{Title: d.title + " in a terminal", Can: &can, Watched: true}
}

func (d *Watched) capabilities() terret.Capabilities {
	c := terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{}, Oversight: terret.OversightAsked}
	for _, name := range terret.AllCapabilities() {
		c.Abilities[name] = terret.Ability{Reason: "the session runs in a terminal of its own"}
	}
	can := []terret.Capability{terret.CanSubagents, terret.CanMultiTurn}
	if !d.holds {
		can = append(can, terret.CanPermissions, terret.CanQuestions, terret.CanPlan, terret.CanHooks)
	}
	for _, name := range can {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	return c
}

// Open implements terret.Driver.
func (d *Watched) Open(_ context.Context, r terret.OpenRequest) (terret.Agent, error) {
	t := newTranslator(options{nativeID: string(r.Session.NativeID), tools: d.tools})
	t.session.cwd = r.Session.Cwd
	a := &watched{d: d, id: r.Session.ID, host: r.Host, t: t, asks: map[string]context.CancelFunc{}, texts: map[string]string{}, calls: map[string]string{}, titled: r.Session.Title != ""}
	a.life, a.end = context.WithCancel(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents[r.Session.ID] = a
	return a, nil
}

// Report tells the agent of an open session what a hook got on its standard input, and
// returns what the hook must print; nothing means that Terret has no opinion. At a request
// it waits for the decision, until the context ends or the terminal has decided. The error
// is not_found if no agent is open for the session.
func (d *Watched) Report(ctx context.Context, session string, input []byte) ([]byte, error) {
	d.mu.Lock()
	a := d.agents[session]
	d.mu.Unlock()
	if a == nil {
		return nil, terret.Errorf(terret.CodeNotFound, "no agent is open for the session %s", session)
	}
	return a.report(ctx, input)
}

// watched is the session of a person's own terminal. Its mutex is held while it
// translates and emits, so that the log has the order in which hooks reported.
type watched struct {
	d    *Watched
	id   string
	host terret.Host
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup // goroutines that look for stops

	mu     sync.Mutex
	t      *translator
	turn   context.Context    // ends with the turn
	over   context.CancelFunc // ends it
	record *os.File           // the agent's own, while a turn runs; nil if it is not read
	at     int64              // how far it has been read
	began  time.Time          // when the turn did; zero if none runs
	asks   map[string]context.CancelFunc
	texts  map[string]string // of messages that are being shown, by id
	calls  map[string]string // ids of calls that were judged before they had any, by theirs
	said   string            // the last whole text
	failed string            // what went wrong in the turn, if its end does not tell
	gone   bool              // the session has ended; some agents say so several times
	titled bool
}

// Prompt implements terret.Agent.
func (a *watched) Prompt(context.Context, string, terret.Prompt, terret.Settings) error {
	return errWatched()
}

func errWatched() error {
	return terret.Errorf(terret.CodeUnsupported, "this session runs in a terminal of its own: type there")
}

// Interrupt implements terret.Agent.
func (a *watched) Interrupt(context.Context, string) error { return errWatched() }

// Close implements terret.Agent. The person's terminal does not notice.
func (a *watched) Close(context.Context) error {
	a.end()
	a.work.Wait()
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if a.d.agents[a.id] == a {
		delete(a.d.agents, a.id)
	}
	return nil
}

// Capabilities implements terret.Agent.
func (a *watched) Capabilities() terret.Capabilities { return a.d.capabilities() }

// watchedInput is the input of any hook of an interactive session.
type watchedInput struct {
	hookInput
	Cwd              string          `json:"cwd"`
	TranscriptPath   string          `json:"transcript_path"`
	PermissionMode   string          `json:"permission_mode"`
	Source           string          `json:"source"` // SessionStart
	Model            string          `json:"model"`
	Reason           string          `json:"reason"` // SessionEnd
	PromptID         string          `json:"prompt_id"`
	Prompt           string          `json:"prompt"`
	ToolResponse     json.RawMessage `json:"tool_response"`
	Error            json.RawMessage `json:"error"`
	IsInterrupt      bool            `json:"is_interrupt"`
	MessageID        string          `json:"message_id"`
	Index            int             `json:"index"`
	Final            bool            `json:"final"`
	Delta            string          `json:"delta"`
	DisplayedText    string          `json:"displayed_text"` // Qwen Code: all of it so far
	IsFinal          bool            `json:"is_final"`
	ErrorDetails     string          `json:"error_details"`
	Message          string          `json:"message"`
	NotificationType string          `json:"notification_type"`
	AgentType        string          `json:"agent_type"`
}

// deciders are the sources of decisions that somebody made. Without one the dialog in the
// terminal stays.
var deciders = []terret.DecisionSource{terret.ByRule, terret.ByPolicy, terret.ByUser, terret.ByChannel}

func (a *watched) report(ctx context.Context, line []byte) ([]byte, error) {
	a.mu.Lock()
	t := a.t
	t.begin(line, time.Now())
	var in watchedInput
	if !decode(line, &t.head) || !decode(line, &in) || t.head.HookEventName == "" {
		a.mu.Unlock()
		return nil, terret.Invalid("input", "the hook's input is not a JSON object with a hook_event_name")
	}
	q, answer := a.translate(&in)
	events, _ := t.take()
	var err error
	if len(events) > 0 {
		err = a.host.Emit(ctx, events, nil)
	}
	if q == nil || err != nil {
		a.mu.Unlock()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.life, cancel)()
	q.Key = terret.NewID(terret.PrefixRequest)
	about := cmp.Or(callOf(q), q.Key)
	a.asks[about] = cancel
	a.mu.Unlock()

	d, err := a.host.Ask(ctx, *q)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asks, about)
	if q.Gate == terret.GateStop && (err != nil || d.Behavior != terret.BehaviorBlock) && ctx.Err() == nil {
		t.begin(line, time.Now())
		decode(line, &t.head)
		a.complete(&in)
		events, _ := t.take()
		err = cmp.Or(err, a.host.Emit(context.WithoutCancel(ctx), events, nil))
	}
	if (d.Gate == terret.GatePermission || d.Gate == terret.GatePreTool) && d.Behavior == terret.BehaviorDeny && err == nil {
		a.refused(about, d)
	}
	if err != nil || !slices.Contains(deciders, d.Source) {
		return nil, nil // the terminal has decided, or will
	}
	return answer(d), nil
}

// translate puts what a hook reports into the log, and returns what it asks, if it does.
func (a *watched) translate(in *watchedInput) (q *terret.Ask, answer func(terret.Decision) []byte) {
	t := a.t
	actor, parent := t.actorOf("", in.AgentID)
	a.catchUp()
	a.d.rename(in)
	switch in.HookEventName {
	case "SessionStart":
		a.gone = false
		t.session.cwd = cmp.Or(in.Cwd, t.session.cwd)
		source := map[string]string{"startup": "new"}[in.Source]
		t.emit(terret.SessionStart{
			Source: cmp.Or(source, in.Source, "new"), Agent: a.d.name, NativeID: t.head.SessionID, Model: in.Model, Cwd: t.session.cwd, PermissionMode: in.PermissionMode,
		})
	case "SessionEnd":
		if a.gone {
			break
		}
		a.gone = true
		a.finish(terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted, Message: "the session in the terminal ended"}})
		t.emit(terret.SessionEnd{Reason: "closed", NativeReason: in.Reason})
	case "UserPromptSubmit":
		if in.Prompt == "" { // Qwen Code: the turn goes on after a call
			a.start(in)
			break
		}
		a.stopped()
		a.start(in)
		if title := brief.Line(in.Prompt); !a.titled && title != "" {
			a.titled, title = true, brief.Cut(title, 80)
			t.emit(terret.SessionUpdated{Title: &title})
		}
		t.emit(terret.UserPrompt{MessageID: in.PromptID, Blocks: []terret.Block{terret.Text(in.Prompt)}})
	case "MessageDisplay":
		a.display(in)
	case "PreToolUse":
		a.start(in)
		if a.d.holds {
			if c := a.callLike(in, true); c != nil {
				c.asked, a.calls[in.ToolUseID] = false, c.id
				break
			}
		}
		c := t.call(in.ToolUseID, in.ToolName, actor, parent)
		c.input = whole(in.ToolInput, nil)
		t.tell(c)
	case "PermissionRequest":
		if a.d.holds {
			return a.judge(in, actor, parent)
		}
		return a.ask(in, actor, parent)
	case "PostToolUse", "PostToolUseFailure":
		a.result(in, actor, parent)
	case "Stop":
		if a.began.IsZero() {
			break
		}
		a.say(in.LastAssistantMessage)
		if a.d.holds {
			a.complete(in)
			break
		}
		q = &terret.Ask{Gate: terret.GateStop, Event: terret.Event{Source: in.HookEventName, Data: terret.StopRequest{
			LastMessage: in.LastAssistantMessage, Again: in.StopHookActive, Background: len(in.BackgroundTasks) > 0,
		}}}
		return q, func(d terret.Decision) []byte {
			return encodeHook(answerHook(in.HookEventName, d))
		}
	case "StopFailure":
		a.finish(terret.TurnError{Error: terret.Error{Code: terret.CodeModelError, Message: cmp.Or(brief.Cut(cmp.Or(in.ErrorDetails, wordsOf(in.Error)), diagLimit), "the agent failed")}, Text: in.LastAssistantMessage})
	case "SubagentStart":
		a.start(in)
		t.emitBy(actor, parent, "", terret.SubagentStart{ID: in.AgentID, Type: in.AgentType})
	case "SubagentStop":
		if !a.began.IsZero() && in.AgentType != "" {
			t.emitBy(actor, parent, "", terret.SubagentStop{ID: in.AgentID, Type: in.AgentType, Result: in.LastAssistantMessage})
		}
	case "Notification":
		t.emit(terret.Notification{Text: in.Message, Level: "info", Type: in.NotificationType})
		if a.d.holds && in.NotificationType == "idle_prompt" {
			a.idle()
		}
	default:
		t.emit(terret.HookEvent{Hook: t.head.HookEventName, Data: terret.JSON(slices.Clone(t.line))})
	}
	return nil, nil
}

// start begins a turn, if none runs.
func (a *watched) start(in *watchedInput) {
	if !a.began.IsZero() {
		return
	}
	a.began, a.gone = a.t.now, false
	a.turn, a.over = context.WithCancel(a.life)
	if a.d.recorded == nil {
		return
	}
	if info, err := os.Stat(in.TranscriptPath); err != nil || !info.Mode().IsRegular() { // a pipe would wait for somebody
		return // its next prompt ends the turn
	}
	record, err := os.Open(in.TranscriptPath)
	if err != nil {
		return
	}
	at, err := record.Seek(0, io.SeekEnd)
	if err != nil {
		record.Close()
		return
	}
	a.record, a.at = record, at
	life := a.turn
	a.work.Go(func() {
		defer record.Close()
		a.look(life)
	})
}

// lookEvery is how often the agent's own record is read while a turn runs.
const lookEvery = time.Second

// look reads the agent's own record until ctx ends, with the turn.
func (a *watched) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		a.between(ctx, a.catchUp)
	}
}

// between logs what is not from a hook, in the turn that ctx belongs to.
func (a *watched) between(ctx context.Context, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return // it has ended
	}
	a.t.begin(nil, time.Now())
	do()
	if events, _ := a.t.take(); len(events) > 0 {
		_ = a.host.Emit(a.life, events, nil) // the agent is closed otherwise
	}
}

// catchUp reads what the agent has added to its own record since, while a turn runs.
func (a *watched) catchUp() {
	if a.record == nil {
		return
	}
	news, err := io.ReadAll(io.NewSectionReader(a.record, a.at, maxLook))
	if err != nil {
		return
	}
	whole := bytes.LastIndexByte(news, '\n') + 1
	if whole == 0 && len(news) == maxLook {
		whole = maxLook // a line that is no such record
	}
	a.at += int64(whole)
	for line := range bytes.Lines(news[:whole]) {
		if a.d.recorded(a, line); a.began.IsZero() {
			return
		}
	}
}

// maxLook bounds how much of the record is read at once.
const maxLook = 1 << 20

// stopped ends the turn that its person has stopped.
func (a *watched) stopped() {
	a.finish(terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted, Message: "stopped in the terminal"}})
}

// finish ends the turn, if one runs, with its calls and requests.
func (a *watched) finish(end terret.Data) {
	for _, cancel := range a.asks {
		cancel() // the terminal has decided
	}
	if a.began.IsZero() {
		return
	}
	a.over()
	a.t.breakOff("it did not end", false)
	a.t.emit(end)
	a.record, a.began, a.said, a.failed = nil, time.Time{}, "", ""
	clear(a.texts)
	clear(a.calls)
	clear(a.t.finished)
}

// complete ends a turn that has said everything.
func (a *watched) complete(in *watchedInput) {
	if a.failed != "" {
		a.finish(terret.TurnError{Error: terret.Error{Code: terret.CodeModelError, Message: brief.Cut(a.failed, diagLimit)}, Text: a.said})
		return
	}
	a.finish(terret.TurnComplete{Text: cmp.Or(in.LastAssistantMessage, a.said), StopReason: "end_turn", DurationMS: a.t.now.Sub(a.began).Milliseconds()})
}

// mostShown bounds the text of a message that is being shown, which the log gets whole.
const mostShown = 4 << 20

// display logs what the terminal shows of an answer. The end of the turn has the last
// text, and what is shown of it later is nothing new.
func (a *watched) display(in *watchedInput) {
	if a.began.IsZero() || in.MessageID == "" {
		return
	}
	text := a.texts[in.MessageID]
	if in.DisplayedText != "" {
		in.Delta, in.Final = strings.TrimPrefix(in.DisplayedText, text), in.IsFinal
	}
	if len(text)+len(in.Delta) > mostShown || text == "" && len(a.texts) > 100 {
		return
	}
	text += in.Delta
	if !in.Final {
		a.texts[in.MessageID] = text
		a.t.emit(terret.MessageDelta{MessageID: in.MessageID, Index: 0, Text: in.Delta})
		return
	}
	delete(a.texts, in.MessageID)
	if strings.TrimSpace(text) == strings.TrimSpace(a.said) {
		return
	}
	a.message(in.MessageID, text)
}

func (a *watched) message(id, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	a.said = text
	a.t.emit(terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(text)}})
}

// say logs the last text of a turn, unless it was shown already.
func (a *watched) say(text string) {
	if strings.TrimSpace(text) == strings.TrimSpace(a.said) {
		return
	}
	id := terret.NewID(terret.PrefixMessage)
	for shown := range maps.Keys(a.texts) { // its beginning was shown
		if strings.HasPrefix(text, a.texts[shown]) {
			id = shown
		}
	}
	a.message(id, text)
}

// result logs the result of a call. Whoever is still asked about it need not answer.
func (a *watched) result(in *watchedInput, actor, parent string) {
	t, id := a.t, cmp.Or(a.calls[in.ToolUseID], in.ToolUseID)
	a.start(in)
	if id == "" { // Gemini CLI has none
		id = terret.NewID("call_")
		if c := a.callLike(in, true); c != nil {
			id = c.id
		}
	}
	if cancel := a.asks[id]; cancel != nil {
		cancel()
	}
	c := t.call(id, in.ToolName, actor, parent)
	if len(c.input) == 0 {
		c.input = whole(in.ToolInput, nil)
	}
	t.tell(c)
	delete(t.tools, id)
	t.finished[id] = true
	took := t.now.Sub(c.began).Milliseconds()
	if in.HookEventName == "PostToolUseFailure" {
		text := wordsOf(in.Error)
		t.emitBy(c.actor, c.parentTool, "", terret.ToolFailure{
			ToolID: id, Name: c.name, Content: []terret.Block{terret.Text(text)}, DurationMS: took, Error: brief.Cut(text, diagLimit), Interrupted: in.IsInterrupt,
		})
		return
	}
	var extra toolOutcome
	decode(in.ToolResponse, &extra)
	text := outcomeText(in.ToolResponse)
	if a.d.holds {
		text, extra = displayed(in.ToolResponse, classOf(t.known(c.name)) == terret.ClassExecute)
	}
	t.emitBy(c.actor, c.parentTool, "", terret.ToolPost{
		ToolID: id, Name: c.name, Content: []terret.Block{terret.Text(text)}, Structured: terret.JSON(in.ToolResponse),
		DurationMS: took, Diff: extra.diff(t.session.cwd),
	})
	t.changed(c, extra)
	t.planned(c, extra)
}

// outcomeText is the text in the outcome of a tool, for people: a command's output, a
// file's content, or else the outcome itself.
func outcomeText(outcome json.RawMessage) string {
	var o struct {
		Stdout  *string `json:"stdout"`
		Stderr  string  `json:"stderr"`
		Content any     `json:"content"`
		File    struct {
			Content *string `json:"content"`
		} `json:"file"`
	}
	decode(outcome, &o)
	text, isText := o.Content.(string)
	switch {
	case o.Stdout != nil:
		return strings.TrimSuffix(*o.Stdout, "\n") + o.Stderr
	case o.File.Content != nil:
		return *o.File.Content
	case isText:
		return text
	}
	return wordsOf(outcome)
}

// wordsOf is a text, or JSON as text.
func wordsOf(raw json.RawMessage) string {
	var text string
	if decode(raw, &text) {
		return text
	}
	return string(raw)
}

// ask makes a request of the dialog that the terminal shows.
func (a *watched) ask(in *watchedInput, actor, parent string) (*terret.Ask, func(terret.Decision) []byte) {
	t := a.t
	a.start(in)
	r := canUseTool{ToolName: in.ToolName, Input: in.ToolInput, Suggestions: in.PermissionSuggestions}
	if c := a.callLike(in, false); c != nil {
		c.asked = true
		r.ToolUseID, actor, parent = c.id, c.actor, c.parentTool
	}
	t.canUseTool("", r)
	for _, o := range t.others {
		if q, ok := o.(asking); ok {
			t.others = nil
			q.ask.Event.Actor, q.ask.Event.ParentTool, q.ask.Event.Source = actor, parent, in.HookEventName
			return &q.ask, func(d terret.Decision) []byte {
				p, _ := q.answer(d).(permissionAnswer)
				if q.ask.Gate == terret.GatePermission && len(d.UpdatedInput) == 0 {
					p.UpdatedInput = nil
				}
				return seat.Encode(hookOutput{Specific: &hookSpecific{HookEventName: in.HookEventName, Decision: &p}})
			}
		}
	}
	return nil, nil
}

// refused logs that a call will not run: no hook says so.
func (a *watched) refused(call string, d terret.Decision) {
	c := a.t.tools[call]
	if c == nil || !slices.Contains(deciders, d.Source) {
		return
	}
	delete(a.t.tools, call)
	why := reasonOf(d, "denied")
	ev := terret.Event{Actor: c.actor, ParentTool: c.parentTool, Data: terret.ToolFailure{ToolID: c.id, Name: c.name, Error: why, Denied: true}}
	_ = a.host.Emit(a.life, []terret.Event{ev}, nil) // the agent is closed otherwise
}

// callLike is the call that a dialog is, or was, about: the hook does not say its id.
func (a *watched) callLike(in *watchedInput, asked bool) *toolCall {
	hash := terret.InputHash(whole(in.ToolInput, nil))
	for _, c := range sortedCalls(a.t.tools) {
		if c.name == in.ToolName && c.asked == asked && terret.InputHash(c.input) == hash {
			return c
		}
	}
	return nil
}

// callOf is the call that a request is about, if that is known.
func callOf(q *terret.Ask) string {
	switch d := q.Event.Data.(type) {
	case terret.ToolPre:
		return d.ToolID
	case terret.PermissionRequest:
		return d.ToolID
	case terret.QuestionRequest:
		return d.ToolID
	case terret.PlanRequest:
		return d.ToolID
	}
	return ""
}
