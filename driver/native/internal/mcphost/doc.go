// Package mcphost runs the MCP servers of a session for an agent that lives in this
// process, and makes their tools, resources and prompts its own. Their questions go to a
// person.
//
// Servers that are programs run under the guard, like agents, and end with the session
// at the latest. A server that ends is started again when it is next used. A server
// that does not work costs its tools, not the session: [Servers.States] says why.
package mcphost
