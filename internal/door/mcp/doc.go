// Package mcp is Terret as an MCP server, so that one agent can give work to others, read
// what they did, and ask its person a question: on a transport of its own ([New]), or at a path
// of a server ([Door]).
//
// Its tools are calls of [client.Client] with the token of whoever connected. None of them
// answers requests, and none takes a policy or rules: what an agent starts asks the person
// about everything that the person's own settings do not allow. How deep, how many and how
// dear such sessions may be is the server's to say.
package mcp
