package native

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
)

// chat is a model of an API that speaks OpenAI's Chat Completions.
type chat struct{ *endpoint }

// generate implements model.
func (c *chat) generate(ctx context.Context, q query, s sink) (reply, error) {
	a := newChatAnswer()
	err := c.ask(ctx, "chat/completions", c.request(q), func() bool { return a.begun }, func(_ string, data []byte) error {
		if bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]")) {
			return nil
		}
		var chunk chatChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return c.apiError(err, a.begun)
		}
		for _, p := range a.take(chunk) {
			if err := s(p); err != nil {
				return err
			}
		}
		return nil
	})
	return c.finish(ctx, err, a.begun, a.reply())
}

// none is the index of a block that has not begun.
const none = -1

// chatAnswer is an answer in the making.
type chatAnswer struct {
	begun          bool
	blocks         []terret.Block
	text, thinking int         // the blocks that grow
	calls          map[int]int // the blocks of calls, by the API's index
	inputs         map[int]*strings.Builder
	stopReason     string
	usage          terret.Usage
	cost           terret.Cost
}

func newChatAnswer() chatAnswer { return chatAnswer{text: none, thinking: none, calls: map[int]int{}} }

// take adds a chunk, and returns the pieces that it brings.
func (a *chatAnswer) take(chunk chatChunk) []piece {
	a.begun = a.begun || len(chunk.Choices) > 0
	if chunk.Usage != nil {
		a.usage, a.cost = chunk.Usage.tokens(), terret.CostOf(max(chunk.Usage.Cost, 0))
	}
	var out []piece
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // we ask for one
		}
		d := choice.Delta
		if thought := d.Reasoning + d.ReasoningContent; thought != "" {
			i := a.grow(&a.thinking, terret.BlockThinking, thought)
			out = append(out, piece{index: i, thinking: thought})
		}
		if d.Content != "" {
			i := a.grow(&a.text, terret.BlockText, d.Content)
			out = append(out, piece{index: i, text: d.Content})
		}
		for _, call := range d.ToolCalls {
			out = append(out, a.call(call)...)
		}
		if choice.Finish != "" {
			a.stopReason = stopReasonOf(choice.Finish)
		}
	}
	return out
}

// grow adds to the block that grows, or begins one.
func (a *chatAnswer) grow(at *int, kind terret.BlockType, text string) int {
	if *at == none {
		*at = len(a.blocks)
		a.blocks = append(a.blocks, terret.Block{Type: kind})
	}
	a.blocks[*at].Text += text
	return *at
}

// call adds a piece of a call. Some servers send calls without an index, each whole.
func (a *chatAnswer) call(c chatCall) []piece {
	n := len(a.calls)
	if c.Index != nil {
		n = *c.Index
	}
	var out []piece
	i, ok := a.calls[n]
	if !ok {
		i = len(a.blocks)
		a.calls[n] = i
		a.text, a.thinking = none, none // what follows is said after the call
		a.blocks = append(a.blocks, terret.Block{Type: terret.BlockToolUse, ToolID: c.ID, Name: c.Function.Name})
		out = append(out, piece{index: i, toolID: c.ID, toolName: c.Function.Name})
	}
	if c.Function.Arguments != "" {
		if a.inputs == nil {
			a.inputs = map[int]*strings.Builder{}
		}
		if a.inputs[i] == nil {
			a.inputs[i] = &strings.Builder{}
		}
		a.inputs[i].WriteString(c.Function.Arguments)
		out = append(out, piece{index: i, input: c.Function.Arguments})
	}
	return out
}

func (a *chatAnswer) reply() reply {
	r := reply{stopReason: a.stopReason, usage: a.usage, cost: a.cost, blocks: a.blocks}
	r.context = r.usage.Input + r.usage.CacheRead + r.usage.Output
	for i, b := range r.blocks {
		if b.Type == terret.BlockToolUse {
			r.blocks[i].Input = terret.JSON("{}")
			if pieces := a.inputs[i]; pieces != nil && strings.TrimSpace(pieces.String()) != "" {
				r.blocks[i].Input = terret.JSON(pieces.String())
			}
		}
	}
	return r
}

// stopReasonOf is why the model stopped, in the words that we use.
func stopReasonOf(finish string) string {
	switch finish {
	case "stop":
		return "end_turn"
	case "tool_calls", "function_call":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	}
	return finish
}
