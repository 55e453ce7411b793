package terret

// Settings is what is in force for a turn: what the session, its persona and the
// turn itself say, resolved once by the engine. It is all that a driver is told of
// options. The zero value asks for nothing special. In lists of tools and sources,
// nil means the default and an empty list means none.
type Settings struct {
	// Model and PermissionMode are for this turn only; empty means the session's own.
	Model          string
	PermissionMode string

	Effort         string
	FallbackModel  string
	Tools          []string // that exist for the agent; nil means all
	RemovedTools   []string // that are taken away
	ApprovedTools  []string // that run without being asked for
	SettingSources []string
	AddDirs        []string
	Agents         JSON
	MCP            JSON
	OutputSchema   JSON
	SystemAppend   string
	MaxTurns       int  // zero means the agent's own limit
	MaxCostUSD     Cost // of the whole session; zero means no limit
	// WholeMessages leaves out the pieces in which messages are streamed.
	WholeMessages bool
	// Gates lists where somebody wants the agent to wait for a decision, beyond
	// asking for permission. At other gates a driver need not ask.
	Gates   []Gate
	KeepRaw bool
	OnStale OnStale
}
