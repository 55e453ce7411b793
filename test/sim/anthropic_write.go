package sim

import (
	"context"
	"encoding/json"
	"errors"
)

// The shapes of answers. Fields are in the API's order.
type (
	wireReply struct {
		ID           string    `json:"id"`
		Type         string    `json:"type"`
		Role         string    `json:"role"`
		Model        string    `json:"model"`
		Content      []any     `json:"content"`
		StopReason   *string   `json:"stop_reason"`
		StopSequence *string   `json:"stop_sequence"`
		Usage        wireUsage `json:"usage"`
	}
	wireUsage struct {
		Input      int `json:"input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		Output     int `json:"output_tokens"`
	}
	wireText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	wireThinking struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	wireToolUse struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	wireThinkingDelta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	}
	wireSignatureDelta struct {
		Type      string `json:"type"`
		Signature string `json:"signature"`
	}
	wireInputDelta struct {
		Type        string `json:"type"`
		PartialJSON string `json:"partial_json"`
	}
	wireStop struct {
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
	// wireEvent is every event of the stream; each sets what it has.
	wireEvent struct {
		Type         string     `json:"type"`
		Message      *wireReply `json:"message,omitempty"`
		Index        *int       `json:"index,omitempty"`
		ContentBlock any        `json:"content_block,omitempty"`
		Delta        any        `json:"delta,omitempty"`
		Usage        *wireUsage `json:"usage,omitempty"`
	}
)

func usageOf(u Usage) wireUsage {
	return wireUsage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
}

// messageOf is the whole reply.
func messageOf(r Reply) wireReply {
	m := wireReply{ID: r.ID, Type: "message", Role: "assistant", Model: r.Model, Content: []any{}, StopReason: &r.Stop, Usage: usageOf(r.Usage)}
	for _, b := range r.Blocks {
		m.Content = append(m.Content, blockOf(b))
	}
	return m
}

func blockOf(b ReplyBlock) any {
	switch b.Type {
	case BlockThinking:
		return wireThinking{"thinking", b.Text, b.Signature}
	case BlockToolUse:
		return wireToolUse{"tool_use", b.ID, b.Name, b.Input}
	default:
		return wireText{"text", b.Text}
	}
}

// emptyBlockOf is the block at its start.
func emptyBlockOf(b ReplyBlock) any {
	b.Text, b.Signature, b.Input = "", "", json.RawMessage("{}")
	return blockOf(b)
}

func deltaOf(t BlockType, piece string) any {
	switch t {
	case BlockThinking:
		return wireThinkingDelta{"thinking_delta", piece}
	case BlockToolUse:
		return wireInputDelta{"input_json_delta", piece}
	default:
		return wireText{"text_delta", piece}
	}
}

// stream plays the reply as server-sent events.
func (d anthropic) stream(ctx context.Context, out *Output, reply Reply) error {
	start := messageOf(reply)
	start.Content, start.StopReason, start.Usage.Output = []any{}, nil, 1
	if err := send(out, wireEvent{Type: "message_start", Message: &start}); err != nil {
		return err
	}
	if err := send(out, wireEvent{Type: "ping"}); err != nil {
		return err
	}
	for ev, err := range reply.Events(ctx) {
		if e, ok := errors.AsType[*Error](err); ok {
			return out.Event("error", d.Error(e, out.RequestID()))
		}
		if err != nil {
			return err
		}
		if err := d.streamEvent(out, ev); err != nil {
			return err
		}
	}
	usage := usageOf(reply.Usage)
	if err := send(out, wireEvent{Type: "message_delta", Delta: wireStop{StopReason: reply.Stop}, Usage: &usage}); err != nil {
		return err
	}
	return send(out, wireEvent{Type: "message_stop"})
}

func (anthropic) streamEvent(out *Output, ev Event) error {
	switch ev.Kind {
	case BlockStart:
		return send(out, wireEvent{Type: "content_block_start", Index: &ev.Index, ContentBlock: emptyBlockOf(ev.Block)})
	case BlockPiece:
		return send(out, wireEvent{Type: "content_block_delta", Index: &ev.Index, Delta: deltaOf(ev.Block.Type, ev.Text)})
	case BlockEnd:
		if ev.Block.Type == BlockThinking {
			signature := wireSignatureDelta{"signature_delta", ev.Block.Signature}
			if err := send(out, wireEvent{Type: "content_block_delta", Index: &ev.Index, Delta: signature}); err != nil {
				return err
			}
		}
		return send(out, wireEvent{Type: "content_block_stop", Index: &ev.Index})
	case Noise:
		return out.Raw(ev.Text + "\n\n")
	default:
		return nil
	}
}

func send(out *Output, ev wireEvent) error { return out.Event(ev.Type, ev) }
