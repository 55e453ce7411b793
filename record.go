package terret

// Session is a conversation with one agent in one folder.
type Session struct {
	ID             string         `json:"id"`
	Agent          string         `json:"agent"` // never changes
	NativeID       NullString     `json:"native_id"`
	Title          string         `json:"title"`
	Cwd            string         `json:"cwd"`
	Persona        NullString     `json:"persona"`
	Mode           Mode           `json:"mode"`
	Model          string         `json:"model"`
	Policy         Policy         `json:"policy"`
	PermissionMode string         `json:"permission_mode"`
	OneShot        bool           `json:"one_shot"`
	State          SessionState   `json:"state"`
	Turn           string         `json:"turn,omitempty"` // the one that runs now
	CreatedAt      Time           `json:"created_at"`
	UpdatedAt      Time           `json:"updated_at"`
	LastSeq        int64          `json:"last_seq"`
	Usage          Usage          `json:"usage"`
	CostUSD        Cost           `json:"cost_usd"`
	OpenRequests   int            `json:"open_requests"`
	Revert         *Revert        `json:"revert"`
	ForkedFrom     string         `json:"forked_from,omitempty"`
	HandedTo       string         `json:"handed_to,omitempty"`
	Options        SessionOptions `json:"options"`
	// Epoch and Owner say who may append. Owner is a worker's id, or empty.
	Epoch int64  `json:"epoch"`
	Owner string `json:"owner,omitempty"`
	// Node is the node of the fleet that has the session's folder; empty if any may have
	// it.
	Node string `json:"node,omitempty"`
}

// Revert says where undo and redo would go.
type Revert struct {
	CheckpointID string `json:"checkpoint_id"`
	CanUndo      bool   `json:"can_undo"`
	CanRedo      bool   `json:"can_redo"`
}

// SessionOptions is what was asked for when the session was created; it is needed to
// reopen its agent. The zero value asks for nothing special. In lists of tools and
// sources, nil means the default and an empty list means none.
type SessionOptions struct {
	Tools            []string `json:"tools,omitzero"`              // the agent's tools; nil means all
	DisallowedTools  []string `json:"disallowed_tools,omitzero"`   // removed from them
	AutoApproveTools []string `json:"auto_approve_tools,omitzero"` // run without asking
	Allow            []string `json:"allow,omitempty"`             // rules
	Deny             []string `json:"deny,omitempty"`              // rules
	Ask              []string `json:"ask,omitempty"`               // rules: always ask a person
	SettingSources   []string `json:"setting_sources,omitzero"`
	AddDirs          []string `json:"add_dirs,omitempty"`
	Agents           JSON     `json:"agents,omitempty"`
	MCP              JSON     `json:"mcp,omitempty"`
	Effort           string   `json:"effort,omitempty"`
	FallbackModel    string   `json:"fallback_model,omitempty"`
	OutputSchema     JSON     `json:"output_schema,omitempty"`
	MaxTurns         int      `json:"max_turns,omitempty"`
	MaxCostUSD       Cost     `json:"max_cost_usd,omitempty"`
	SystemAppend     string   `json:"system_append,omitempty"`
	// BasePrompt appends Terret's own prompt even if neither a persona nor a mode asks
	// for it.
	BasePrompt bool `json:"base_prompt,omitempty"`
	// Gates lists where the agent waits for a decision, besides asking for permission.
	Gates []Gate `json:"gates,omitempty"`
	// Timeouts bounds, in seconds, how long requests wait at a gate. Zero means no
	// limit; a gate that is not listed has the engine's limit.
	Timeouts map[Gate]int `json:"timeouts,omitempty"`
	Worktree bool         `json:"worktree,omitempty"`
	KeepRaw  bool         `json:"keep_raw,omitempty"`
	OnStale  OnStale      `json:"on_stale,omitempty"`
	// Record keeps what the native agent's model is asked and answers, for `terret replay`.
	Record bool `json:"record,omitempty"`
	// Preset is the id of the preset that the session was made with.
	Preset string `json:"preset,omitempty"`
	// Sandbox is for the agent's commands; empty means what the persona and the
	// configuration say.
	Sandbox Sandbox `json:"sandbox,omitempty"`
}

