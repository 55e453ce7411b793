// Package plugin runs programs that give the native agent tools, commands and hooks. They
// are executable files in a folder, and speak JSON-RPC over lines on their standard input
// and output; docs/PLUGINS.md is their manual.
//
// Each session has its own processes, under the guard, which end with it at the latest. A
// plugin that ends, hangs, or says what it must not is ended, and started again when the
// next turn begins. It costs what it offered, not the session, with one exception: what
// waits for its hook, so that it can forbid it, is forbidden while it does not work.
//
// The package does not ask whether a plugin is trusted. Whoever names a folder to [Find]
// does.
package plugin
