// Package uhp is a server of the Unified Harness Protocol, version 2026-08-11, class full,
// whose tasks have the shape of OpenAI's Responses API.
//
// It is a view on the server's log by calls of [client.Client] with the token of whoever
// calls: a task is a turn, a session is a session, a configured harness is a preset, a
// persona or a bare agent, and what a task answers is folded from the events of its turn, in
// the same way while they come and when they are read again. Ids are those of the log in
// another form.
//
// The door itself keeps only what may be lost when the server stops: uploaded files, which
// are forgotten after a day, answers to repeated keys, which are then found in the log, and
// the clocks of tasks with a time limit.
package uhp
