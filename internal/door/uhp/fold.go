package uhp

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// tag is what the log keeps of a task's request besides its prompt.
type tag struct {
	Metadata map[string]any `json:"metadata,omitempty"`
	Model    string         `json:"model,omitempty"` // that was asked for
	Seconds  int            `json:"seconds"`         // how long it may take
	Tokens   int64          `json:"tokens,omitempty"`
	Behind   bool           `json:"background,omitempty"`
}

// fold makes a response out of the events of a turn, and the events of the protocol on the
// way. The same events give the same response, whoever folds them and when.
type fold struct {
	session terret.Session
	turn    string
	base    string              // of addresses of files
	emit    func(e event) error // may be nil

	out    response
	asked  tag
	began  terret.Time
	number int
	model  string // as the agent said

	texts map[string][]*open // of messages that are not complete, by message
	calls map[string]bool    // by tool id
	files []string           // changed, and not yet cited
	ended bool
}

// open is a text or a summary that grows.
type open struct {
	thinking bool
	index    int // of the block
	at       int // in the output
	done     bool
}

// kinds are the events that say something about a response.
var kinds = []terret.Kind{
	terret.KindTurnStart, terret.KindMessageDelta, terret.KindReasoningDelta, terret.KindMessageComplete, terret.KindToolPre, terret.KindToolPost,
	terret.KindToolFailure, terret.KindFileChanged, terret.KindModelFallback, terret.KindSessionStart, terret.KindSessionUpdated,
	terret.KindTurnComplete, terret.KindTurnError,
}

func newFold(s terret.Session, turn, previous, base string, emit func(event) error) *fold {
	f := &fold{session: s, turn: turn, base: base, emit: emit, model: s.Model, texts: map[string][]*open{}, calls: map[string]bool{}}
	f.out = response{
		ID: responseID(s.ID, turn), Object: "response", CreatedAt: s.CreatedAt.Unix(), Status: inProgress, Output: []*item{}, Store: true,
		Metadata: map[string]any{}, Parallel: true, ToolChoice: "auto", Tools: []json.RawMessage{},
	}
	if previous != "" {
		id := responseID(s.ID, previous)
		f.out.Previous = &id
	}
	return f
}

// response is what is known so far.
func (f *fold) response() *response {
	out := f.out
	out.Model = f.model
	if f.asked.Model != "" && out.Metadata["model_fallback"] == nil {
		out.Model = f.asked.Model
	}
	if out.Model == "" {
		out.Model = "default"
	}
	return &out
}

func (f *fold) tell(e event) error {
	e.Number = f.number
	f.number++
	if f.emit == nil {
		return nil
	}
	return f.emit(e)
}

// take takes the next event of the session. It reports the error of emit.
func (f *fold) take(ev terret.Event) error {
	switch data := ev.Data.(type) {
	case terret.SessionStart:
		if data.Model != "" && !f.ended {
			f.model = data.Model
		}
	case terret.SessionUpdated:
		if data.Model != nil && !f.ended {
			f.model = *data.Model
		}
	}
	if ev.Turn != f.turn || f.ended || ev.Actor != "" && ev.Actor != terret.ActorRoot || ev.Hidden() {
		return nil
	}
	switch data := ev.Data.(type) {
	case terret.TurnStart:
		return f.start(ev.Time, data)
	case terret.MessageDelta:
		return f.grow(data.MessageID, data.Index, data.Text, false)
	case terret.ReasoningDelta:
		return f.grow(data.MessageID, data.Index, data.Text, true)
	case terret.MessageComplete:
		if data.Role == terret.RoleAssistant {
			return f.message(data)
		}
	case terret.ToolPre:
		return f.call(data.ToolID, data.Name, data.Input)
	case terret.ToolPost:
		return f.result(data.ToolID, data.Name, terret.TextOf(data.Content))
	case terret.ToolFailure:
		return f.result(data.ToolID, data.Name, strings.TrimSpace(terret.TextOf(data.Content)+"\n"+data.Error))
	case terret.FileChanged:
		f.changed(data)
	case terret.ModelFallback:
		f.out.Metadata["requested_model"], f.out.Metadata["model_fallback"], f.out.Metadata["model_fallback_reason"] = data.From, true, safe(data.Why)
		f.model = data.To
	case terret.TurnComplete:
		return f.complete(ev, data)
	case terret.TurnError:
		return f.fail(ev, data)
	}
	return nil
}

