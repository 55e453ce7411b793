package sim

import (
	"context"
	"errors"
	"strings"
)

// created is the time of every answer in the dialects that have one: 2026-01-01.
const created = 1767225600

// The shapes of answers. Fields are in the API's order.
type (
	chatReply struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Model   string       `json:"model"`
		Choices []chatChoice `json:"choices"`
		Usage   *chatUsage   `json:"usage,omitempty"`
	}
	chatChoice struct {
		Index   int        `json:"index"`
		Message *chatDelta `json:"message,omitempty"` // of a whole reply
		Delta   *chatDelta `json:"delta,omitempty"`   // of a chunk
		Finish  *string    `json:"finish_reason"`
	}
	chatDelta struct {
		Role      string     `json:"role,omitempty"`
		Content   *string    `json:"content,omitempty"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		ToolCalls []chatCall `json:"tool_calls,omitempty"`
	}
	chatCall struct {
		Index    *int         `json:"index,omitempty"`
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function chatCallName `json:"function"`
	}
	chatCallName struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	chatUsage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
)

// all is what the model read, from the cache or not.
func (u Usage) all() int { return u.Input + u.CacheRead + u.CacheWrite }

func chatUsageOf(u Usage) *chatUsage {
	out := &chatUsage{Prompt: u.all(), Completion: u.Output, Total: u.all() + u.Output}
	out.Details.Cached = u.CacheRead
	return out
}

// chatFinish is why the model stopped, in the API's words.
func chatFinish(stop string) string {
	switch stop {
	case stopEnd:
		return "stop"
	case stopTools:
		return "tool_calls"
	case stopLength:
		return "length"
	case stopRefusal:
		return "content_filter"
	default:
		return stop
	}
}

// renamed replaces the player's prefix of an id with the dialect's.
func renamed(id, from, to string) string {
	if rest, ok := strings.CutPrefix(id, from); ok {
		return to + rest
	}
	return id
}

func callID(b ReplyBlock) string { return renamed(b.ID, "toolu_", "call_") }

// chatOf is the whole reply.
func chatOf(r Reply) chatReply {
	finish := chatFinish(r.Stop)
	m := &chatDelta{Role: "assistant"}
	var text string
	for _, b := range r.Blocks {
		switch b.Type {
		case BlockThinking:
			m.Reasoning += b.Text
		case BlockToolUse:
			m.ToolCalls = append(m.ToolCalls, chatCall{ID: callID(b), Type: "function", Function: chatCallName{b.Name, string(b.Input)}})
		default:
			text += b.Text
			m.Content = &text
		}
	}
	out := chatShell(r, "chat.completion")
	out.Choices = []chatChoice{{Message: m, Finish: &finish}}
	out.Usage = chatUsageOf(r.Usage)
	return out
}

func chatShell(r Reply, object string) chatReply {
	return chatReply{ID: renamed(r.ID, "msg_", "chatcmpl-"), Object: object, Created: created, Model: r.Model, Choices: []chatChoice{}}
}

// stream plays the reply as server-sent events.
func (d chat) stream(ctx context.Context, out *Output, req Request, reply Reply) error {
	chunk := func(delta chatDelta, finish *string) error {
		c := chatShell(reply, "chat.completion.chunk")
		c.Choices = []chatChoice{{Delta: &delta, Finish: finish}}
		return out.Event("", c)
	}
	empty := ""
	if err := chunk(chatDelta{Role: "assistant", Content: &empty}, nil); err != nil {
		return err
	}
	call := -1
	for ev, err := range reply.Events(ctx) {
		if e, ok := errors.AsType[*Error](err); ok {
			return out.Event("", d.Error(e, out.RequestID()))
		}
		if err != nil {
			return err
		}
		if ev.Kind == BlockStart && ev.Block.Type == BlockToolUse {
			call++
		}
		if ev.Kind == Noise {
			err = out.Raw(ev.Text + "\n\n")
		} else if delta, ok := chatDeltaOf(ev, call); ok {
			err = chunk(delta, nil)
		}
		if err != nil {
			return err
		}
	}
	finish := chatFinish(reply.Stop)
	if err := chunk(chatDelta{}, &finish); err != nil {
		return err
	}
	if req.wantUsage {
		c := chatShell(reply, "chat.completion.chunk")
		c.Usage = chatUsageOf(reply.Usage)
		if err := out.Event("", c); err != nil {
			return err
		}
	}
	return out.Raw("data: [DONE]\n\n")
}

// chatDeltaOf is what an event adds, if anything. Calls are counted from 0.
func chatDeltaOf(ev Event, call int) (chatDelta, bool) {
	switch {
	case ev.Kind == BlockStart && ev.Block.Type == BlockToolUse:
		return chatDelta{ToolCalls: []chatCall{{Index: &call, ID: callID(ev.Block), Type: "function", Function: chatCallName{Name: ev.Block.Name}}}}, true
	case ev.Kind != BlockPiece:
		return chatDelta{}, false
	case ev.Block.Type == BlockToolUse:
		return chatDelta{ToolCalls: []chatCall{{Index: &call, Function: chatCallName{Arguments: ev.Text}}}}, true
	case ev.Block.Type == BlockThinking:
		return chatDelta{Reasoning: ev.Text}, true
	default:
		return chatDelta{Content: &ev.Text}, true
	}
}
