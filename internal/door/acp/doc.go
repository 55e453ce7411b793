// Package acp is Terret as an agent of the Agent Client Protocol, so that an editor drives
// any agent through it, with Terret's rules, log and undo.
//
// It is a client like any other: what an editor asks for becomes a call of [client.Client],
// and what happens in a session, whoever caused it, becomes updates for the editor. A
// request for permission goes to the editor while it waits for everybody else too; who
// answers first counts, and the editor's dialog is withdrawn if it was not the editor.
//
// A [Serve] call has one goroutine for each session that the editor has open, which follows
// its events, and one for each question that the editor is asked. All have ended when it
// returns.
package acp
