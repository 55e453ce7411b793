// Package codex drives Codex, OpenAI's command line agent, through its app server.
//
// # Processes
//
// An agent is one `codex app-server` with one thread in it. It is replaced when a turn
// needs what is fixed at the start of a process or a thread; the thread is then
// resumed. Going back is a copy of the thread that ends earlier, so going forward is
// the old thread again.
//
// # How every tool use passes us
//
// Codex asks about commands and patches, because its approval policy is "untrusted" and
// it has no sandbox: our rules take its place. But an approval tells the model nothing
// of the reason, and says nothing about other tools. So each tool use is put to us by
// Codex's own hook before it, which we define for the process and trust by its hash. The
// hook is a shell script that hands its input to us through a named pipe and prints our
// answer; see [relay]. What was decided there is not asked again: its approval is given
// at once. Should the hook not run, the approval is decided like any other.
//
// In a sandbox (permission modes read-only and workspace-write) the approval policy is
// "on-request": with "untrusted", Codex runs an approved command that the sandbox held
// back once more without it, and asks nobody. So there the hook alone decides about tools,
// and an approval is a question to a person: may this leave the sandbox? The hook does not
// say in which folder a command runs; in a sandbox no approval adds it.
//
// Two tools would pass neither, so Codex does not get them: a terminal, into which commands
// could be typed, and the provider's web search, unless it is approved by name.
//
// The other hooks (prompt, stop, a subagent's stop, compaction) are defined only in turns
// in which somebody wants to decide there.
//
// # How a turn goes
//
//	turn/start                 the prompt is accepted
//	item/started, deltas       thinking and text, in pieces
//	hook before a tool         tool.pre, and a decision
//	item/started, approval     the tool runs
//	item/completed             tool.post or tool.failure
//	thread/tokenUsage/updated  the model's reply is over: one message
//	turn/completed             turn.complete or turn.error, exactly once
//
// # Translation
//
// Translation does no I/O. A [translator] holds what must be remembered of one process
// and makes events of its notifications. Notifications that we know and do not need are
// listed; all others become events of kind unknown, with the line.
package codex