func (f *fold) start(at terret.Time, data terret.TurnStart) error {
	f.began, f.out.CreatedAt = at, at.Unix()
	if data.Options != nil {
		_ = json.Unmarshal([]byte(data.Options.Tag), &f.asked) // another program's tag says nothing
	}
	maps.Copy(f.out.Metadata, f.asked.Metadata)
	f.out.Background = f.asked.Behind
	f.out.Metadata["session_id"] = sessionID(f.session.ID)
	f.out.Metadata["harness_id"] = harnessOf(f.session)
	if f.asked.Model != "" {
		f.out.Metadata["requested_model"] = f.asked.Model
	}
	if err := f.tell(event{Type: "response.created", Response: f.response()}); err != nil {
		return err
	}
	return f.tell(event{Type: "response.in_progress", Response: f.response()})
}

// add begins an item, and returns its index.
func (f *fold) add(it *item) (int, error) {
	f.out.Output = append(f.out.Output, it)
	at := len(f.out.Output) - 1
	shell := *it
	return at, f.tell(event{Type: "response.output_item.added", OutputIndex: &at, Item: &shell})
}

func (f *fold) done(at int) error {
	it := *f.out.Output[at]
	return f.tell(event{Type: "response.output_item.done", OutputIndex: &at, Item: &it})
}

var zero = 0

// opened is the growing text of a block.
func (f *fold) opened(message string, index int, thinking bool) (*open, error) {
	for _, o := range f.texts[message] {
		if o.thinking == thinking && o.index == index && !o.done {
			return o, nil
		}
	}
	o := &open{thinking: thinking, index: index}
	id := bare("", terret.DerivedID("", f.session.ID, f.turn, strconv.Itoa(len(f.out.Output))))
	var err error
	if thinking {
		if o.at, err = f.add(&item{ID: "rs_" + id, Type: "reasoning", Status: inProgress, Summary: []part{}}); err == nil {
			f.item(o).Summary = []part{{Type: "summary_text"}}
			err = f.tell(event{Type: "response.reasoning_summary_part.added", ItemID: f.item(o).ID, OutputIndex: &o.at, SummaryIndex: &zero, Part: &part{Type: "summary_text"}})
		}
	} else {
		if o.at, err = f.add(&item{ID: "msg_" + id, Type: "message", Status: inProgress, Role: "assistant", Content: []part{}}); err == nil {
			f.item(o).Content = []part{{Type: "output_text", Annotations: []annotation{}}}
			err = f.tell(event{Type: "response.content_part.added", ItemID: f.item(o).ID, OutputIndex: &o.at, ContentIndex: &zero, Part: &part{Type: "output_text", Annotations: []annotation{}}})
		}
	}
	f.texts[message] = append(f.texts[message], o)
	return o, err
}

func (f *fold) item(o *open) *item { return f.out.Output[o.at] }

func (f *fold) piece(o *open) *part {
	if o.thinking {
		return &f.item(o).Summary[0]
	}
	return &f.item(o).Content[0]
}

func (f *fold) grow(message string, index int, text string, thinking bool) error {
	if text == "" {
		return nil
	}
	o, err := f.opened(message, index, thinking)
	if err != nil {
		return err
	}
	f.piece(o).Text += text
	e := event{Type: "response.output_text.delta", ItemID: f.item(o).ID, OutputIndex: &o.at, ContentIndex: &zero, Delta: &text}
	if thinking {
		e.Type, e.ContentIndex, e.SummaryIndex = "response.reasoning_summary_text.delta", nil, &zero
	}
	return f.tell(e)
}

