// Package opencode drives OpenCode through its server, `opencode serve`: version 1 of
// its HTTP API, and its stream of events.
//
// # Servers
//
// Sessions share a server: one for each environment and set of settings that are fixed
// at its start, which is nearly always the same one. It is started for the first session
// that wants it, under the guard and with a password of its own, and ended with the last.
// When it dies, each of its sessions tells so, and the next prompt starts another.
//
// An agent stays at a server: one goroutine listens to the events of its folder, one
// runs its turns, and what waits for a decision waits in its own.
//
// # How a turn goes
//
// The session is given its rules, the prompt is posted, and events tell the rest. A
// translator, which does no I/O, makes events of the vocabulary of them; to say the same
// twice changes nothing, so what is missed while the stream is broken is read from the
// stored messages afterwards.
//
// The server says that a session is idle more than once, before its last words, and
// sometimes not at all. So that is only a hint. The turn is over when the last message
// answers the last prompt; where that is in doubt the server is asked, at the latest when
// it was silent for a while.
//
// # Every tool use is asked for
//
// The agent asks where its rules say ask, and ours come last: the rules of the session
// for the agent itself, and those in the environment for subagents, to whom the rules of
// the session do not extend. What its own rules deny stays denied. Rules decide first
// about tools that change nothing and stay in the session's folders, and a person only if
// a rule says so; about all others the policy and a person do. Three things are not
// like that: tools of plugins run without asking, so they are not offered unless they are
// approved; a subagent whose own settings allow tools is not started; and an answer is
// never "always", which would count for other sessions too.
//
// # Undo
//
// Files are recorded and taken back by us alone; the agent's own snapshots are off. Its
// revert and unrevert move the conversation.
package opencode
