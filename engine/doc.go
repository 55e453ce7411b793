// Package engine runs sessions: it runs their turns, decides each request exactly once,
// and streams what happens.
//
// # One way in, one way out
//
// Callers use the methods of [Engine]. Every result is committed to the log first and
// published after that, so what [Engine.Events] yields, and what a method has written when
// it returns, survives a crash and a power cut. Stopping a turn and closing a session
// answer for the agent, not for the events that say so.
//
// # The life of a turn
//
// A session that this process owns is in exactly one phase. One function changes it
// (live.to), checks the transition against the table below, and applies
// its effects: it starts and stops the idle timer, and writes session.state if the
// session looks different from outside. One mutex per session guards all of it, and is
// never held during I/O.
//
//	phase      entered by                              next                         a crash leaves
//	---------  --------------------------------------  ---------------------------  ----------------------------
//	idle       claiming the session; the end of a      starting, running,           nothing to do
//	           turn, or of quiet                       quiet, leaving
//	starting   a prompt, or the queue: turn.start is   running, stopping, settling  a turn without an end
//	           written, then the agent is opened
//	running    the agent takes the prompt, or begins   stopping, settling           a turn without an end,
//	           a turn by itself                                                     open requests
//	stopping   interrupt, kill, a limit; the agent is  settling                     the same
//	           told, and killed if it takes too long
//	settling   the agent says that it is done, could   idle                         the same
//	           not start, or has died
//	quiet      undo, redo, putting files back, moving  idle                         files in the old or the
//	           to another node, what others do with                                 new state, never between
//	           its folder (quietly, in quiet.go)
//	leaving    closing, or a long time without a turn  gone                         nothing to do
//	broken     a failed commit or sync, from any phase gone                         whatever the phase before did
//	gone       giving the session back                 -                            -
//
// What each phase holds: starting has a goroutine that opens the agent (turn.prepared
// is closed when it is done). From running on, the turn belongs to one agent
// (turn.host). stopping has a reason (turn.stop). settling has a goroutine that decides
// the requests that are still open and records the folder; what the agent says
// meanwhile waits (live.held), so that the turn's end is its last event. Only then is
// turn.done closed. While somebody is closing the session (live.closing), nothing new
// begins, and leaving follows idle.
//
// A crash needs no clean-up of its own: the next owner's claim ends the turn with an
// error, decides open requests, and goes on (adopt, in own.go).
//
// # What ends what
//
//	function     called by                              holding    ends
//	-----------  -------------------------------------  ---------  --------------------------------------
//	stopLocal    Interrupt, Kill, Decide, the inbox,    nothing    the turn, because somebody said so
//	             stopAll
//	stopFor      a limit, silence                       l.mu       the turn, for a reason of the engine's
//	markStopped  stopLocal, stopFor, killTurn           l.mu       nothing yet: running → stopping, and why
//	stopTurn     stopLocal, stopFor                     nothing    its requests; tells the agent
//	killLate     stopTurn                               nothing    what does not stop in time: killTurn
//	killTurn     stopLocal, killLate, stopAll           nothing    the agent by force, then the turn
//	endTurn      killTurn, runTurn, dropAgent           nothing    the turn, if the agent has not: settle
//	settle       host.Emit, endTurn                     nothing    the turn, whoever ended it
//	detach       killTurn, retire, abandon, dropAgent   l.mu       nothing yet: the caller closes the agent
//	dropAgent    host.Emit                              l.mu       an agent that has left, and its turn
//	closeAgent   retire, dropAgent, openFor             l.opening  the agent, politely; its requests
//	killAgent    killTurn, abandon                      nothing    the agent, by force
//	shut         Close, CloseSession, Delete, Move,     nothing    the session: stopAll, then retire
//	             the inbox, the idle timer
//	stopAll      shut                                   nothing    the turn, or waits for what is quiet
//	retire       shut, recoverOne                       nothing    an idle session: closes, logs, releases
//	Failed       the journal, a lost lease              nothing    the log: → broken, then abandon
//	abandon      Failed, illegal                        nothing    a broken session, without a word
//	forget       retire, abandon                        nothing    our part in it: → gone
//
// # The path of a prompt
//
//	Engine.Prompt     claims the session, or sends the prompt to its owner
//	settingsFor       resolves what is in force (settings.go)
//	begin             writes turn.start; idle → starting; Prompt returns when it is on disk
//	openAgent         takes a warm agent, or starts one
//	hand              starting → running; the driver gets prompt and settings
//	host.Emit         writes what the agent says, in order
//	host.Ask          a request: rules, policy, a person, the time limit (ask.go, internal/desk)
//	settle            the end; settling → idle; the next queued prompt
//
// # Goroutines
//
// One goroutine commits for all sessions of the process: everything that waits goes
// into one transaction. One watches for what other processes write, one feeds the
// recorder, and one keeps the pool of warm agents, if there is a pool. Each turn has
// one while it starts and one while it settles. Drivers call in on their own goroutines.
// [Engine.Close] waits for all of them.
//
// # Several processes
//
// Any number of engines may share a database, each through its own store. A session
// belongs to one of them at a time; prompts, interrupts and decisions from the others
// reach the owner through the store.
package engine
