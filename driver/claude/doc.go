// Package claude drives Claude Code, the command line agent, through its stream of JSON
// lines.
//
// # Processes
//
// An agent is one process for many turns or, in one-shot mode, one for each turn. We
// greet a process with the hooks that we want to hear about; one goroutine reads its
// lines, one writes most of ours, and each request that waits for a decision has its
// own. The process is replaced when a turn needs other start options, and when the
// conversation goes back: then the next prompt goes to a copy of the session that ends
// at an earlier message.
//
// # Translation
//
// Translation does no I/O. A [translator] holds the state of one process, takes its
// output line by line, and returns the events of each line, plus what is not an event:
// requests that wait for an answer, answers to our own requests, and withdrawn
// requests. Pure functions turn decisions into answers.
//
// # How lines become events
//
// Claude Code writes one line for each block of a message; a message is complete when
// its stream stops, when the same speaker goes on to something else, or when the turn
// ends. A tool call is reported when its input is complete, and again when its result
// is there, exactly once each. A result line ends a turn, unless it belongs to
// background work while a prompt of ours still waits, or a message that was added to
// the turn has not been read yet. Its cost is the difference to what the process had
// cost before. Nothing is lost: a line that is not understood becomes an event of kind
// unknown, with the line; one that is not JSON becomes diag.parse_error.
//
// # Who speaks
//
// Lines with a parent tool call come from a subagent. Its id is that of the task which
// the call started, and the actor of its events is "sub:" and that id.
package claude
