// Package trust keeps, for each folder, whether a person trusts what acts in it.
//
// A repository is data. Some of its files would do more than be read if an agent,
// or Terret, took them at their word: they run programs, start servers, allow tools
// or set variables. Those are what is called acting here:
//
//	.terret/config.jsonc                       Terret's settings
//	agents/AGENT_*.md                          a persona, if it grants something
//	.mcp.json                                  servers that agents start
//	.env                                       variables that agents load
//	.claude/settings.json, settings.local.json Claude Code: hooks, permissions, variables
//	.claude/{agents,commands,hooks,output-styles,plugins,skills,workflows}/
//	opencode.json, opencode.jsonc, .opencode/  OpenCode: plugins, agents, servers
//	.codex/                                    Codex: settings, hooks, servers
//	.gemini/                                   Gemini: settings, extensions, variables
//	.agents/                                   skills that several agents read
//
// A persona that only restricts, and texts such as README.md, AGENTS.md and
// CLAUDE.md, act without trust: they can forbid and persuade, no more.
//
// Agents look for most of theirs in the folders above as well, as far as the
// repository reaches. So does [Inspect]: from the folder up to the one that holds
// .git. The home folder is its owner's, not a repository's: nothing in it is looked
// at, and it is never trusted.
//
// A decision is about a folder and the hash of all its acting files: when one of
// them changes, comes or goes, the folder is undecided again. Decisions are in one
// file, which only its owner may write. A file that cannot be read is an error, and
// then nothing is trusted.
//
// # Limits
//
// Folders named node_modules are left out, and the settings of agents that are not
// listed above. What an acting file refers to elsewhere
// in the repository, such as a script that a hook runs, is not followed. Between the
// look and the use a file may change. The settings of git itself are not among the
// files: Terret reads none of them, and rules judge git's commands.
package trust
