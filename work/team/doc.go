// Package team is named agents that work together: providers make agents, a registry
// runs and restarts them, and a bus carries messages between them and to people.
//
// Everything is built on sessions. An agent answers a message with a turn of its
// session, so all that it does is in that session's log. The team itself has a log, too:
// a session that no agent works in, whose events say who is in the team, what was said,
// and who has received it. Nothing else is stored. A process that takes over after a
// crash reads that log and continues.
//
// # Delivered exactly once
//
// The turn that answers a message has an id that is computed from the message, the
// recipient and the attempt, and so has the answer. The engine begins a turn with a given
// id only once. A process that dies between two steps leaves the next one the same steps
// with the same ids, which do nothing if they were done.
//
// # Trust
//
// What an agent wrote reaches other agents marked as such. It is a prompt and nothing
// else: it waits its turn behind what people ask, and cannot answer a request.
package team
