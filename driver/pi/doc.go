// Package pi drives Pi, Mario Zechner's coding agent, through its RPC mode.
//
// # Processes
//
// An agent is one `pi --mode rpc` with one session in it. The model and how much it thinks
// are fixed at its start: Pi would keep another choice as the user's own. It is replaced
// when a turn needs another one, and goes on with the same session.
//
// # How every tool use passes us
//
// Pi asks nobody. So each process loads an extension of ours, extension.js, before which
// every tool call waits: it asks us over Pi's own protocol for dialogs, blocks what we do
// not allow, and freezes what we allow, so that no other extension changes it afterwards.
// Without an answer a call does not run. A process that does not say that it has loaded
// the extension is ended before it gets a prompt.
//
// The extension is also how a turn gets its tools, its part of the system prompt and its
// schema, and how the conversation goes back: Pi's sessions are trees, and its protocol
// cannot move in them.
//
// Pi follows .pi/settings.json of a folder whatever it is told, and that file names
// programs. So it is not started where that file is and nobody trusts the folder. Other
// files of a folder's .pi are left out there.
//
// # How a turn goes
//
//	prompt                    the prompt is accepted, or refused
//	message_update            thinking, text and calls, in pieces
//	message_end               the model's reply is over: one message
//	tool_execution_start      the tool waits for us: tool.pre, and a decision
//	tool_execution_end        tool.post or tool.failure
//	agent_end                 Pi is done, unless it tries again or compacts, which it says next
//	get_session_stats         our question after it: when it is answered, the turn is over
//
// # Translation
//
// Translation does no I/O. A [translator] holds what must be remembered of one process and
// makes events of its lines. Lines that we know and do not need are listed; all others
// become events of kind unknown, with the line.
package pi
