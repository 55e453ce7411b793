package terret

// Settings is what is in force for a turn: the options of the session, its persona and
// the turn itself, resolved once by the engine. Drivers see no other options. The zero
// value asks for nothing special. In lists of tools and sources, nil means the default
// and an empty list means none.
type Settings struct {
	// Model and PermissionMode are for this turn only; empty means the session's own.
	Model          string
	PermissionMode string

	Effort         string
	FallbackModel  string
	Tools          []string // the agent's tools; nil means all
	RemovedTools   []string // removed from them
	ApprovedTools  []string // run without asking
	SettingSources []string
	AddDirs        []string
	Agents         JSON
	MCP            JSON
	OutputSchema   JSON
	SystemAppend   string
	MaxTurns       int  // zero means the agent's own limit
	MaxCostUSD     Cost // of the whole session; zero means no limit
	// WholeMessages omits the pieces of streamed messages.
	WholeMessages bool
	// Gates lists where somebody wants the agent to wait for a decision, besides asking
	// for permission. At other gates a driver need not ask.
	Gates   []Gate
	KeepRaw bool
	OnStale OnStale
	// Record keeps what the model is asked and answers, to run it again.
	Record bool
	// Sandbox, if set, is what the agent's commands must run in.
	Sandbox Sandbox
}
