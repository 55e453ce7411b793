package native

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"

	"github.com/terret-dev/terret"
)

// responses is a model of OpenAI's Responses API.
type responses struct {
	*endpoint
	plain atomic.Bool // it does not tell what it thinks, and said so
}

// generate implements model. A model that cannot tell what it thinks, which nobody knew,
// says so before it says anything else.
func (m *responses) generate(ctx context.Context, q query, s sink) (reply, error) {
	request := m.request(q)
	r, err := m.send(ctx, request, s)
	if request.Reasoning != nil && rejects(err, "reasoning", "summary", "summaries") {
		m.plain.Store(true)
		return m.send(ctx, m.request(q), s)
	}
	return r, err
}

func (m *responses) send(ctx context.Context, request responsesRequest, s sink) (reply, error) {
	a := responsesAnswer{chatAnswer: newChatAnswer(), items: map[int]int{}}
	err := m.ask(ctx, "responses", request, func() bool { return a.begun }, func(_ string, data []byte) error {
		var e responsesEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return m.apiError(err, a.begun)
		}
		if e.Type == "response.failed" {
			body, err := json.Marshal(map[string]any{"error": e.Response.Error})
			if err != nil {
				return m.garbage(true, err.Error())
			}
			return m.apiError(&wireError{&http.Response{StatusCode: http.StatusOK, Status: "response.failed"}, body}, true)
		}
		for _, p := range a.take(e, m.id()) {
			if err := s(p); err != nil {
				return err
			}
		}
		return nil
	})
	return m.finish(ctx, err, a.begun, a.reply())
}

// responsesAnswer is an answer in the making.
type responsesAnswer struct {
	chatAnswer
	items map[int]int // the blocks of items that are no calls, by the API's index
}

// take adds an event, and returns the pieces that it brings. Events that are not known
// are left out.
func (a *responsesAnswer) take(e responsesEvent, model string) []piece {
	switch e.Type {
	case "response.created":
		a.begun = true
	case "response.output_item.added":
		return a.begin(e)
	case "response.output_text.delta", "response.refusal.delta":
		return a.more(e, terret.BlockText)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return a.more(e, terret.BlockThinking)
	case "response.function_call_arguments.delta":
		call := chatCall{Index: &e.Index}
		call.Function.Arguments = e.Delta
		return a.call(call)
	case "response.output_item.done":
		if i, ok := a.items[e.Index]; ok && e.Item.Type == "reasoning" && e.Item.Encrypted != "" {
			a.blocks[i].Bytes, a.blocks[i].Name = []byte(e.Item.Encrypted), model
		}
		return a.end(e)
	case "response.completed", "response.incomplete":
		a.usage = e.Response.Usage.tokens()
		a.stopReason = "end_turn"
		switch {
		case e.Response.Incomplete.Reason == "max_output_tokens":
			a.stopReason = "max_tokens"
		case e.Response.Incomplete.Reason != "":
			a.stopReason = "refusal"
		case len(a.calls) > 0:
			a.stopReason = "tool_use"
		}
	}
	return nil
}

// begin begins an item.
func (a *responsesAnswer) begin(e responsesEvent) []piece {
	switch e.Item.Type {
	case "function_call":
		call := chatCall{Index: &e.Index, ID: e.Item.CallID}
		call.Function.Name = e.Item.Name
		return a.call(call)
	case "reasoning":
		a.items[e.Index] = len(a.blocks)
		a.blocks = append(a.blocks, terret.Block{Type: terret.BlockThinking})
	case "message":
		a.items[e.Index] = len(a.blocks)
		a.blocks = append(a.blocks, terret.Block{Type: terret.BlockText})
	}
	return nil
}

// end adds what a server sends only now: a call's arguments, or the text of a message.
func (a *responsesAnswer) end(e responsesEvent) (out []piece) {
	switch e.Item.Type {
	case "function_call":
		out = a.begin(e) // it may not have begun; nothing if it has
		if a.inputs[a.calls[e.Index]] == nil {
			call := chatCall{Index: &e.Index}
			call.Function.Arguments = e.Item.Arguments
			out = append(out, a.call(call)...)
		}
	case "message":
		if _, begun := a.items[e.Index]; !begun {
			a.begin(e)
		}
		for _, part := range e.Item.Content {
			if i := a.items[e.Index]; a.blocks[i].Text == "" && part.Text != "" {
				out = append(out, a.more(responsesEvent{Index: e.Index, Delta: part.Text}, terret.BlockText)...)
			}
		}
	}
	return out
}

// more adds to an item.
func (a *responsesAnswer) more(e responsesEvent, kind terret.BlockType) []piece {
	i, ok := a.items[e.Index]
	if !ok || a.blocks[i].Type != kind {
		return nil
	}
	a.blocks[i].Text += e.Delta
	if kind == terret.BlockThinking {
		return []piece{{index: i, thinking: e.Delta}}
	}
	return []piece{{index: i, text: e.Delta}}
}
