// Package hooks makes the sessions that people run in their own terminals appear in
// Terret: the agent's hooks call a small program ([Call]), which asks the server over a
// Unix socket ([Server.Serve]) and prints its answer. [Install] puts that program into the
// agent's settings.
//
// The socket is in Terret's home, which only its user may enter. What comes in over it may
// report and ask, never decide.
package hooks
