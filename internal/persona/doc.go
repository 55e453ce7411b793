// Package persona gives an agent a role: a file agents/AGENT_*.md in the project,
// with settings at its head and instructions below.
//
//	---
//	description: Looks, and changes nothing
//	tools: Read, Grep, Glob
//	disallowed_tools: [Bash]
//	auto_approve_tools: ["Read(src/**)"]
//	max_turns: 10
//	---
//	You review changes...
//
// A [Library] finds and reads personas and puts the system prompt together; it keeps
// what it has read for as long as the file does not change. [Apply] says what a new
// session gets from its persona; what a persona means for a turn is for the engine to
// say. [CheckOversight] says whether an agent can be held to it.
//
// # Settings
//
//	id                  its name, if it is not the file's
//	description         one line for people
//	tools               the tools that exist for the agent; [] is none
//	disallowed_tools    rules for what is denied
//	auto_approve_tools  rules for what runs without being asked for
//	max_turns           most steps in a turn
//	gates               where the agent waits for a decision, such as stop
//	model, agent        what to use, unless a person says otherwise
//	policy              what happens when no rule decides, unless a person says otherwise
//
// Lists may be written as a list or as one text with commas. Whatever is wrong with
// the settings is an error that names file and line: a slip never makes a persona
// that may do more than was meant.
//
// # Trust
//
// Personas come with the repository. What restricts (tools, disallowed_tools, gates, a
// lower max_turns) acts always; all else waits until a person trusts the folder, which is
// what terret.Persona.Trusted says. Whoever loads a persona sets it; files cannot.
package persona
