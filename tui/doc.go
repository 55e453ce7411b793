// Package tui is the full-screen workspace: every session in one terminal, over the client
// of a server. Run runs it.
//
// One goroutine owns what is shown (the model): it takes keys, batches of events and
// answers of the server as messages, and never waits for anything. What waits runs in
// commands, and streams in goroutines of their own that gather events into batches, so a
// flood of events costs as much time as a few frames. Only rows that are in view are laid
// out, and each item's rows are kept until it changes.
//
// Text of others reaches the terminal through one function, safe.
package tui