// message completes what has grown, by the order of its blocks: their numbers need not be
// those of the pieces.
func (f *fold) message(m terret.MessageComplete) error {
	for _, b := range m.Blocks {
		var err error
		switch b.Type {
		case terret.BlockText, terret.BlockThinking:
			if b.Text != "" {
				err = f.whole(m.MessageID, b.Text, b.Type == terret.BlockThinking)
			}
		case terret.BlockToolUse:
			err = f.call(b.ToolID, b.Name, b.Input)
		case terret.BlockToolResult, terret.BlockImage, terret.BlockDocument:
		}
		if err != nil {
			return err
		}
	}
	return f.closeAll(m.MessageID, completed)
}

// whole completes the first text of a message that is not complete, or makes one.
func (f *fold) whole(message, text string, thinking bool) error {
	list := f.texts[message]
	i := slices.IndexFunc(list, func(o *open) bool { return o.thinking == thinking && !o.done })
	if i < 0 {
		if err := f.grow(message, -1-len(list), text, thinking); err != nil {
			return err
		}
		i = len(list)
	}
	o := f.texts[message][i]
	if rest, ok := strings.CutPrefix(text, f.piece(o).Text); ok && rest != "" {
		if err := f.grow(message, o.index, rest, thinking); err != nil {
			return err
		}
	}
	f.piece(o).Text = text
	return f.closeText(o, completed)
}

// closeText completes a text, which cites the files that were changed before it.
func (f *fold) closeText(o *open, status string) error {
	it, p := f.item(o), f.piece(o)
	o.done, it.Status = true, status
	text := p.Text
	if o.thinking {
		done := *p
		for _, e := range []event{
			{Type: "response.reasoning_summary_text.done", ItemID: it.ID, OutputIndex: &o.at, SummaryIndex: &zero, Text: &text},
			{Type: "response.reasoning_summary_part.done", ItemID: it.ID, OutputIndex: &o.at, SummaryIndex: &zero, Part: &done},
		} {
			if err := f.tell(e); err != nil {
				return err
			}
		}
		return f.done(o.at)
	}
	if err := f.tell(event{Type: "response.output_text.done", ItemID: it.ID, OutputIndex: &o.at, ContentIndex: &zero, Text: &text}); err != nil {
		return err
	}
	for i, name := range f.files {
		a := annotation{
			Type: "container_file_citation", Container: containerID(f.session.ID), File: artifactID(f.session.ID, name), Filename: name, End: len([]rune(text)),
		}
		a.URL = f.base + "/v1/containers/" + a.Container + "/files/" + a.File + "/content"
		p.Annotations = append(p.Annotations, a)
		if err := f.tell(event{Type: "response.output_text.annotation.added", ItemID: it.ID, OutputIndex: &o.at, ContentIndex: &zero, AnnotationIndex: &i, Annotation: &a}); err != nil {
			return err
		}
	}
	f.files = nil
	done := *p
	if err := f.tell(event{Type: "response.content_part.done", ItemID: it.ID, OutputIndex: &o.at, ContentIndex: &zero, Part: &done}); err != nil {
		return err
	}
	return f.done(o.at)
}

// closeAll completes what is left of a message, or of all of them.
func (f *fold) closeAll(message, status string) error {
	var left []*open
	for id, list := range f.texts {
		if message == "" || id == message {
			for _, o := range list {
				if !o.done {
					left = append(left, o)
				}
			}
			delete(f.texts, id)
		}
	}
	slices.SortFunc(left, func(a, b *open) int { return a.at - b.at })
	for _, o := range left {
		if err := f.closeText(o, status); err != nil {
			return err
		}
	}
	return nil
}

// maxOutput bounds what is told of a tool's result or input, in bytes.
const maxOutput = 256 << 10

