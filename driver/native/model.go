package native

import (
	"context"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
)

// model continues a conversation.
type model interface {
	// generate answers the conversation, passing pieces to the sink as they come. An
	// error wraps a *terret.Error whose code says what went wrong; the reply then holds
	// only the usage so far.
	generate(ctx context.Context, q query, s sink) (reply, error)
}

// failure is a model's error that says more than others.
type failure struct {
	why     *terret.Error
	after   time.Duration // how long the provider asks to wait, or zero
	tooLong bool          // the conversation is too long for the model
}

func (f *failure) Error() string { return f.why.Error() }

func (f *failure) Unwrap() error { return f.why }

// query is what a model is asked.
type query struct {
	system   string
	messages []message
	tools    []toolSpec
	effort   string // how hard to think; empty means the model's own choice
}

// message is part of the conversation. The role is user or assistant; tool results are
// blocks in user messages.
type message struct {
	role   terret.Role
	blocks []terret.Block
	turn   string // the turn it was said in, if known
	id     string // of a prompt
}

// toolSpec is what a model is told about a tool.
type toolSpec struct {
	name, description string
	schema            json.RawMessage
}

// sink takes the pieces of an answer. An error ends the answer.
type sink func(piece) error

// piece is a part of an answer in progress. The index counts the blocks of the answer.
type piece struct {
	index    int
	text     string
	thinking string
	toolID   string // with toolName, a call begins
	toolName string
	input    string // of the call that began at the index
}

// reply is a complete answer.
type reply struct {
	blocks     []terret.Block
	stopReason string
	usage      terret.Usage
	cost       terret.Cost // as the provider says; zero if it does not
	context    int64       // tokens of the conversation so far
}

// callsIn lists the tool calls in a message, in order.
func callsIn(blocks []terret.Block) []terret.Block {
	var out []terret.Block
	for _, b := range blocks {
		if b.Type == terret.BlockToolUse {
			out = append(out, b)
		}
	}
	return out
}
