// Package acp drives any agent that speaks the Agent Client Protocol, version 1: JSON-RPC
// over lines on its standard input and output.
//
//	d := acp.New(acp.Profile{Name: "mine", Argv: []string{"my-agent", "--acp"}}, acp.Config{})
//
// What agents do differently is data: a [Profile] says how a program is started, in
// which of its modes it asks, how to tell that somebody is signed in, what it can do,
// and which habits it has that the protocol does not provide for. [Profiles] lists those
// that were tried on the real program. A program without a profile is taken at its word.
//
// # Processes
//
// An agent is one process with one session, for many turns; in one-shot mode each turn
// has a process of its own. It is told that we have neither files nor terminals for it:
// it works on the same disk. The process is replaced when it has ended, and when a turn
// needs a session that was opened with other servers or folders; then the session is
// resumed, or loaded, and what the agent replays of it is dropped. If it has lost the
// session, another one is begun, and the log says so.
//
// # A turn
//
// A turn is one call, session/prompt, whose answer is the end of the turn. In between the
// agent tells what happens (session/update) and asks (session/request_permission). What
// it tells is handled one at a time and in order; what it asks waits elsewhere.
//
//	session/prompt ──▶ message and thought chunks    deltas, and whole messages
//	                   tool_call, tool_call_update   one call, put together from all of them
//	                   session/request_permission    a request, which may be the first word about a call
//	               ◀── {stopReason}                  what is open is closed, then the turn ends
//
// Requests that are open when the turn ends are withdrawn before its end is told. A turn
// is interrupted by session/cancel; from then on everything that the agent asks is
// answered with "cancelled", or some agents would never end. An agent that says nothing
// for too long, while no tool runs and nobody is asked, is interrupted as well, since
// agents ask a model that fails again and again without a word; if it does not stop, its
// process is killed.
//
// # What is not understood
//
// Nothing is lost: updates and methods that are not known become events of kind unknown,
// with the line; a line that is not JSON becomes diag.parse_error. What belongs to a turn
// but comes after its end is kept as unknown too, since it would begin a turn that nobody
// ends.
package acp
