// Package engine holds the verbs over the vocabulary: sessions that run turns,
// requests that are decided exactly once, and the streams of what happens.
//
// # One way in, one way out
//
// Whoever wants something calls a method of [Engine]. Whatever comes of it is
// committed to the log first and published after, so what [Engine.Events] yields
// can never be taken back by a crash.
//
// # The life of a turn
//
// A session that this process owns is in exactly one phase. One function moves it
// (live.to, in phase.go), checks the move against the table below, and does what
// follows from it: it starts and stops the idle timer, and writes session.state if
// the session looks different from outside. Everything is guarded by one mutex for
// each session, which is never held over input or output.
//
//	phase      entered by                              next                         a crash leaves
//	---------  --------------------------------------  ---------------------------  ----------------------------
//	idle       claiming the session; the end of a      starting, running,           nothing to do
//	           turn or of undo                         rewinding, leaving
//	starting   a prompt, or the queue: turn.start is   running, stopping, settling  a turn without an end
//	           written, then the agent is opened
//	running    the agent takes the prompt, or begins   stopping, settling           a turn without an end,
//	           a turn by itself                                                     open requests
//	stopping   interrupt, kill, a limit; the agent is  settling                     the same
//	           told, and killed if it takes too long
//	settling   the agent says that it is done, could   idle                         the same
//	           not start, or has died
//	rewinding  undo and redo                           idle                         files in the old or the
//	                                                                                new state, never between
//	leaving    closing, or a long time without a turn  gone                         nothing to do
//	broken     a commit that failed, from any phase    gone                         whatever the phase before did
//	gone       giving the session back                 -                            -
//
// What each phase holds: starting has a goroutine that opens the agent (turn.prepared
// tells when it is done). From running on the turn belongs to one agent (turn.host).
// stopping knows why (turn.stop). settling has a goroutine that decides the requests
// that are still open and records the folder; what the agent says meanwhile waits
// (live.held), so that the turn's end is its last event. Only then is turn.done
// closed. While somebody closes the session (live.closing) nothing new begins, and
// idle is followed by leaving.
//
// A crash needs no clean-up of its own: the next owner's claim ends the turn with an
// error, decides what is open, and goes on (adopt, in own.go).
//
// # The way of a prompt
//
//	Engine.Prompt     claims the session, or sends the prompt to its owner
//	settingsFor       resolves what is in force (settings.go)
//	begin             writes turn.start; idle → starting
//	openAgent         takes a warm agent, or starts one
//	hand              starting → running; the driver gets prompt and settings
//	host.Emit         what the agent says is written, in its order
//	host.Ask          a request: rules, policy, a person, the clock (desk.go, ask.go)
//	settle            the end; settling → idle; the next prompt of the queue
//
// # Goroutines
//
// One goroutine commits for all sessions of the process: everything that waits goes
// into one transaction. One watches for what other processes wrote, one feeds the
// recorder, and one starts agents before they are needed, if there is a pool. Each
// turn has one while it starts and one while it settles. Drivers call in on their
// own. [Engine.Close] waits for all of them.
//
// # Several processes
//
// Any number of engines may share a database, each through a store of its own. A
// session belongs to one of them at a time; prompts, interrupts and decisions for a
// session that another one owns reach it through the store.
package engine
