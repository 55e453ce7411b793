package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The shapes of answers. Fields are in the API's order.
type (
	responsesReply struct {
		ID         string            `json:"id"`
		Object     string            `json:"object"`
		CreatedAt  int64             `json:"created_at"`
		Status     string            `json:"status"`
		Error      *responsesError   `json:"error"`
		Incomplete *responsesCut     `json:"incomplete_details"`
		Model      string            `json:"model"`
		Output     []responsesOutput `json:"output"`
		Usage      *responsesUsage   `json:"usage"`
	}
	responsesError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	responsesCut struct {
		Reason string `json:"reason"`
	}
	responsesUsage struct {
		Input        int `json:"input_tokens"`
		InputDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Output        int `json:"output_tokens"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		Total int `json:"total_tokens"`
	}
	// responsesOutput is an item of the output; each type sets its own fields.
	responsesOutput struct {
		ID        string           `json:"id"`
		Type      string           `json:"type"`
		Status    string           `json:"status,omitempty"`
		Role      string           `json:"role,omitempty"`
		Content   *[]responsesPart `json:"content,omitempty"`
		Summary   *[]responsesPart `json:"summary,omitempty"`
		Encrypted string           `json:"encrypted_content,omitempty"`
		CallID    string           `json:"call_id,omitempty"`
		Namespace string           `json:"namespace,omitempty"`
		Name      string           `json:"name,omitempty"`
		Arguments *string          `json:"arguments,omitempty"`
		Input     *string          `json:"input,omitempty"`
	}
	responsesPart struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Annotations *[]any `json:"annotations,omitempty"`
	}
	// responsesEvent is any event of the stream; each sets its own fields.
	responsesEvent struct {
		Type         string           `json:"type"`
		Sequence     int              `json:"sequence_number"`
		Response     *responsesReply  `json:"response,omitempty"`
		OutputIndex  *int             `json:"output_index,omitempty"`
		Item         *responsesOutput `json:"item,omitempty"`
		ItemID       string           `json:"item_id,omitempty"`
		ContentIndex *int             `json:"content_index,omitempty"`
		SummaryIndex *int             `json:"summary_index,omitempty"`
		Part         *responsesPart   `json:"part,omitempty"`
		Delta        *string          `json:"delta,omitempty"`
		Text         *string          `json:"text,omitempty"`
		Arguments    *string          `json:"arguments,omitempty"`
		Input        *string          `json:"input,omitempty"`
	}
)

// responsesWriter writes one reply. Only one goroutine may use it.
type responsesWriter struct {
	out      *Output
	reply    Reply
	freeform map[string]bool // tools whose input is text
	sequence int
}

// shell is the reply without its output.
func (w *responsesWriter) shell(status string) *responsesReply {
	return &responsesReply{
		ID: renamed(w.reply.ID, "msg_", "resp_"), Object: "response", CreatedAt: created, Status: status, Model: w.reply.Model, Output: []responsesOutput{},
	}
}

// whole is the complete reply.
func (w *responsesWriter) whole() *responsesReply {
	r := w.shell("completed")
	switch w.reply.Stop {
	case stopLength:
		r.Status, r.Incomplete = "incomplete", &responsesCut{"max_output_tokens"}
	case stopRefusal:
		r.Status, r.Incomplete = "incomplete", &responsesCut{"content_filter"}
	}
	for i := range w.reply.Blocks {
		r.Output = append(r.Output, w.item(i, true))
	}
	u := w.reply.Usage
	r.Usage = &responsesUsage{Input: u.all(), Output: u.Output, Total: u.all() + u.Output}
	r.Usage.InputDetails.Cached = u.CacheRead
	return r
}

// item is a block as an item, at its beginning or end.
func (w *responsesWriter) item(index int, done bool) responsesOutput {
	b := w.reply.Blocks[index]
	status, parts, text := "in_progress", []responsesPart{}, ""
	if done {
		status = "completed"
	}
	id := fmt.Sprintf("%s_%d", renamed(w.reply.ID, "msg_", ""), index)
	switch {
	case b.Type == BlockThinking:
		o := responsesOutput{ID: "rs_" + id, Type: "reasoning", Summary: &parts}
		if done {
			parts, o.Encrypted = append(parts, responsesPart{Type: "summary_text", Text: b.Text}), b.Signature
		}
		return o
	case b.Type != BlockToolUse:
		if done {
			parts = append(parts, outputText(b.Text))
		}
		return responsesOutput{ID: "msg_" + id, Type: "message", Status: status, Role: "assistant", Content: &parts}
	case w.freeform[b.Name]:
		if done {
			text = freeText(b.Input)
		}
		return responsesOutput{ID: "ctc_" + id, Type: "custom_tool_call", Status: status, CallID: callID(b), Name: b.Name, Input: &text}
	default:
		if done {
			text = string(b.Input)
		}
		o := responsesOutput{ID: "fc_" + id, Type: "function_call", Status: status, CallID: callID(b), Name: b.Name, Arguments: &text}
		if namespace, name, ok := strings.Cut(b.Name, "/"); ok {
			o.Namespace, o.Name = namespace, name
		}
		return o
	}
}

func outputText(text string) responsesPart {
	return responsesPart{Type: "output_text", Text: text, Annotations: &[]any{}}
}

// freeText is the input of a tool that takes text: the step's only value, if there is
// just one.
func freeText(input json.RawMessage) string {
	var values map[string]string
	if json.Unmarshal(input, &values) == nil && len(values) == 1 {
		for _, text := range values {
			return text
		}
	}
	return string(input)
}

// send numbers an event and writes it.
func (w *responsesWriter) send(ev responsesEvent) error {
	ev.Sequence = w.sequence
	w.sequence++
	return w.out.Event(ev.Type, ev)
}

// stream plays the reply as server-sent events.
func (w *responsesWriter) stream(ctx context.Context) error {
	for _, name := range []string{"response.created", "response.in_progress"} {
		if err := w.send(responsesEvent{Type: name, Response: w.shell("in_progress")}); err != nil {
			return err
		}
	}
	for ev, err := range w.reply.Events(ctx) {
		if e, ok := errors.AsType[*Error](err); ok {
			return w.failed(e)
		}
		if err != nil {
			return err
		}
		for _, out := range w.events(ev) {
			if err := w.send(out); err != nil {
				return err
			}
		}
		if ev.Kind == Noise {
			if err := w.out.Raw(ev.Text + "\n\n"); err != nil {
				return err
			}
		}
	}
	end := w.whole()
	return w.send(responsesEvent{Type: "response." + end.Status, Response: end})
}

// failed ends the stream with an error.
func (w *responsesWriter) failed(e *Error) error {
	r := w.shell("failed")
	r.Error = &responsesError{Code: "server_error", Message: e.Message}
	if code := openAIErrorCodes[e.Status]; code != "" {
		r.Error.Code = code
	}
	if e.Type != "" {
		r.Error.Code = e.Type
	}
	return w.send(responsesEvent{Type: "response.failed", Response: r})
}

// events translates an event of the reply for the API.
func (w *responsesWriter) events(ev Event) []responsesEvent {
	if ev.Kind == Noise {
		return nil
	}
	item, zero := w.item(ev.Index, ev.Kind == BlockEnd), 0
	at := responsesEvent{ItemID: item.ID, OutputIndex: &ev.Index}
	part := func(name string) responsesEvent {
		e := at
		e.Type = name
		if ev.Block.Type == BlockThinking {
			e.SummaryIndex = &zero
		} else if ev.Block.Type != BlockToolUse {
			e.ContentIndex = &zero
		}
		return e
	}
	names := responsesNames(ev.Block.Type, w.freeform[ev.Block.Name])
	switch ev.Kind {
	case BlockStart:
		out := []responsesEvent{{Type: "response.output_item.added", OutputIndex: &ev.Index, Item: &item}}
		if names.part != "" {
			e := part(names.part + ".added")
			e.Part = emptyPart(ev.Block.Type)
			out = append(out, e)
		}
		return out
	case BlockPiece:
		if item.Input != nil { // the pieces are JSON
			return nil
		}
		e := part(names.content + ".delta")
		e.Delta = &ev.Text
		return []responsesEvent{e}
	default:
		var out []responsesEvent
		e := part(names.content + ".done")
		switch {
		case item.Arguments != nil:
			e.Arguments = item.Arguments
		case item.Input != nil:
			e.Input = item.Input
			delta := part(names.content + ".delta")
			delta.Delta = item.Input
			out = append(out, delta)
		default:
			e.Text = &ev.Block.Text
		}
		out = append(out, e)
		if names.part != "" {
			e := part(names.part + ".done")
			e.Part = emptyPart(ev.Block.Type)
			e.Part.Text = ev.Block.Text
			out = append(out, e)
		}
		return append(out, responsesEvent{Type: "response.output_item.done", OutputIndex: &ev.Index, Item: &item})
	}
}

// eventNames are the names of a block's events: those of its part, if it has one, and
// those of its content.
type eventNames struct{ part, content string }

func responsesNames(t BlockType, freeform bool) eventNames {
	switch {
	case t == BlockThinking:
		return eventNames{"response.reasoning_summary_part", "response.reasoning_summary_text"}
	case t != BlockToolUse:
		return eventNames{"response.content_part", "response.output_text"}
	case freeform:
		return eventNames{"", "response.custom_tool_call_input"}
	default:
		return eventNames{"", "response.function_call_arguments"}
	}
}

func emptyPart(t BlockType) *responsesPart {
	if t == BlockThinking {
		return &responsesPart{Type: "summary_text"}
	}
	p := outputText("")
	return &p
}
