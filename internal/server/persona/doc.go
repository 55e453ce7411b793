// Package persona gives an agent a role: a file agents/AGENT_*.md in the project, with
// settings at the top and instructions below.
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
// A [Library] finds and reads personas and composes the system prompt; it caches what
// it has read until the file changes. [Apply] says what a new session gets from its
// persona; the engine resolves a persona for each turn. [CheckOversight] checks whether
// an agent can be held to it.
//
// # Settings
//
//	id                  its name, if it is not the file's
//	description         one line for people
//	tools               the tools that exist for the agent; [] is none
//	disallowed_tools    rules for what is denied
//	auto_approve_tools  rules for what runs without being asked for
//	max_turns           most steps in a turn
//	sandbox             what commands may change, without network: workspace-write or read-only
//	gates               where the agent waits for a decision, such as stop
//	model, agent        what to use, unless a person says otherwise
//	policy              what happens when no rule decides, unless a person says otherwise
//
// Lists may be written as a list or as one text with commas. Any mistake in the
// settings is an error that names file and line: a typo never makes a persona that may
// do more than intended.
//
// # Trust
//
// Personas come with the repository. Restrictions (tools, disallowed_tools, gates, a
// lower max_turns, a stricter sandbox) always apply; everything else waits until a person trusts the
// folder, which terret.Persona.Trusted says. The code that loads a persona sets it;
// files cannot.
package persona