func clip(text string) string {
	if len(text) > maxOutput {
		text = text[:maxOutput] + " …"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (f *fold) call(id, name string, input terret.JSON) error {
	if f.calls[id] {
		return nil
	}
	f.calls[id] = true
	none, args := "", clip(string(input))
	if args == "" {
		args = "{}"
	}
	at, err := f.add(&item{ID: "fc_" + id, Type: "function_call", Status: inProgress, CallID: id, Name: name, Arguments: &none})
	if err != nil {
		return err
	}
	it := f.out.Output[at]
	it.Arguments, it.Status = &args, completed
	for _, e := range []event{
		{Type: "response.function_call_arguments.delta", ItemID: it.ID, OutputIndex: &at, Delta: &args},
		{Type: "response.function_call_arguments.done", ItemID: it.ID, OutputIndex: &at, Arguments: &args},
	} {
		if err := f.tell(e); err != nil {
			return err
		}
	}
	return f.done(at)
}

func (f *fold) result(id, name, text string) error {
	if err := f.call(id, name, nil); err != nil {
		return err
	}
	text = clip(text)
	at, err := f.add(&item{ID: "fco_" + id, Type: "function_call_output", Status: completed, CallID: id, Output: &text})
	if err != nil {
		return err
	}
	return f.done(at)
}

func (f *fold) changed(c terret.FileChanged) {
	name, ok := inFolder(f.session.Cwd, c.Path)
	f.files = slices.DeleteFunc(f.files, func(old string) bool { return old == name })
	if ok && c.Change != "deleted" {
		f.files = append(f.files, name)
	}
}

// inFolder is a path from the folder, if it is in it.
func inFolder(dir, file string) (string, bool) {
	if filepath.IsAbs(file) {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return "", false
		}
		file = rel
	}
	return filepath.ToSlash(filepath.Clean(file)), filepath.IsLocal(file)
}

func (f *fold) complete(ev terret.Event, data terret.TurnComplete) error {
	if err := f.closeAll("", completed); err != nil {
		return err
	}
	said := slices.ContainsFunc(f.out.Output, func(it *item) bool { return it.Type == "message" })
	if !said && data.Text != "" {
		if err := f.whole("", data.Text, false); err != nil {
			return err
		}
	}
	f.out.Status = completed
	return f.finish(ev, data.Usage)
}

func (f *fold) fail(ev terret.Event, data terret.TurnError) error {
	f.out.Status = failed
	e := data.Error
	switch e.Code {
	case terret.CodeInterrupted, terret.CodeKilled:
		f.out.Status = cancelled
		if f.asked.Seconds > 0 && ev.Time.Sub(f.began.Time) >= time.Duration(f.asked.Seconds)*time.Second {
			f.short("timeout")
		} else if f.asked.Tokens > 0 && data.Usage.Output >= f.asked.Tokens {
			f.short("max_output_tokens")
		}
	case terret.CodeMaxTurns:
		f.short("max_step")
	case terret.CodeMaxBudget:
		f.short("terret_max_cost")
	default:
		f.out.Error = taskFault(e)
	}
	if err := f.closeAll("", unfinished); err != nil {
		return err
	}
	return f.finish(ev, data.Usage)
}

// short says which budget stopped the task.
func (f *fold) short(reason string) {
	f.out.Status, f.out.Incomplete = unfinished, &incomplete{reason}
}

// taskFault is why a task failed.
func taskFault(e terret.Error) *fault {
	code := "harness_error"
	switch e.Code { //nolint:exhaustive // all others are the agent's own
	case terret.CodeModelError, terret.CodeRateLimited, terret.CodeOverloaded, terret.CodeBilling, terret.CodeNotAuthenticated:
		code = "provider_error"
	case terret.CodeModelNotFound:
		code = "model_unavailable"
	case terret.CodeTimeout:
		code = "timeout"
	}
	return &fault{Type: typeHarness, Code: code, Message: safe(e.Message)}
}

func (f *fold) finish(ev terret.Event, u terret.Usage) error {
	f.ended, f.out.Completed = true, ev.Time.Unix()
	if u != (terret.Usage{}) {
		in := u.Input + u.CacheRead + u.CacheWrite
		f.out.Usage = &usage{
			Input: in, Output: u.Output, Total: in + u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			InputDetails: map[string]int64{"cached_tokens": u.CacheRead}, OutputDetails: map[string]int64{"reasoning_tokens": u.Reasoning},
		}
	}
	name := map[string]string{completed: "response.completed", unfinished: "response.incomplete"}[f.out.Status]
	if name == "" {
		name = "response.failed"
	}
	return f.tell(event{Type: name, Response: f.response()})
}
