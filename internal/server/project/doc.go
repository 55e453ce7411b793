// Package project keeps Terret's files inside a project's folder:
//
//	.terret/logs/harness.log           what happened, one JSON object a line
//	.terret/sessions/{id}.json         what each session is
//	.terret/prompts/{id}-system.txt    the system prompt of its last turn
//	.terret/.gitignore                 keeps these three, and itself, out of git
//
// They are for people and other tools. Terret itself never reads them: the log in the
// store is the truth.
//
// [Files] records what an engine commits. It never fails a session: if a folder is
// gone, cannot be written to or is not what it should be, the operator's log says so
// once and the work continues.
//
// # Guarantees
//
// Everything goes through package internal/redact first. Nothing outside the project's
// folder is written: a .terret, or anything in it, that is a symbolic link, a pipe or
// otherwise odd is refused. Files are readable only by their owner. A line of the log
// is written in one piece, even if several processes log to the same folder, and a
// session's file is replaced, never rewritten in place.
package project
