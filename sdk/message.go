package sdk

import "github.com/terret-dev/terret/view"

// Message is what Receive yields: a *NormalizedMessage, a *SystemMessage or a
// *ResultMessage. In JSON the field type tells them apart.
type Message = view.SDKMessage

// The messages are those of the neovate view.
type (
	// NormalizedMessage is a complete message of the conversation.
	NormalizedMessage = view.NormalizedMessage
	// SystemMessage comes when the agent is ready.
	SystemMessage = view.SystemMessage
	// ResultMessage is the last message of a turn.
	ResultMessage = view.ResultMessage
)