// OnStale says what to do when the agent has lost a session.
type OnStale string

// The choices. The empty value means OnStaleNew.
const (
	OnStaleNew   OnStale = "new" // continue in a fresh one, and say so
	OnStaleError OnStale = "error"
)

// TurnOptions is what may differ in a single turn. The zero value changes nothing: a
// nil list leaves things unchanged, an empty one means none.
type TurnOptions struct {
	PermissionMode           string   `json:"permission_mode,omitempty"`
	Tools                    []string `json:"tools,omitzero"`
	DisallowedTools          []string `json:"disallowed_tools,omitzero"`
	AutoApproveTools         []string `json:"auto_approve_tools,omitzero"`
	ToolsOverride            []string `json:"tools_override,omitzero"`
	DisallowedToolsOverride  []string `json:"disallowed_tools_override,omitzero"`
	AutoApproveToolsOverride []string `json:"auto_approve_tools_override,omitzero"`
	MaxTurns                 int      `json:"max_turns,omitempty"`
	SystemAppend             string   `json:"system_append,omitempty"`
	Partial                  *bool    `json:"partial,omitempty"` // stream deltas; nil means yes
	Model                    string   `json:"model,omitempty"`
	Effort                   string   `json:"effort,omitempty"`
	// Tag is for the program that starts the turn, which finds it in the log. It has no
	// effect.
	Tag string `json:"tag,omitempty"`
}

// Prompt is what a person or a program says to an agent.
type Prompt struct {
	Blocks    []Block `json:"blocks"`
	MessageID string  `json:"message_id,omitempty"`
	// ParentID is the message that this one follows, which must be the session's last.
	// Empty means the last one, or none if Root is set: the message begins a thread, but
	// the agent still remembers the session.
	ParentID string      `json:"parent_id,omitempty"`
	Root     bool        `json:"root,omitempty"`
	Options  TurnOptions `json:"options,omitzero"`
}

// Turn is one prompt and everything that followed from it.
type Turn struct {
	ID        string    `json:"id"`
	Session   string    `json:"session"`
	State     TurnState `json:"state"`
	Origin    Origin    `json:"origin"`
	Held      bool      `json:"held,omitempty"`       // in the queue, until somebody sends it on
	MessageID string    `json:"message_id,omitempty"` // of the prompt
	Prompt    []Block   `json:"prompt"`
	StartedAt Time      `json:"started_at,omitzero"`
	EndedAt   *Time     `json:"ended_at,omitempty"`
	Usage     Usage     `json:"usage"`
	CostUSD   Cost      `json:"cost_usd"`
	Error     *Error    `json:"error,omitempty"`
	// Before and After name the folder's snapshots around the turn, if undo is on.
	// Changed says that they differ, Undone that the turn is undone.
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Changed bool   `json:"changed,omitempty"`
	Undone  bool   `json:"undone,omitempty"`
}

// Message is a message of the conversation.
type Message struct {
	MessageID string     `json:"message_id"`
	ParentID  NullString `json:"parent_id"`
	Role      Role       `json:"role"`
	Blocks    []Block    `json:"blocks"`
	Time      Time       `json:"time"`
	Turn      string     `json:"turn"`
}

// RequestState says whether a request is still waiting.
type RequestState string

// The states of a request.
const (
	RequestOpen    RequestState = "open"
	RequestDecided RequestState = "decided"
)

// Request is something that waits, or waited, for a decision.
type Request struct {
	RequestID string       `json:"request_id"`
	Session   string       `json:"session"`
	Turn      string       `json:"turn,omitempty"`
	Seq       int64        `json:"seq"` // of its event
	Gate      Gate         `json:"gate"`
	Data      JSON         `json:"data"` // as in its event: see the gates
	State     RequestState `json:"state"`
	CreatedAt Time         `json:"created_at"`
	ExpiresAt *Time        `json:"expires_at,omitempty"`
	Decision  *Decision    `json:"decision,omitempty"`
	// Delivered says that the agent has been told.
	Delivered bool `json:"delivered"`
}

