// Package trust keeps, for each folder, whether a person trusts what would take effect
// in it.
//
// A repository is data. But some of its files can do more than be read, if an agent or
// Terret follows them: they can run programs, start servers, allow tools or set
// variables. We call that acting. These files act:
//
//	.terret/config.jsonc                       Terret's settings
//	.terret/{agents,commands,plugins,skills}/  the native agent
//	agents/AGENT_*.md                          a persona, if it grants something
//	.mcp.json                                  servers that agents start
//	.env                                       variables that agents load
//	.claude/settings.json, settings.local.json Claude Code: hooks, permissions, variables
//	.claude/{agents,commands,hooks,output-styles,plugins,skills,workflows}/
//	opencode.json, opencode.jsonc, .opencode/  OpenCode: plugins, agents, servers
//	.codex/                                    Codex: settings, hooks, servers
//	.gemini/                                   Gemini: settings, extensions, variables
//	.qwen/                                     Qwen Code: settings, hooks
//	.github/{hooks,copilot}/, .github/mcp.json GitHub Copilot: hooks, settings, servers
//	.agents/                                   skills and plugins that several agents read
//	.git/config, .git/hooks/                   git: settings that run programs, and hooks
//
// and what else the drivers name ([github.com/terret-dev/terret.Description]), which is
// handed in.
//
// A persona that only restricts, and texts such as README.md, AGENTS.md and CLAUDE.md,
// need no trust: they can only forbid and persuade.
//
// Agents also look for most of these files in the folders above, as far as the
// repository reaches. So does [Inspect]: from the folder up to the one that holds .git.
// The home folder belongs to its owner, not to a repository: nothing in it is
// inspected, and it is never trusted.
//
// A decision is about a folder and the hash of all its acting files: when one of them
// is changed, added or removed, the folder is undecided again. Decisions are in one
// file, which only its owner may write. If that file cannot be read, it is an error and
// nothing is trusted.
//
// # Limits
//
// Folders named node_modules are skipped, and so are the settings of agents that
// nobody has named. What an acting file refers to elsewhere in the repository, such as
// a script that a hook runs, is not followed. A file may change between check and use.
// Git's settings that run nothing are not among the files, nor are a person's own: Terret
// reads none of them, and rules judge git commands.
package trust
