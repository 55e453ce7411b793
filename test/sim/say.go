package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	inputChunk       = 16       // characters of a tool's input in one piece
	defaultSignature = "c2ltLg" // opaque to clients; they send it back
)

// say makes the reply of an answer. The error is *Error or ErrDropped, if nothing is
// sent before it. It does not wait.
func (a answer) say(r Request, id string, values map[string]string) (Reply, error) {
	fail := a.failure(values)
	if fail != nil && !a.says() && a.Drop != dropMid {
		return Reply{}, fail
	}
	reply := Reply{ID: "msg_" + id, Model: r.Model, Stop: a.stop(), delay: a.delay, fail: fail}
	var err error
	if reply.Blocks, err = a.blocks(r, id, values); err != nil {
		return Reply{}, err
	}
	if garbage := expand(a.Garbage, values); len(reply.Blocks) > 0 {
		reply.noise = garbage
	} else {
		reply.Garbage = garbage
	}
	reply.Usage = a.usage(r, reply.Blocks)
	return reply, nil
}

// failure is how the reply ends, nil if it does not fail.
func (a answer) failure(values map[string]string) error {
	switch {
	case a.Drop != "":
		return ErrDropped
	case a.Error == nil:
		return nil
	}
	e := &Error{Status: a.Error.Status, Type: a.Error.Type, Message: expand(a.Error.Message, values), RetryAfter: a.retryAfter}
	if e.Message == "" {
		e.Message = "The scenario says so"
	}
	if len(a.Error.Headers) > 0 {
		e.Headers = map[string]string{}
		for k, v := range a.Error.Headers {
			e.Headers[k] = expand(v, values)
		}
	}
	if !a.says() {
		e.Body = expand(a.Garbage, values)
	}
	return e
}

func (a answer) stop() string {
	switch {
	case a.StopReason != "":
		return a.StopReason
	case a.Refuse != "":
		return stopRefusal
	case len(a.Tools) > 0:
		return stopTools
	default:
		return stopEnd
	}
}

// blocks are the thinking, the text and the tool calls, in this order.
func (a answer) blocks(r Request, id string, values map[string]string) ([]ReplyBlock, error) {
	var out []ReplyBlock
	if a.Thinking != "" {
		text := expand(a.Thinking, values)
		b := ReplyBlock{Type: BlockThinking, Text: text, Signature: a.Signature, Pieces: pieces(text, a.Chunk)}
		if b.Signature == "" {
			b.Signature = defaultSignature
		}
		out = append(out, b)
	}
	text := strings.Repeat(expand(a.Text+a.Refuse, values), max(a.Times, 1))
	said := pieces(text, a.Chunk)
	if len(a.Pieces) > 0 {
		said = make([]string, len(a.Pieces))
		for i, p := range a.Pieces {
			said[i] = expand(p, values)
		}
		text = strings.Join(said, "")
	}
	if text != "" {
		out = append(out, ReplyBlock{Type: BlockText, Text: text, Pieces: said})
	}
	for i, t := range a.Tools {
		name, in, err := t.call(r, values)
		if err != nil {
			return nil, err
		}
		b := ReplyBlock{Type: BlockToolUse, ID: t.ID, Name: name, Input: in}
		if b.ID == "" {
			b.ID = fmt.Sprintf("toolu_%s_%d", id, i+1)
		}
		chunk := a.Chunk
		if chunk == 0 {
			chunk = inputChunk
		}
		b.Pieces = pieces(string(b.Input), chunk)
		out = append(out, b)
	}
	return out, nil
}

// call is the tool to call, and its input with values inserted.
func (t toolFile) call(r Request, values map[string]string) (name string, in json.RawMessage, err error) {
	if t.Do == "" {
		return t.Name, input(t.Input, values), nil
	}
	given := map[string]string{}
	for key, value := range t.Input {
		text, _ := value.(string) // checked before
		given[key] = expand(text, values)
	}
	name, made, err := do(t.Do, given, r.Tools)
	if err != nil {
		return "", nil, err
	}
	in, err = encode(made)
	return name, in, err
}

// input is a tool's input with values inserted. It was checked that it can be written
// as JSON.
func input(in map[string]any, values map[string]string) json.RawMessage {
	if len(in) == 0 {
		return json.RawMessage("{}")
	}
	out, err := encode(eachString(in, func(s string) string { return expand(s, values) }))
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

// usage is what the step says, or else one token for four characters.
func (a answer) usage(r Request, blocks []ReplyBlock) Usage {
	u := Usage{Input: tokens(len(r.Raw)), CacheRead: a.Usage.CacheRead, CacheWrite: a.Usage.CacheWrite}
	size := 0
	for _, b := range blocks {
		size += utf8.RuneCountInString(b.Text) + len(b.Input)
	}
	u.Output = tokens(size)
	if a.Usage.Input != nil {
		u.Input = *a.Usage.Input
	}
	if a.Usage.Output != nil {
		u.Output = *a.Usage.Output
	}
	return u
}

func tokens(characters int) int { return max(1, characters/4) }

// pieces splits text after every chunk characters or, with chunk 0, after each word.
func pieces(text string, chunk int) []string {
	if chunk == 0 {
		return slices.DeleteFunc(strings.SplitAfter(text, " "), func(s string) bool { return s == "" })
	}
	var out []string
	for start := 0; start < len(text); {
		end := start
		for n := 0; n < chunk && end < len(text); n++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		out = append(out, text[start:end])
		start = end
	}
	return out
}

// merge is a copy of values with more added.
func merge(values, more map[string]string) map[string]string {
	out := maps.Clone(values)
	maps.Copy(out, more)
	return out
}
