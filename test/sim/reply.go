package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"
)

// ErrDropped says that the script drops the connection at this point.
var ErrDropped = errors.New("sim: the scenario drops the connection here")

// Error is an API error as an answer: scripted or, with status 400, because no step
// answers the request.
type Error struct {
	Status     int    // of HTTP
	Type       string // as the API names it; empty: the dialect's name for the status
	Message    string
	RetryAfter time.Duration
	Headers    map[string]string
	Body       string // if set, sent unchanged instead of the API's shape
}

// Error implements error.
func (e *Error) Error() string {
	name := e.Type
	if name == "" {
		name = http.StatusText(e.Status)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, name)) + ": " + e.Message
}

// Usage is what a reply costs, in tokens.
type Usage struct{ Input, Output, CacheRead, CacheWrite int }

// Reply is the model's answer. Its blocks are there at once; Events plays them as a
// model would. A Reply does not change.
type Reply struct {
	ID     string // unique among the player's replies
	Model  string
	Blocks []ReplyBlock
	Stop   string // one of those below, or as the step says
	Usage  Usage
	// Garbage, if set, is the whole answer and there are no blocks.
	Garbage string

	delay time.Duration   // before each piece
	hold  <-chan struct{} // closed when the last piece may be sent; nil: at once
	noise string          // sent after the last piece
	fail  error           // how the reply ends after its last piece: *Error or ErrDropped
}

// Stop reasons. Dialects have other words for them.
const (
	stopEnd     = "end_turn"
	stopTools   = "tool_use"
	stopLength  = "max_tokens"
	stopRefusal = "refusal"
)

// ReplyBlock is a part of a reply: text, thinking or tool_use.
type ReplyBlock struct {
	Type      BlockType
	Text      string // of text and thinking
	Signature string // of thinking
	ID, Name  string // of tool_use
	Input     json.RawMessage
	// Pieces are what is streamed: of the text, or of the input's JSON.
	Pieces []string
}

// EventKind says what happens next in a reply.
type EventKind string

// What happens in a reply.
const (
	BlockStart EventKind = "start"
	BlockPiece EventKind = "piece"
	BlockEnd   EventKind = "end"
	Noise      EventKind = "noise" // Text is garbage, to be sent unchanged
)

// Event is one step of playing a reply.
type Event struct {
	Kind  EventKind
	Index int // of the block
	Block ReplyBlock
	Text  string // of a piece or of noise
}

// Events plays the reply with its delays: each block is started, sent in pieces and
// ended. Scripted trouble comes after the last piece, before that block ends: noise as
// an event, *Error and ErrDropped as the error, which comes last. A held answer waits
// before its last piece for Player.Release. When ctx is done, its cause is the error.
// Events may be played repeatedly.
func (r Reply) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for i, b := range r.Blocks {
			if !yield(Event{Kind: BlockStart, Index: i, Block: b}, nil) {
				return
			}
			for n, piece := range b.Pieces {
				err := sleep(ctx, r.delay)
				if err == nil && i == len(r.Blocks)-1 && n == len(b.Pieces)-1 {
					err = r.held(ctx)
				}
				if err != nil {
					yield(Event{}, err)
					return
				}
				if !yield(Event{Kind: BlockPiece, Index: i, Block: b, Text: piece}, nil) {
					return
				}
			}
			if i == len(r.Blocks)-1 && !r.trouble(i, yield) {
				return
			}
			if !yield(Event{Kind: BlockEnd, Index: i, Block: b}, nil) {
				return
			}
		}
		if len(r.Blocks) == 0 {
			r.trouble(0, yield)
		}
	}
}

// held waits until the last piece may be sent.
func (r Reply) held(ctx context.Context) error {
	if r.hold == nil {
		return nil
	}
	select {
	case <-r.hold:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// trouble plays the scripted trouble, and reports whether to continue.
func (r Reply) trouble(index int, yield func(Event, error) bool) bool {
	if r.noise != "" && !yield(Event{Kind: Noise, Index: index, Text: r.noise}, nil) {
		return false
	}
	if r.fail != nil {
		yield(Event{}, r.fail)
		return false
	}
	return true
}

// sleep waits for d or until ctx is done; then it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
