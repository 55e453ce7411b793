package mcp

const (
	MaxCalls    = maxCalls
	MaxSessions = maxSessions
)
