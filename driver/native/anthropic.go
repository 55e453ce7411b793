package native

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/terret-dev/terret"
)

const (
	anthropicKey     = "ANTHROPIC_API_KEY"
	anthropicToken   = "ANTHROPIC_AUTH_TOKEN" // the name of a variable
	anthropicBase    = "ANTHROPIC_BASE_URL"
	anthropicVersion = "2023-06-01"
	maxOutputTokens  = 16_000 // besides a budget for thinking
)

// claude is a model of Anthropic's API.
type claude struct {
	*endpoint
	plain atomic.Bool // it does not think, and said so
}

func anthropicAuth(h http.Header, variable, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	if variable == anthropicKey {
		h.Set("X-Api-Key", key)
	} else {
		h.Set("Authorization", "Bearer "+key)
	}
}

// generate implements model. A model that cannot think, which nobody knew, says so
// before it says anything else.
func (c *claude) generate(ctx context.Context, q query, s sink) (reply, error) {
	request := c.request(q)
	r, err := c.send(ctx, request, s)
	if request.Thinking != nil && rejects(err, "thinking") {
		c.plain.Store(true)
		return c.send(ctx, c.request(q), s)
	}
	return r, err
}

func (c *claude) send(ctx context.Context, request wireRequest, s sink) (reply, error) {
	var a answer
	err := c.ask(ctx, "v1/messages", request, func() bool { return a.begun }, func(name string, data []byte) error {
		if name == "" || name == "ping" {
			return nil
		}
		var e wireEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return c.apiError(err, a.begun)
		}
		p, ok, err := a.take(name, e)
		if err != nil {
			return c.garbage(true, err.Error())
		}
		if ok {
			return s(p)
		}
		return nil
	})
	return c.finish(ctx, err, a.begun, a.reply(c.id()))
}

// answer is an answer in the making.
type answer struct {
	begun      bool
	blocks     []wireBlock
	inputs     map[int]*strings.Builder // of calls, in pieces
	stopReason string
	usage      terret.Usage
}

// take adds an event, and returns the piece of the answer that it brings, if it does.
// Events that are not known are left out.
func (a *answer) take(name string, e wireEvent) (p piece, ok bool, err error) {
	switch name {
	case "message_start":
		*a = answer{begun: e.Message.ID != "", inputs: map[int]*strings.Builder{}}
		e.Message.Usage.update(&a.usage)
	case "message_delta":
		a.stopReason = e.Delta.StopReason
		e.Usage.update(&a.usage)
	case "content_block_start":
		if e.Index != len(a.blocks) {
			return piece{}, false, fmt.Errorf("block %d of an answer begins where %d should", e.Index, len(a.blocks))
		}
		a.blocks = append(a.blocks, e.ContentBlock)
		if e.ContentBlock.Type == wireToolUse {
			return piece{index: e.Index, toolID: e.ContentBlock.ID, toolName: e.ContentBlock.Name}, true, nil
		}
	case "content_block_delta":
		if e.Index < 0 || e.Index >= len(a.blocks) {
			return piece{}, false, fmt.Errorf("a piece of block %d of an answer that has %d", e.Index, len(a.blocks))
		}
		b := &a.blocks[e.Index]
		b.Text += e.Delta.Text
		b.Signature += e.Delta.Signature
		if e.Delta.Thinking != "" {
			b.Thinking = new(b.thought() + e.Delta.Thinking)
		}
		if a.inputs[e.Index] == nil {
			a.inputs[e.Index] = &strings.Builder{}
		}
		a.inputs[e.Index].WriteString(e.Delta.PartialJSON)
		return piece{index: e.Index, text: e.Delta.Text, thinking: e.Delta.Thinking, input: e.Delta.PartialJSON}, true, nil
	}
	return piece{}, false, nil
}

// reply is the answer of the model of that name, which its signatures are of.
func (a *answer) reply(model string) reply {
	r := reply{stopReason: a.stopReason, usage: a.usage}
	r.context = r.usage.Input + r.usage.CacheRead + r.usage.CacheWrite + r.usage.Output
	for i, b := range a.blocks {
		switch b.Type {
		case wireText:
			r.blocks = append(r.blocks, terret.Text(b.Text))
		case wireThinking:
			r.blocks = append(r.blocks, terret.Block{Type: terret.BlockThinking, Text: b.thought(), Name: model, Bytes: []byte(b.Signature)})
		case wireRedacted:
			r.blocks = append(r.blocks, terret.Block{Type: terret.BlockThinking, Name: model, MediaType: redacted, Bytes: []byte(b.Data)})
		case wireToolUse:
			r.blocks = append(r.blocks, terret.Block{Type: terret.BlockToolUse, ToolID: b.ID, Name: b.Name, Input: a.input(i)})
		}
	}
	return r
}

// input is that of a call: in pieces, or whole, or none.
func (a *answer) input(block int) terret.JSON {
	if pieces := a.inputs[block]; pieces != nil && pieces.Len() > 0 {
		return terret.JSON(pieces.String())
	}
	if whole := a.blocks[block].Input; len(whole) > 0 {
		return terret.JSON(whole)
	}
	return terret.JSON("{}")
}

// isObject reports whether the input of a tool is what the API takes back.
func isObject(input terret.JSON) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(input, &fields) == nil && fields != nil
}
