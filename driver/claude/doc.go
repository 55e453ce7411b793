// Package claude drives Claude Code, the command line agent, through its stream of
// JSON lines.
//
// # Processes
//
// An agent is one process for many turns, or in one-shot mode one for each turn. A
// process is greeted with the hooks that we want to hear of; one goroutine writes its
// lines and one reads them, and what waits for a decision waits in its own. The
// process is replaced when a turn needs what is fixed at the start, and when the
// conversation goes back: then the next prompt goes to a copy of the session that
// ends at an earlier message.
//
// # Translation
//
// Translation does no I/O. A [translator] holds what must be remembered of one
// process, takes its output line by line, and gives the events of each line in the
// words of the vocabulary, and beside them what is not an event: requests that wait
// for an answer, answers to our own requests, and requests that are withdrawn.
// Decisions become answers by pure functions.
//
// # How lines become events
//
// Claude Code writes one line for each block of a message; a message is complete
// when its stream stops, when the same speaker goes on to something else, or when
// the turn ends. A call of a tool is told when its input is whole, and again when
// its result is there, exactly once each. A result line ends a turn unless it
// belongs to work that nobody asked for while a prompt of ours still waits, or a
// message that was added to the turn has not been taken up yet. What it costs is
// the difference to what the process had cost before. Nothing is lost: a line that
// is not understood becomes an event of kind unknown, with the line; one that is
// not JSON becomes diag.parse_error.
//
// # Who is speaking
//
// Lines with a parent tool call are a subagent's. Its id is that of the task which
// the call started, and the actor of its events is "sub:" and that id.
package claude
