package native

import (
	"context"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
)

// model is something that continues a conversation.
type model interface {
	// generate answers the conversation, telling the sink the pieces as they come.
	// An error wraps a *terret.Error whose kind says what went wrong; the reply
	// then has the usage there was until that, and nothing else.
	generate(ctx context.Context, q query, s sink) (reply, error)
}

// failure is an error of a model that says when to try again.
type failure struct {
	why   *terret.Error
	after time.Duration // how long the provider asks to wait; zero if it does not
}

func (f *failure) Error() string { return f.why.Error() }

func (f *failure) Unwrap() error { return f.why }

// query is what a model is asked.
type query struct {
	system   string
	messages []message
	tools    []toolSpec
}

// message is a part of the conversation. The role is user or assistant; results
// of tools are blocks in messages of the user.
type message struct {
	role   terret.Role
	blocks []terret.Block
	turn   string // that it was said in, where that is known
	id     string // of a prompt
}

// toolSpec is what a model is told of a tool.
type toolSpec struct {
	name, description string
	schema            json.RawMessage
}

// sink takes the pieces of an answer. Its error ends the answer.
type sink func(piece) error

// piece is a part of an answer in the making. The index counts the blocks of the
// answer.
type piece struct {
	index    int
	text     string
	thinking string
	toolID   string // with toolName, a call begins
	toolName string
	input    string // of the call that began at the index
}

// reply is a whole answer.
type reply struct {
	blocks     []terret.Block
	stopReason string
	usage      terret.Usage
	context    int64 // tokens of the conversation so far
}

// callsIn are the calls of tools in a message, in order.
func callsIn(blocks []terret.Block) []terret.Block {
	var out []terret.Block
	for _, b := range blocks {
		if b.Type == terret.BlockToolUse {
			out = append(out, b)
		}
	}
	return out
}