// Effect is what a rule does.
type Effect string

// The effects of a rule.
const (
	EffectAllow Effect = "allow"
	EffectDeny  Effect = "deny"
	EffectAsk   Effect = "ask" // ask a person, whatever the policy says
)

// Validate rejects an unknown effect.
func (e Effect) Validate() error {
	switch e {
	case EffectAllow, EffectDeny, EffectAsk:
		return nil
	}
	return Invalid("effect", "unknown effect %q; use allow, deny or ask", e)
}

// Rule decides requests that its pattern matches.
type Rule struct {
	ID      string `json:"id"`
	Effect  Effect `json:"effect"`
	Pattern string `json:"pattern"`
	Scope   Scope  `json:"scope"`             // session or always
	Session string `json:"session,omitempty"` // with scope session
	MadeBy  string `json:"made_by"`
	MadeAt  Time   `json:"made_at"`
	Hits    int64  `json:"hits"`
}

// Persona is a role for an agent.
type Persona struct {
	ID               string   `json:"id"`
	SourceFile       string   `json:"source_file"`
	Description      string   `json:"description,omitempty"`
	Tools            []string `json:"tools,omitzero"`
	DisallowedTools  []string `json:"disallowed_tools,omitzero"`
	AutoApproveTools []string `json:"auto_approve_tools,omitzero"`
	MaxTurns         int      `json:"max_turns,omitempty"`
	Gates            []Gate   `json:"gates,omitempty"` // where the agent waits for a decision
	Model            string   `json:"model,omitempty"`
	Agent            string   `json:"agent,omitempty"`
	Policy           Policy   `json:"policy,omitempty"`
	Sandbox          Sandbox  `json:"sandbox,omitempty"`
	Trusted          bool     `json:"trusted"`
}

// Model is a model that an agent can use.
type Model struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Context   int64    `json:"context,omitempty"`
	MaxOutput int64    `json:"max_output,omitempty"`
	Efforts   []string `json:"efforts,omitempty"`
	// Can is what the model is known to do or not: tools, images, thinking, cache. What is
	// not in it is not known.
	Can map[string]bool `json:"can,omitempty"`
}

// ContextUsage says how full an agent's context is, and with what.
type ContextUsage struct {
	Used  int64         `json:"used"`
	Max   int64         `json:"max,omitempty"`
	Parts []ContextPart `json:"parts,omitempty"`
}

// ContextPart is one of the things that fill the context.
type ContextPart struct {
	Name   string `json:"name"`
	Tokens int64  `json:"tokens"`
}

// Tested compares an agent's version with the ones we tested.
type Tested string

// The results of that comparison.
const (
	TestedYes   Tested = "yes"
	TestedNewer Tested = "newer"
	TestedOlder Tested = "older"
)

// Probe is what we know about an agent on this machine.
type Probe struct {
	Agent        string       `json:"agent"`
	Title        string       `json:"title,omitempty"` // as its makers call it
	Added        bool         `json:"added,omitempty"` // by the user, who can remove it
	Found        bool         `json:"found"`
	Checking     bool         `json:"checking,omitempty"` // its program is being asked; this is what it said last
	Path         string       `json:"path,omitempty"`
	Version      string       `json:"version,omitempty"`
	Tested       Tested       `json:"tested,omitempty"`
	Auth         string       `json:"auth,omitempty"`  // ok, missing, unknown
	Model        string       `json:"model,omitempty"` // that it uses if none is named, as far as that is known before a session
	Fix          string       `json:"fix,omitempty"`   // what to do, in one sentence
	Modes        []string     `json:"modes,omitempty"` // its own permission modes, if they are known before a session
	Capabilities Capabilities `json:"capabilities"`
}

// Usable reports whether nothing is known to be missing: the agent is installed, and
// somebody is signed in, or the agent cannot tell.
func (p Probe) Usable() bool { return p.Found && p.Auth != "missing" }
